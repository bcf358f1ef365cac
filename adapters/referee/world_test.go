package referee

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

const (
	testMatch = "5b1c0e0a-8f0e-5e0f-9d5b-0a0b0c0d0e0f"
	testMode  = "standard"
	think     = 100 * time.Millisecond // what a lawful bot takes to answer
)

var testKey = []byte("a seed key")

// world is all that a match meets: a log, a ladder, and bots behind scripted
// lines, on the clock of a synctest bubble.
type world struct {
	t      *testing.T
	log    *journal
	oracle *oracle
	ladder *fakeLadder
	mode   Mode
	bots   []*fakeBot

	playing atomic.Pointer[Referee] // the latest
}

// inWorld runs a test in a bubble with a table of n lawful bots.
func inWorld(t *testing.T, n int, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, n)) })
}

func newWorld(t *testing.T, n int) *world {
	log := &journal{Log: memory.New()}
	w := &world{
		t: t, log: log, ladder: &fakeLadder{log: log},
		oracle: &oracle{t: t, log: log.Log, m: match.New(seed.Server(testKey, testMatch))},
		mode:   Mode{Decision: 5 * time.Second, Wall: time.Hour},
	}
	for i := range n {
		w.bots = append(w.bots, &fakeBot{world: w, id: fmt.Sprintf("bot-%d", i)})
	}
	return w
}

// referee returns a player in this world.
func (w *world) referee(player string) *Referee {
	w.mode.Ladder = w.ladder
	r := New(Config{
		Log: w.log, Modes: map[string]Mode{testMode: w.mode}, Player: player, Logger: slog.New(slog.DiscardHandler),
		SeedKey: func(id string) ([]byte, bool) { return testKey, id == "k1" },
		Bots: func(id string) (Bot, bool) {
			b := w.bot(id)
			return Bot{Name: "Bot " + id, OwnerID: "owner", URL: "ws://" + id}, b != nil && !b.unknown.Load()
		},
		Dial: func(ctx context.Context, url, matchID, commitment string, receive func([]byte, string)) (Line, string, error) {
			require.Equal(w.t, testMatch, matchID)
			require.Equal(w.t, w.seating().Commitment.String(), commitment)
			return w.bot(url[len("ws://"):]).dialled(ctx, receive)
		},
	})
	w.playing.Store(r)
	return r
}

// abandon makes the latest referee let go of the match, and does not wait.
func (w *world) abandon() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.playing.Load().Stop(ctx) // the error is that of ctx
}

func (w *world) bot(id string) *fakeBot {
	for _, b := range w.bots {
		if b.id == id {
			return b
		}
	}
	return nil
}

func (w *world) seating() ladder.Seating {
	s := ladder.Seating{
		MatchID: testMatch, Mode: testMode, Revision: 7, Index: 1, SeedKey: "k1",
		Commitment: seed.Commitment(seed.Server(testKey, testMatch)),
	}
	for _, b := range w.bots {
		s.Bots = append(s.Bots, ladder.Entrant{BotID: b.id, Rating: rating.New()})
	}
	return s
}

// play plays the match to the end, or as far as it goes.
func (w *world) play() {
	r := w.referee("player")
	r.Play(w.seating())
	r.Wait()
}

// run plays the match to its end and returns its events.
func (w *world) run() []match.Event {
	w.t.Helper()
	w.play()
	require.Len(w.t, w.ladder.finished, 1)
	return w.events()
}

// events are those of the match's stream.
func (w *world) events() []match.Event {
	w.t.Helper()
	var events []match.Event
	for r := range w.recorded() {
		e, err := match.Decode(r.Type, r.Data)
		require.NoError(w.t, err)
		events = append(events, e)
	}
	return events
}

func (w *world) recorded() func(yield func(eventstore.Recorded) bool) {
	return func(yield func(eventstore.Recorded) bool) {
		for r, err := range w.log.Log.Read(context.Background(), "match-"+testMatch, 0, eventstore.ReadOptions{}) {
			require.NoError(w.t, err)
			if !yield(r) {
				return
			}
		}
	}
}

// seatOf is where a bot sits.
func (w *world) seatOf(b *fakeBot) int {
	return slices.IndexFunc(w.oracle.now().Started.Seats, func(s match.Seat) bool { return s.BotID == b.id })
}

// strikesOf are all the strikes that the seats have.
func (w *world) strikes() []int {
	m := w.oracle.now()
	return m.Strikes[:len(w.bots)]
}

// only returns the events of one type.
func only[E match.Event](events []match.Event) (list []E) {
	for _, e := range events {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// journal is a log whose appends can be made to fail; it keeps the batches
// that were stored.
type journal struct {
	eventstore.Log

	mu      sync.Mutex
	tries   int
	batches [][]eventstore.Event
	fault   func(a attempted) (eventstore.Appended, error) // if set, decides what becomes of it
}

// attempted is a call of Append.
type attempted struct {
	nth   int
	types []string // of the events
	store func() (eventstore.Appended, error)
}

func (a attempted) has(e match.Event) bool { return slices.Contains(a.types, e.EventType()) }

// lost stores nothing, or all, and answers neither way.
func (a attempted) lost(stored bool) (eventstore.Appended, error) {
	if stored {
		_, _ = a.store()
	}
	return eventstore.Appended{}, eventstore.ErrUnavailable
}

func (j *journal) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	j.mu.Lock()
	j.tries++
	nth, fault := j.tries, j.fault
	j.mu.Unlock()
	store := func() (eventstore.Appended, error) {
		before := j.head(id)
		a, err := j.Log.Append(ctx, id, expected, events...)
		if err == nil && j.head(id) > before {
			j.mu.Lock()
			j.batches = append(j.batches, events)
			j.mu.Unlock()
		}
		return a, err
	}
	if fault == nil {
		return store()
	}
	a := attempted{nth: nth, store: store}
	for _, e := range events {
		a.types = append(a.types, e.Type)
	}
	return fault(a)
}

func (j *journal) head(id eventstore.StreamID) int {
	for r, err := range j.Log.Read(context.Background(), id, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			panic(err) // memory does not fail
		}
		return int(r.Revision)
	}
	return -1
}

// fakeLadder keeps what it is told.
type fakeLadder struct {
	log *journal

	mu       sync.Mutex
	fails    []error // what the next calls fail with
	finished [][]ladder.Result
	voided   []string
}

func (l *fakeLadder) Finish(_ context.Context, _ string, results []ladder.Result) error {
	return l.told(func() { l.finished = append(l.finished, results) })
}

func (l *fakeLadder) Void(_ context.Context, _, why string) error {
	return l.told(func() { l.voided = append(l.voided, why) })
}

func (l *fakeLadder) told(keep func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fails) > 0 {
		err := l.fails[0]
		l.fails = l.fails[1:]
		return err
	}
	if len(l.finished)+len(l.voided) > 0 {
		return ladder.ErrAlreadyFinished
	}
	keep()
	return nil
}

// call is a request as a bot gets it.
type call struct {
	match.Request
	line *fakeLine
	nth  int // of the bot's requests, from 1
	kth  int // of those of its kind, from 1
}

// fakeBot plays by its script; without one it answers lawfully.
type fakeBot struct {
	world   *world
	id      string
	nonce   string
	unknown atomic.Bool                 // to the directory
	script  func(c call) (handled bool) // else the bot answers lawfully
	refuse  func(ctx context.Context, nth int) error
	greet   func(l *fakeLine) // on a new line

	mu       sync.Mutex
	dials    int
	requests []match.Request
	kinds    map[string]int
	lines    []*fakeLine
}

func (b *fakeBot) dialled(ctx context.Context, receive func([]byte, string)) (Line, string, error) {
	b.mu.Lock()
	b.dials++
	nth := b.dials
	b.mu.Unlock()
	if b.refuse != nil {
		if err := b.refuse(ctx, nth); err != nil {
			return nil, "", err
		}
	}
	l := &fakeLine{bot: b, receive: receive}
	b.mu.Lock()
	b.lines = append(b.lines, l)
	b.mu.Unlock()
	if b.greet != nil {
		b.greet(l)
	}
	return l, b.nonce, nil
}

func (b *fakeBot) asked(l *fakeLine, frame []byte) {
	c := call{line: l}
	require.NoError(b.world.t, json.Unmarshal(frame, &c.Request))
	b.mu.Lock()
	b.requests = append(b.requests, c.Request)
	if b.kinds == nil {
		b.kinds = map[string]int{}
	}
	b.kinds[c.Kind]++
	c.nth, c.kth = len(b.requests), b.kinds[c.Kind]
	b.mu.Unlock()
	if b.script == nil || !b.script(c) {
		c.answer(think, b.world.oracle.lawful(c.ID))
	}
}

// answer sends a frame after a while.
func (c call) answer(after time.Duration, frame string) { c.line.says(after, frame, "") }

// fakeLine is a socket. Nothing reaches the receiver after Close or a drop.
type fakeLine struct {
	bot     *fakeBot
	receive func([]byte, string)
	sending func(ctx context.Context) error // what Send does instead

	reading sync.Mutex // one call of receive at a time
	mu      sync.Mutex
	gone    bool
	closed  int
	kernel  []string
}

func (l *fakeLine) Send(ctx context.Context, frame []byte) error {
	if l.sending != nil {
		return l.sending(ctx)
	}
	frame = slices.Clone(frame)
	go l.bot.asked(l, frame)
	return nil
}

// says delivers a frame, or a cause, after a while.
func (l *fakeLine) says(after time.Duration, frame, cause string) {
	time.AfterFunc(after, func() { l.deliver(frame, cause) })
}

func (l *fakeLine) deliver(frame, cause string) {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	gone := l.gone
	l.gone = gone || cause == match.CauseDropped
	l.mu.Unlock()
	if !gone {
		l.receive([]byte(frame), cause)
	}
}

// holds keeps a frame that was received, but is not read before a drain.
func (l *fakeLine) holds(frame string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kernel = append(l.kernel, frame)
}

func (l *fakeLine) Drain(context.Context) {
	l.mu.Lock()
	frames := l.kernel
	l.kernel = nil
	l.mu.Unlock()
	for _, f := range frames {
		l.deliver(f, "")
	}
}

func (l *fakeLine) Close() {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	l.closed++
}

// stopAfter lets go of the match once such an event is stored.
func (w *world) stopAfter(e match.Event) {
	w.log.fault = func(a attempted) (eventstore.Appended, error) {
		if a.has(e) {
			defer w.abandon()
		}
		return a.store()
	}
}
