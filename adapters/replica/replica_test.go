package replica_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/replica"
	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

// source is an arena whose log also contains private data.
type source struct {
	t *testing.T
	*arenatest.Arena
	log             eventstore.Log
	standard        []string
	running, parley *arenatest.Game
	ended           []*arenatest.Game
}

const (
	address   = "ada@secret.example"
	session   = "5e551011"
	signature = "51614711"
	orders    = "a private reason"
	explained = "a private detail"
	sealed    = "YSBzZWFsZWQga2V5" // a sealed key, in base64
)

func newSource(t *testing.T) *source {
	log := memory.New()
	w := &source{t: t, Arena: arenatest.New(t, log, 3), log: log}
	w.store(arena.KeysStream, arena.PlatformKeyPublished{}, arena.SeedKeyAdded{ID: "seed-key-1"})
	w.Own("ada", owner.SignedUp{OwnerID: "ada", AddressHash: "addresshash"}, owner.SessionStarted{Session: session, Until: time.Unix(1<<31, 0).UTC()})
	w.Own("zoe", owner.SignedUp{OwnerID: "zoe", AddressHash: "addresshash"}, owner.Deleted{})
	w.store("address-ada", owner.AddressSet{Address: address})
	w.store("signatures-ada", owner.SignatureSpent{Signature: signature})
	w.store(arena.PlayerStream, arena.PlayerClaimed{Holder: "the-player"})
	w.store(arena.MemberStream("one"), arena.MemberSeen{Host: "the-player"})
	w.store(arena.AssignmentsStream, arena.MatchesAssigned{Shares: []arena.Share{{Member: "the-player"}}})
	w.store(arena.OperationsStream, arena.DrainStarted{Reason: orders})
	w.store(arena.SealedKeysStream, arena.SeedKeysSealed{Keys: []arena.SealedKey{{ID: "seed-key-1", Sealed: []byte("a sealed key")}}})
	w.store(arena.KeysStream+"-not", owner.AddressSet{Address: address})
	w.standard = w.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve", "Fay", "Gus")
	w.running = w.Seat(ladder.Standard, w.standard[4:7]...)[0]
	w.running.Start()
	w.running.Play(8)
	w.complete()
	w.parley = w.Seat(ladder.Parley, w.Register("bob", ladder.Parley, "Hal", "Ida", "Joe")...)[0]
	w.parley.Start()
	w.parley.PlayOut()
	aborted := w.Seat(ladder.Standard, w.standard[:4]...)[0]
	aborted.Start()
	aborted.Play(4)
	aborted.Abort(ladder.WhyWallClock)
	aborted.Conclude()
	w.ended = append(w.ended, aborted)
	never := w.Seat(ladder.Standard, w.standard[:4]...)[0]
	never.Void(ladder.WhyOperator)
	givenUp := w.Seat(ladder.Standard, w.standard[:4]...)[0]
	givenUp.Start()
	givenUp.Void(ladder.WhyOperator)
	w.parley.Conclude()
	w.ended = append(w.ended, w.parley)
	w.complete()
	for _, g := range append(w.ended, w.running) {
		w.store(match.DetailsStream(g.MatchID), match.TimeoutExplained{Fault: match.Fault{Message: explained}})
	}
	return w
}

func (w *source) complete() {
	w.ended = append(w.ended, w.Complete(ladder.Standard, w.standard[:4]...))
}

func (w *source) store(stream string, events ...eventstore.Typed) {
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: time.Unix(1_700_000_000, 0)})
	require.NoError(w.t, err)
	_, err = w.log.Append(w.t.Context(), eventstore.StreamID(stream), eventstore.Any, encoded...)
	require.NoError(w.t, err)
}

// catchUp feeds the target until it contains all public events of the source.
func catchUp(t *testing.T, from, to eventstore.Log) (last replica.Progress) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, replica.Feed(ctx, from, to, func(p replica.Progress) {
		if last = p; p.CaughtUp {
			cancel()
		}
	}))
	require.True(t, last.CaughtUp)
	return last
}

type stored struct {
	eventstore.Event
	stream   eventstore.StreamID
	revision eventstore.Revision
}

func everything(t *testing.T, log eventstore.Log) (all []stored) {
	t.Helper()
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		all = append(all, stored{r.Event, r.Stream, r.Revision})
	}
	return all
}

// Feed copies the events of ladders, keys and ended matches unchanged. Apart from
// those, it copies only the deletions of accounts.
func TestReplicaHoldsOnlyPublicEvents(t *testing.T) {
	w := newSource(t)
	to := memory.New()
	done := catchUp(t, w.log, to)
	require.Equal(t, len(w.ended), done.Matches)

	originals := map[string]stored{}
	for _, s := range everything(t, w.log) {
		originals[s.ID.String()] = s
	}
	var copied, deleted []string
	for _, s := range everything(t, to) {
		original := originals[s.ID.String()]
		if s.Type == (owner.Deleted{}).EventType() {
			original.revision = 0
			deleted = append(deleted, string(s.stream))
		}
		require.Equal(t, original, s)
		if s.Type == (match.Started{}).EventType() {
			copied = append(copied, string(s.stream))
		}
		for _, secret := range []string{address, session, signature, orders, sealed, explained, "https://bots.example", "the-player", "addresshash"} {
			require.NotContains(t, string(s.stream)+string(s.Data)+string(s.Metadata), secret)
		}
		if strings.Contains(string(s.stream)+string(s.Data)+string(s.Metadata), w.running.MatchID) {
			require.Equal(t, ladder.TablesSeated{}.EventType(), s.Type, "a running match")
		}
	}
	var want []string
	for _, g := range w.ended {
		want = append(want, match.Stream(g.MatchID))
		require.Len(t, whole(t, to, match.Stream(g.MatchID)), len(g.Events))
	}
	require.Equal(t, []string{"owner-zoe"}, deleted)
	require.Equal(t, want, copied, "the order in which the ladders ended the matches")
	for _, stream := range []string{ladder.Stream(ladder.Standard), ladder.Stream(ladder.Parley), arena.KeysStream} {
		require.Equal(t, whole(t, w.log, stream), whole(t, to, stream))
	}
}

func whole(t *testing.T, log eventstore.Log, stream string) (all []stored) {
	t.Helper()
	for r, err := range log.Read(t.Context(), eventstore.StreamID(stream), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		all = append(all, stored{r.Event, r.Stream, r.Revision})
	}
	require.NotEmpty(t, all)
	return all
}

func TestReplicaIsTheSameAfterAFailureOfAnyAppend(t *testing.T) {
	w := newSource(t)
	once := memory.New()
	catchUp(t, w.log, once)
	want := everything(t, once)
	counting := logtest.NewFaulty(memory.New())
	catchUp(t, w.log, counting)
	for nth := 1; nth <= counting.Appends(); nth++ {
		for _, how := range []logtest.Fault{logtest.NotStored, logtest.StoredAnyway} {
			target := memory.New()
			to := logtest.NewFaulty(target)
			to.FailAppend(nth, how)
			require.ErrorIs(t, replica.Feed(t.Context(), w.log, to, func(replica.Progress) {}), logtest.ErrInjected)
			catchUp(t, w.log, target)
			require.Equal(t, want, everything(t, target), "append %d", nth)
		}
	}
}

func TestFeedFollowsASourceThatGrowsAcrossRestarts(t *testing.T) {
	rng := logtest.Random(t)
	w := newSource(t)
	to := memory.New()
	for range 6 {
		more := 1 + rng.IntN(3)
		ctx, cancel := context.WithCancel(t.Context())
		caughtUp := make(chan struct{}, 100)
		fed := make(chan error, 1)
		go func() {
			fed <- replica.Feed(ctx, w.log, to, func(p replica.Progress) {
				if p.CaughtUp {
					select {
					case caughtUp <- struct{}{}:
					default:
					}
				}
			})
		}()
		<-caughtUp
		for range more {
			w.complete()
		}
		cancel()
		require.NoError(t, <-fed)
	}
	catchUp(t, w.log, to)
	once := memory.New()
	catchUp(t, w.log, once)
	require.Equal(t, everything(t, once), everything(t, to))
	require.Zero(t, catchUp(t, w.log, to).Events)
}

func TestMatchLargerThanOneAppendIsCopied(t *testing.T) {
	w := newSource(t)
	g := w.Seat(ladder.Standard, w.standard[:4]...)[0]
	g.Start()
	answer := strings.Repeat("x", 4096)
	for range 300 {
		w.store(match.Stream(g.MatchID), match.AnswerRejected{IllegalData: match.IllegalData{Answer: answer}})
	}
	w.store(match.Stream(g.MatchID), match.GameEnded{})
	g.Void(ladder.WhyOperator)
	to := memory.New()
	catchUp(t, w.log, to)
	require.Equal(t, whole(t, w.log, match.Stream(g.MatchID)), whole(t, to, match.Stream(g.MatchID)))
}

func TestFeedRejectsATargetWithOtherEvents(t *testing.T) {
	w := newSource(t)
	feed := func(to eventstore.Log) error {
		return replica.Feed(t.Context(), w.log, to, func(replica.Progress) {})
	}
	foreign := memory.New()
	(&source{t: t, log: foreign}).store("address-ada", owner.AddressSet{Address: address})
	require.ErrorIs(t, feed(foreign), replica.ErrNotReplica)
	require.ErrorIs(t, feed(newSource(t).log), replica.ErrNotReplica, "another arena's log")
	otherArena := memory.New()
	(&source{t: t, log: otherArena}).store(arena.KeysStream, arena.PlatformKeyPublished{})
	err := feed(otherArena)
	require.ErrorIs(t, err, replica.ErrNotReplica)
	require.ErrorContains(t, err, "arena-keys@0 (PlatformKeyPublished)")
}

// Feed stops at an event of an unknown type, because the event may contain
// private data.
func TestUnknownEventStopsTheFeed(t *testing.T) {
	for _, stream := range []string{arena.KeysStream, ladder.Stream(ladder.Standard)} {
		w := newSource(t)
		w.store(stream, owner.AddressSet{Address: address})
		to := memory.New()
		err := replica.Feed(t.Context(), w.log, to, func(replica.Progress) {})
		require.ErrorContains(t, err, `unknown event type "AddressSet"`)
		for _, s := range everything(t, to) {
			require.NotContains(t, string(s.Data), address)
		}
	}
}

func TestFailedReadCopiesNoPartOfAMatch(t *testing.T) {
	w := newSource(t)
	counting := logtest.NewFaulty(w.log)
	catchUp(t, counting, memory.New())
	require.Positive(t, counting.Reads(), "reads of the streams of matches that never ended")
	for nth := 1; nth <= counting.Reads(); nth++ {
		failing, to := logtest.NewFaulty(w.log), memory.New()
		failing.FailRead(nth, 0)
		err := replica.Feed(t.Context(), failing, to, func(replica.Progress) {})
		require.ErrorIs(t, err, logtest.ErrInjected)
		require.NotErrorIs(t, err, context.Canceled)
		catchUp(t, w.log, to)
		once := memory.New()
		catchUp(t, w.log, once)
		require.Equal(t, everything(t, once), everything(t, to))
	}
}
