package trials

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/accounts"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
)

const bot, trial = "bot-1", "trial-1"

// fakeReferee records the trials that it receives, and never plays them.
type fakeReferee struct {
	mu      sync.Mutex
	playing map[string]bool
	began   chan ladder.Seating
}

func (f *fakeReferee) Play(s ladder.Seating) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.playing[s.MatchID] = true
	f.began <- s
}

func (f *fakeReferee) Playing(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.playing[id]
}

// lost makes the referee stop playing a trial before its end.
func (f *fakeReferee) lost(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.playing[id] = false
}

type followed struct {
	*directory.Directory
	runner *projections.Runner
}

func (f followed) CatchUp(ctx context.Context) error { return f.runner.Sync(ctx) }

type fixture struct {
	t        *testing.T
	log      *memory.Log
	accounts *accounts.Accounts
	referee  *fakeReferee
	runner   *Runner
	seedKey  string

	inMatch, draining bool
	failure           error // of reading the ladder
}

func newFixture(t *testing.T) *fixture {
	log, dir := memory.New(), directory.New()
	f := &fixture{
		t: t, log: log, accounts: accounts.New(log), seedKey: "key-1",
		referee: &fakeReferee{playing: map[string]bool{}, began: make(chan ladder.Seating, 9)},
	}
	f.runner = New(Options{
		Log: log, Accounts: f.accounts, Directory: followed{dir, arenatest.Follow(t, log, dir)}, Logger: slog.New(slog.DiscardHandler),
		SeedKey:      func() (string, []byte) { return f.seedKey, []byte(f.seedKey) },
		Walls:        map[string]time.Duration{ladder.Standard: 10 * time.Minute},
		BetweenTicks: func(f func()) { f() },
		InMatch:      func(context.Context, string, string) (bool, error) { return f.inMatch, f.failure },
		Draining:     func(context.Context) (bool, error) { return f.draining, nil },
	})
	f.runner.referee = f.referee
	f.own(owner.SignedUp{OwnerID: "ada"}, owner.BotRegistered{BotID: bot, Name: "One", Mode: ladder.Standard, URL: "https://one.example"}, owner.BotPaused{BotID: bot, By: owner.ByOwner})
	return f
}

func (f *fixture) own(events ...owner.Event) { f.ownAt(time.Now(), events...) }

func (f *fixture) ownAt(at time.Time, events ...owner.Event) {
	f.t.Helper()
	_, _, err := f.accounts.Change(f.t.Context(), "ada", eventstore.Metadata{At: at}, func(owner.Account) ([]owner.Event, error) { return events, nil })
	require.NoError(f.t, err)
}

func (f *fixture) order() { f.own(owner.TrialOrdered{BotID: bot, TrialID: trial}) }

func (f *fixture) look() { f.runner.look(f.t.Context()) }

// began returns the seating of the only trial that has been passed to the referee
// since the last call.
func (f *fixture) began() ladder.Seating {
	f.t.Helper()
	require.Len(f.t, f.referee.began, 1)
	return <-f.referee.began
}

func (f *fixture) outcome() string {
	f.t.Helper()
	account, err := f.accounts.Reload(f.t.Context(), "ada")
	require.NoError(f.t, err)
	b, _ := account.Bot(bot)
	return b.Trial.Outcome
}

func TestRunBeginsOpenAndNewTrials(t *testing.T) {
	f := newFixture(t)
	f.order()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.runner.Run(ctx, f.referee) }()
	require.Equal(t, trial, (<-f.referee.began).MatchID, "ordered before Run")
	f.own(owner.TrialEnded{BotID: bot, TrialID: trial, Outcome: owner.TrialCompleted}, owner.TrialOrdered{BotID: bot, TrialID: "trial-2"})
	require.Equal(t, "trial-2", (<-f.referee.began).MatchID, "ordered during Run")
	cancel()
	<-ended
}

func TestTrialIsSeatedWithHouseBots(t *testing.T) {
	f := newFixture(t)
	f.order()
	f.look()
	s := f.began()
	var ids []string
	for _, e := range s.Bots {
		ids = append(ids, e.BotID)
	}
	require.Equal(t, []string{bot, "house-1", "house-2", "house-3"}, ids)
	require.Equal(t, ladder.Standard, s.Mode)
	require.Equal(t, "key-1", s.SeedKey)
	require.Equal(t, seed.Commitment(seed.Server([]byte("key-1"), trial)), s.Commitment)
	require.Nil(t, s.Beacon)

	f.look()
	require.Empty(t, f.referee.began, "it is being played")
	require.NoError(t, f.runner.Finish(t.Context(), trial, nil))
	require.Equal(t, owner.TrialCompleted, f.outcome())
}

// A trial whose game has begun keeps its seed key, because the seed must stay the
// same.
func TestResumedTrialKeepsItsSeedKey(t *testing.T) {
	f := newFixture(t)
	f.order()
	f.look()
	first := f.began()
	e, err := eventstore.Encode(match.Started{MatchID: trial, Table: match.Table{SeedKey: first.SeedKey}, Commitment: first.Commitment}, eventstore.Metadata{})
	require.NoError(t, err)
	_, err = f.log.Append(t.Context(), eventstore.StreamID(match.TrialStream(trial)), eventstore.NoStream, e)
	require.NoError(t, err)
	f.referee.lost(trial)
	f.seedKey = "key-2"
	f.draining = true // a drain does not end trials that have begun
	f.look()
	require.Equal(t, first, f.began())
}

func TestTrialsThatAreNotPlayed(t *testing.T) {
	ordered := owner.TrialOrdered{BotID: bot, TrialID: trial}
	for want, order := range map[string]func(f *fixture){
		owner.TrialInMatch:  func(f *fixture) { f.order(); f.inMatch = true },
		owner.TrialDraining: func(f *fixture) { f.order(); f.draining = true },
		owner.TrialExpired:  func(f *fixture) { f.ownAt(time.Now().Add(-71*time.Minute), ordered) },
	} {
		t.Run(want, func(t *testing.T) {
			f := newFixture(t)
			order(f)
			f.look()
			require.Empty(t, f.referee.began)
			require.Equal(t, want, f.outcome())
		})
	}
}

// A process without the active seed key begins no trial, because the dice would not be
// secret. The trial waits until the process gets the key, or expires.
func TestTrialWaitsForTheSeedKey(t *testing.T) {
	f := newFixture(t)
	f.seedKey = ""
	f.order()
	f.look()
	require.Empty(t, f.referee.began)
	require.Empty(t, f.outcome())
	f.seedKey = "key-2"
	f.look()
	require.Equal(t, "key-2", f.began().SeedKey)

	f = newFixture(t)
	f.seedKey = ""
	f.ownAt(time.Now().Add(-71*time.Minute), owner.TrialOrdered{BotID: bot, TrialID: trial})
	f.look()
	require.Equal(t, owner.TrialExpired, f.outcome())
}

// If the ladder cannot be read, the trial waits, because the bot may be in a match.
func TestTrialWaitsForTheLadder(t *testing.T) {
	f := newFixture(t)
	f.order()
	f.failure = errors.New("out of order")
	f.look()
	require.Empty(t, f.referee.began)
	require.Empty(t, f.outcome())
	f.failure = nil
	f.look()
	f.began()
}

func TestRemovedBotEndsNoTrial(t *testing.T) {
	f := newFixture(t)
	f.order()
	f.look()
	f.began()
	f.own(owner.BotRemoved{BotID: bot})
	require.NoError(t, f.runner.Void(t.Context(), trial, ladder.WhyWallClock))
}

// A bot is in only one game at a time, even if another process has seated it.
func TestMatchWaitsForTheTrialOfItsBot(t *testing.T) {
	f := newFixture(t)
	seats := func(id string) ladder.Seating {
		return ladder.Seating{Bots: []ladder.Entrant{{BotID: "x"}, {BotID: id}}}
	}
	require.False(t, f.runner.HoldsBack(seats(bot)))
	f.order()
	f.look()
	f.began()
	require.True(t, f.runner.HoldsBack(seats(bot)))
	require.False(t, f.runner.HoldsBack(seats("bot-2")))
	f.referee.lost(trial)
	require.False(t, f.runner.HoldsBack(seats(bot)), "the trial cannot be played")
	f.look()
	f.began()
	require.True(t, f.runner.HoldsBack(seats(bot)))
	require.NoError(t, f.runner.Void(t.Context(), trial, ladder.WhyWallClock))
	require.Equal(t, owner.TrialWallClock, f.outcome())
	require.False(t, f.runner.HoldsBack(seats(bot)))
}

// If the log loses events, the subscription to orders ends. Another one follows.
func TestWatchContinuesAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.NewLosing(memory.New())
		r := &Runner{o: Options{Log: log, Logger: slog.New(slog.DiscardHandler)}}
		ctx, cancel := context.WithCancel(t.Context())
		ordered, ended := make(chan struct{}, 1), make(chan struct{})
		go func() { defer close(ended); r.watch(ctx, ordered) }()
		for range 2 {
			<-ordered // each subscription signals that it has reached the end
			synctest.Wait()
			log.Become(log.Log())
		}
		cancel()
		<-ended
	})
}
