package publish_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/publish"
	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

// world is an arena with all that must stay its own.
type world struct {
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
	orders    = "of nobody's concern"
)

func newWorld(t *testing.T) *world {
	log := memory.New()
	w := &world{t: t, Arena: arenatest.New(t, log, 3), log: log}
	w.tell(arena.KeysStream, arena.PlatformKeyPublished{}, arena.SeedKeyAdded{ID: "seed-key-1"})
	w.Own("ada", owner.SignedUp{OwnerID: "ada", AddressHash: "addresshash"}, owner.SessionStarted{Session: session, Until: time.Unix(1<<31, 0).UTC()})
	w.tell("address-ada", owner.AddressSet{Address: address})
	w.tell("signatures-ada", owner.SignatureSpent{Signature: signature})
	w.tell(arena.PlayerStream, arena.PlayerClaimed{Holder: "the-player"})
	w.tell(arena.OperationsStream, arena.DrainStarted{Reason: orders})
	w.tell(arena.KeysStream+"-not", owner.AddressSet{Address: address})
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
	return w
}

func (w *world) complete() {
	w.ended = append(w.ended, w.Complete(ladder.Standard, w.standard[:4]...))
}

func (w *world) tell(stream string, events ...eventstore.Typed) {
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: time.Unix(1_700_000_000, 0)})
	require.NoError(w.t, err)
	_, err = w.log.Append(w.t.Context(), eventstore.StreamID(stream), eventstore.Any, encoded...)
	require.NoError(w.t, err)
}

// catchUp publishes what there is.
func catchUp(t *testing.T, from, to eventstore.Log) (last publish.Progress) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, publish.Feed(ctx, from, to, func(p publish.Progress) {
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

// The target holds the ladders, the keys and the matches that have ended, each
// event as it is in the source, and not a byte of anything else.
func TestWhatIsPublished(t *testing.T) {
	w := newWorld(t)
	to := memory.New()
	done := catchUp(t, w.log, to)
	require.Equal(t, len(w.ended), done.Matches)

	source := map[string]stored{}
	for _, s := range everything(t, w.log) {
		source[s.ID.String()] = s
	}
	var order []string
	for _, s := range everything(t, to) {
		require.Equal(t, source[s.ID.String()], s)
		if s.Type == (match.Started{}).EventType() {
			order = append(order, string(s.stream))
		}
		for _, secret := range []string{address, session, signature, orders, "https://bots.example", "the-player", "addresshash"} {
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
	require.Equal(t, want, order, "in the order of the ladders")
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

// A feed that is stopped at any append, stored or not, equals one that was not.
func TestAStoppedFeedEqualsOneThatWasNot(t *testing.T) {
	w := newWorld(t)
	once := memory.New()
	catchUp(t, w.log, once)
	want := everything(t, once)
	counting := logtest.NewFaulty(memory.New())
	catchUp(t, w.log, counting)
	for nth := 1; nth <= counting.Appends(); nth++ {
		for _, how := range []logtest.Fault{logtest.NotStored, logtest.StoredAnyway} {
			inner := memory.New()
			to := logtest.NewFaulty(inner)
			to.FailAppend(nth, how)
			require.ErrorIs(t, publish.Feed(t.Context(), w.log, to, func(publish.Progress) {}), logtest.ErrInjected)
			catchUp(t, w.log, inner)
			require.Equal(t, want, everything(t, inner), "append %d", nth)
		}
	}
}

// It follows a source that lives, and is stopped anywhere.
func TestItFollowsASourceThatLives(t *testing.T) {
	rng := logtest.Random(t)
	w := newWorld(t)
	to := memory.New()
	for range 6 {
		left := 1 + rng.IntN(3)
		ctx, cancel := context.WithCancel(t.Context())
		lived := make(chan struct{}, 100)
		fed := make(chan error, 1)
		go func() {
			fed <- publish.Feed(ctx, w.log, to, func(p publish.Progress) {
				if p.CaughtUp {
					select {
					case lived <- struct{}{}:
					default:
					}
				}
			})
		}()
		<-lived
		for range left {
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

// A match longer than one append is published whole.
func TestALargeMatch(t *testing.T) {
	w := newWorld(t)
	g := w.Seat(ladder.Standard, w.standard[:4]...)[0]
	g.Start()
	answer := strings.Repeat("x", 4096)
	for range 300 {
		w.tell(match.Stream(g.MatchID), match.AnswerRejected{IllegalData: match.IllegalData{Answer: answer}})
	}
	w.tell(match.Stream(g.MatchID), match.GameEnded{})
	g.Void(ladder.WhyOperator)
	to := memory.New()
	catchUp(t, w.log, to)
	require.Equal(t, whole(t, w.log, match.Stream(g.MatchID)), whole(t, to, match.Stream(g.MatchID)))
}

func TestItRefusesAnotherTarget(t *testing.T) {
	w := newWorld(t)
	feed := func(to eventstore.Log) error {
		return publish.Feed(t.Context(), w.log, to, func(publish.Progress) {})
	}
	foreign := memory.New()
	(&world{t: t, log: foreign}).tell("address-ada", owner.AddressSet{Address: address})
	require.ErrorIs(t, feed(foreign), publish.ErrNoFeed)
	require.ErrorIs(t, feed(newWorld(t).log), publish.ErrNoFeed, "another arena's log")
	another := memory.New()
	(&world{t: t, log: another}).tell(arena.KeysStream, arena.PlatformKeyPublished{})
	err := feed(another)
	require.ErrorIs(t, err, publish.ErrNoFeed)
	require.ErrorContains(t, err, "arena-keys@0 (PlatformKeyPublished)")
}

// What this program does not know might be nobody's to see.
func TestUnknownEventsStopIt(t *testing.T) {
	for _, stream := range []string{arena.KeysStream, ladder.Stream(ladder.Standard)} {
		w := newWorld(t)
		w.tell(stream, owner.AddressSet{Address: address})
		to := memory.New()
		err := publish.Feed(t.Context(), w.log, to, func(publish.Progress) {})
		require.ErrorContains(t, err, `unknown event type "AddressSet"`)
		for _, s := range everything(t, to) {
			require.NotContains(t, string(s.Data), address)
		}
	}
}

// A source that fails part way publishes no half of a match.
func TestASourceThatFails(t *testing.T) {
	w := newWorld(t)
	counting := logtest.NewFaulty(w.log)
	catchUp(t, counting, memory.New())
	require.Positive(t, counting.Reads(), "matches that never ended are looked for in their streams")
	for nth := 1; nth <= counting.Reads(); nth++ {
		source, to := logtest.NewFaulty(w.log), memory.New()
		source.FailRead(nth, 0)
		err := publish.Feed(t.Context(), source, to, func(publish.Progress) {})
		require.ErrorIs(t, err, logtest.ErrInjected)
		require.NotErrorIs(t, err, context.Canceled)
		catchUp(t, w.log, to)
		once := memory.New()
		catchUp(t, w.log, once)
		require.Equal(t, everything(t, once), everything(t, to))
	}
}
