// Package arenatest writes the log of an arena for tests of read models: owners,
// tables, whole games and their ratings. It writes the same events as a real arena.
// A test can stop a match at any point. Start with New, Register and Complete. The
// package has its own clock, which advances by a second for each append, so the
// same calls write the same log.
package arenatest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

// Every arena of this package uses these keys.
const (
	platformKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	seedKeyID   = "seed-key-1"
)

var seedKey = []byte("the seed key of the tests, 32 b.")

// SeedKey returns the seed key with the given id, as the method in adapters/secrets
// does. Every Arena has the same seed key.
func SeedKey(_ context.Context, id string) ([]byte, bool) { return seedKey, id == seedKeyID }

// Arena writes a log. Only one goroutine may use it.
type Arena struct {
	PlatformKey string                  // base64; match ids are derived from it
	Nonce       func(match.Seat) string // returns the nonce of a bot
	TimeBank    bool                    // starts matches with a time bank
	Dead        map[string]bool         // ids of bots to which no dial succeeds
	Unmeasured  bool                    // starts matches without clocks, as older arenas did

	t       testing.TB
	log     eventstore.Log
	now     time.Time
	rng     *rand.Rand
	ladders map[string]ladder.Ladder
	bots    map[string]match.Seat
	games   map[string]*Game
}

// New returns an arena that has not written any events. Its bots choose their moves
// at random. The parameter chance is the seed of their random numbers.
func New(t testing.TB, log eventstore.Log, chance uint64) *Arena {
	return &Arena{
		PlatformKey: platformKey, Nonce: func(s match.Seat) string { return "nonce of " + s.BotName },
		t: t, log: log, now: time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC), rng: rand.New(rand.NewPCG(chance, 1)),
		ladders: map[string]ladder.Ladder{}, bots: map[string]match.Seat{}, games: map[string]*Game{},
	}
}

// Own appends events to an account.
func (a *Arena) Own(ownerID string, events ...owner.Event) {
	a.t.Helper()
	store(a, owner.AccountStream(ownerID), events...)
}

// ID returns the id of the bot with the given name.
func ID(botName string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(botName)).String() }

// Version is the version of the first bot in each call to Register. The other bots name
// no version.
const Version = "1.0 beta"

// Register registers bots of an owner and returns their ids.
func (a *Arena) Register(ownerID, mode string, names ...string) []string {
	a.t.Helper()
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = ID(name)
		seat := match.Seat{BotID: ids[i], BotName: name, OwnerID: ownerID}
		if i == 0 {
			seat.Version = Version
		}
		a.bots[ids[i]] = seat
		a.Own(ownerID, owner.BotRegistered{BotID: ids[i], Name: name, Mode: mode, URL: "https://bots.example/" + name})
	}
	return ids
}

// Seat assigns bots of a mode to tables and returns the matches.
func (a *Arena) Seat(mode string, botIDs ...string) []*Game {
	a.t.Helper()
	candidates := make([]ladder.Candidate, len(botIDs))
	for i, id := range botIDs {
		candidates[i].BotID = id
	}
	l := a.ladder(mode)
	events, err := l.Seat(candidates, ladder.Tick{Now: a.now, PlatformKey: a.PlatformKey, SeedKeyID: seedKeyID, SeedKey: seedKey})
	require.NoError(a.t, err)
	require.NotEmpty(a.t, events, "Seat seated no table")
	a.evolve(mode, events...)
	var games []*Game
	for _, s := range a.ladder(mode).Unfinished() {
		if a.games[s.MatchID] == nil {
			g := &Game{arena: a, Seating: s, State: match.New(seed.Server(seedKey, s.MatchID)), players: map[int]*player{}}
			a.games[s.MatchID] = g
			games = append(games, g)
		}
	}
	return games
}

// Complete plays one match, from seating its table to storing its ratings.
func (a *Arena) Complete(mode string, botIDs ...string) *Game {
	a.t.Helper()
	g := a.Seat(mode, botIDs...)[0]
	g.Start()
	g.PlayOut()
	g.Conclude()
	return g
}

func (a *Arena) ladder(mode string) ladder.Ladder {
	if l, ok := a.ladders[mode]; ok {
		return l
	}
	return ladder.New(mode)
}

// evolve appends events to a ladder and folds them.
func (a *Arena) evolve(mode string, events ...ladder.Event) {
	a.t.Helper()
	at := store(a, ladder.Stream(mode), events...)
	l := a.ladder(mode)
	for _, e := range events {
		l = ladder.Evolve(l, e, at)
	}
	a.ladders[mode] = l
}

// store appends events to a stream and returns their time. Only the Arena may
// write to the stream.
func store[E eventstore.Typed](a *Arena, stream string, events ...E) time.Time {
	a.t.Helper()
	return storeWith(a, stream, eventstore.Metadata{}, events...)
}

// storeWith is like store, but takes metadata, to which it adds the time and the
// stream.
func storeWith[E eventstore.Typed](a *Arena, stream string, m eventstore.Metadata, events ...E) time.Time {
	a.t.Helper()
	a.now = a.now.Add(time.Second)
	m.At, m.Correlation = a.now, stream
	encoded, err := eventstore.EncodeAll(events, m)
	require.NoError(a.t, err)
	_, err = a.log.Append(context.Background(), eventstore.StreamID(stream), eventstore.Any, encoded...)
	require.NoError(a.t, err)
	return a.now
}
