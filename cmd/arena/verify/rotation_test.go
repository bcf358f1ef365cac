package verify

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	domain "hexarena/domain/arena"
	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

// rotatingLog is the log of an arena. After each read of arena-keys, the arena
// announces a new seed key and seats a table under it.
type rotatingLog struct {
	*memory.Log

	t     *testing.T
	bots  []ladder.Candidate
	added int // seed keys
}

func (l *rotatingLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		l.Log.Read(ctx, id, from, o)(yield)
		if id == domain.KeysStream {
			l.rotate()
		}
	}
}

// rotate adds a seed key, and a match that was seated under this key and voided.
func (l *rotatingLog) rotate() {
	l.added++
	key := fmt.Appendf(nil, "a seed key of the tests, 32 b, %d", l.added)
	id := fmt.Sprintf("seed-key-%d", l.added)
	appendAll(l, domain.KeysStream, domain.Event(domain.SeedKeyAdded{ID: id, Hash: domain.HashOf(key)}))
	kind := eventstore.Kind[ladder.Ladder, ladder.Event]{Decode: ladder.Decode, Evolve: ladder.Evolve}
	decide := func(state ladder.Ladder) ([]ladder.Event, error) {
		return state.Seat(l.bots, ladder.Tick{Now: time.Now(), PlatformKey: rotatedPlatform.String(), SeedKeyID: id, SeedKey: key})
	}
	state, _, err := kind.Handle(l.t.Context(), l.Log, eventstore.StreamID(ladder.Stream(ladder.Standard)), ladder.New(ladder.Standard), eventstore.Metadata{At: time.Now()}, decide)
	require.NoError(l.t, err)
	for _, s := range state.Unfinished() {
		events, err := state.Void(s.MatchID, ladder.WhyOperator)
		require.NoError(l.t, err)
		appendAll(l, ladder.Stream(ladder.Standard), events...)
	}
}

func appendAll[E eventstore.Typed](l *rotatingLog, stream string, events ...E) {
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: time.Now()})
	require.NoError(l.t, err)
	_, err = l.Append(l.t.Context(), eventstore.StreamID(stream), eventstore.Any, encoded...)
	require.NoError(l.t, err)
}

var rotatedPlatform = domain.PublicKey{1}

// newRotatingLog returns a log with one rated match, and the id of the match.
func newRotatingLog(t *testing.T) (log *rotatingLog, matchID string) {
	t.Helper()
	log = &rotatingLog{Log: memory.New(), t: t, added: 1}
	play := arenatest.New(t, log.Log, 1)
	play.Nonce = func(match.Seat) string { return "" }
	play.PlatformKey = base64.StdEncoding.EncodeToString(rotatedPlatform[:])
	appendAll(log, domain.KeysStream, domain.Event(domain.PlatformKeyPublished{PublicKey: rotatedPlatform}))
	key, _ := arenatest.SeedKey(t.Context(), "seed-key-1")
	appendAll(log, domain.KeysStream, domain.Event(domain.SeedKeyAdded{ID: "seed-key-1", Hash: domain.HashOf(key)}))
	ids := play.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")
	for _, id := range ids {
		log.bots = append(log.bots, ladder.Candidate{BotID: id})
	}
	return log, play.Complete(ladder.Standard, ids...).State.Started.MatchID
}

// Verify reads a log while the arena rotates its seed key. Verify must know the key
// of every seating that it checks.
func TestVerifyALogDuringAKeyRotation(t *testing.T) {
	t.Parallel()
	t.Run("ladder", func(t *testing.T) {
		t.Parallel()
		log, _ := newRotatingLog(t)
		check := ladderCheck{Cmd: &Cmd{Ladder: ladder.Standard, BeaconChain: "quicknet"}, log: log, errOut: io.Discard}
		for events := range 3 {
			require.NoError(t, check.run(t.Context()))
			require.Equal(t, 2+2*events, check.report.Events)
		}
	})
	t.Run("match", func(t *testing.T) {
		t.Parallel()
		log, id := newRotatingLog(t)
		source := matchSource{log: log, id: id, ids: []string{id}}
		var e audit.Evidence
		require.NoError(t, source.gatherFromLog(t.Context(), io.Discard, &e))
		record, err := audit.Parse(source.text)
		require.NoError(t, err)
		require.Nil(t, audit.Match(record, e).Difference)
		require.Equal(t, 2, e.Ladder.Totals.Events)
	})
}
