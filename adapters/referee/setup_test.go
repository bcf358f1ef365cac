package referee

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/directory"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

const (
	testMatch = "5b1c0e0a-8f0e-5e0f-9d5b-0a0b0c0d0e0f"
	testMode  = "standard"
	think     = 100 * time.Millisecond // how long a bot takes to answer legally
)

var testKey = []byte("a seed key")

// fixture contains the fakes that a referee uses, in a synctest bubble: a log, a
// ladder, and bots with scripted lines.
type fixture struct {
	t      *testing.T
	log    *journal
	legal  *legalBot
	ladder *fakeLadder
	ofMode string // the name of the mode
	mode   Mode
	bots   []*fakeBot
	beacon Beacon        // nil if the arena has no beacon
	named  *beacon.Named // the round that the table names

	gate    func() <-chan struct{}                            // if nil, the gate is always open
	publish func(ctx context.Context, s ladder.Seating) error // if nil, every seating is already in a signed head
	playing atomic.Pointer[Referee]                           // the newest referee
}

// withFixture runs a test in a synctest bubble, with a table of n bots that
// answer legally.
func withFixture(t *testing.T, n int, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newFixture(t, n)) })
}

func newFixture(t *testing.T, n int) *fixture {
	log := &journal{Log: memory.New()}
	f := &fixture{
		t: t, log: log, ladder: &fakeLadder{log: log},
		legal:  &legalBot{t: t, log: log.Log, m: match.New(seed.Server(testKey, testMatch))},
		ofMode: testMode, mode: Mode{Decision: 5 * time.Second, Wall: time.Hour},
	}
	for i := range n {
		f.bots = append(f.bots, &fakeBot{fixture: f, id: fmt.Sprintf("bot-%d", i)})
	}
	return f
}

// referee returns a new referee that uses the fakes.
func (f *fixture) referee(player string) *Referee {
	f.mode.Ladder = f.ladder
	r := New(Options{
		Log: f.log, Modes: map[string]Mode{f.ofMode: f.mode}, Player: player, Logger: slog.New(slog.DiscardHandler),
		Beacon: f.beacon, Gate: f.gate,
		ServerSeed: SeedsFromKeys(func(_ context.Context, id string) ([]byte, bool) { return testKey, id == "k1" }),
		Publish: func(ctx context.Context, s ladder.Seating) error {
			require.Equal(f.t, f.seating(), s)
			if f.publish == nil {
				return nil
			}
			return f.publish(ctx, s)
		},
		Bots: func(id string) (directory.Bot, bool) {
			if b := f.bot(id); b == nil || b.unknown.Load() {
				return directory.Bot{}, false
			}
			return directory.Bot{Name: "Bot " + id, OwnerID: "owner", URL: "ws://" + id}, true
		},
		Dial: func(ctx context.Context, url, matchID string, u Upgrade, receive func([]byte, string)) (Line, Accepted, error) {
			require.Equal(f.t, testMatch, matchID)
			bot := url[len("ws://"):]
			require.Equal(f.t, f.upgrade(bot), u)
			return f.bot(bot).dialled(ctx, receive)
		},
	})
	f.playing.Store(r)
	return r
}

// abandon stops the newest referee without waiting until the match has stopped.
func (f *fixture) abandon() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = f.playing.Load().Stop(ctx) // the error is ctx's error
}

func (f *fixture) bot(id string) *fakeBot {
	for _, b := range f.bots {
		if b.id == id {
			return b
		}
	}
	return nil
}

func (f *fixture) seating() ladder.Seating {
	s := ladder.Seating{
		MatchID: testMatch, Mode: f.ofMode, Revision: 7, Index: 1, SeedKey: "k1",
		Commitment: seed.Commitment(seed.Server(testKey, testMatch)), Beacon: f.named,
	}
	for _, b := range f.bots {
		s.Bots = append(s.Bots, ladder.Entrant{BotID: b.id, Rating: rating.New()})
	}
	return s
}

// upgrade returns the contents of the upgrade requests to a bot.
func (f *fixture) upgrade(bot string) Upgrade {
	u := Upgrade{BotID: bot, Commitment: f.seating().Commitment.String(), LogIndex: 7}
	if f.named != nil {
		u.BeaconRound = f.named.Round
	}
	return u
}

// play plays the match until it ends or the referee stops.
func (f *fixture) play() {
	r := f.referee("player")
	r.Play(f.seating())
	r.Wait()
}

// run plays the match to its end and returns the events.
func (f *fixture) run() []match.Event {
	f.t.Helper()
	f.play()
	require.Len(f.t, f.ladder.finished, 1)
	return f.events()
}

// The method events() returns the events of the match's stream.
func (f *fixture) events() []match.Event {
	f.t.Helper()
	var events []match.Event
	for r := range f.recorded() {
		e, err := match.Decode(r.Type, r.Data)
		require.NoError(f.t, err)
		events = append(events, e)
	}
	return events
}

// The method details() returns the events in the match's stream of details.
func (f *fixture) details() []match.Event {
	f.t.Helper()
	var events []match.Event
	for r, err := range f.log.Log.Read(context.Background(), "details-"+testMatch, 0, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		e, err := match.DecodeDetail(r.Type, r.Data)
		require.NoError(f.t, err)
		events = append(events, e)
	}
	return events
}

func (f *fixture) recorded() func(yield func(eventstore.Recorded) bool) {
	return func(yield func(eventstore.Recorded) bool) {
		for r, err := range f.log.Log.Read(context.Background(), "match-"+testMatch, 0, eventstore.ReadOptions{}) {
			require.NoError(f.t, err)
			if !yield(r) {
				return
			}
		}
	}
}

// lastMetadata returns the metadata of the match's latest event.
func (f *fixture) lastMetadata() eventstore.Metadata {
	f.t.Helper()
	var last eventstore.Recorded
	for r := range f.recorded() {
		last = r
	}
	m, err := eventstore.DecodeMetadata(last)
	require.NoError(f.t, err)
	return m
}

// seatOf returns the seat of a bot.
func (f *fixture) seatOf(b *fakeBot) int {
	return slices.IndexFunc(f.legal.now().Started.Seats, func(s match.Seat) bool { return s.BotID == b.id })
}

// The method strikes() returns the strikes of all seats.
func (f *fixture) strikes() []int {
	m := f.legal.now()
	return m.Strikes[:len(f.bots)]
}

// This function selects the events of one type.
func only[E match.Event](events []match.Event) (list []E) {
	for _, e := range events {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// journal is a log that records the stored batches of the match. A test can make its
// appends fail.
type journal struct {
	eventstore.Log
	noDetails func(ctx context.Context) error // if not nil, decides whether an append of details fails

	mu      sync.Mutex
	tries   int
	batches [][]eventstore.Event
	fault   func(a attempted) (eventstore.Appended, error) // if not nil, handles each append
}

// The type attempted describes one call to Append.
type attempted struct {
	nth   int
	types []string // types of the events
	store func() (eventstore.Appended, error)
}

func (a attempted) has(e match.Event) bool { return slices.Contains(a.types, e.EventType()) }

// The method lost() returns an error, as if the log were unavailable. It stores the
// events only if stored is true.
func (a attempted) lost(stored bool) (eventstore.Appended, error) {
	if stored {
		_, _ = a.store()
	}
	return eventstore.Appended{}, eventstore.ErrUnavailable
}

func (j *journal) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if strings.HasPrefix(string(id), match.DetailsPrefix) {
		return j.appendDetails(ctx, id, expected, events)
	}
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

// setFault changes the field fault while a match is being played.
func (j *journal) setFault(fault func(attempted) (eventstore.Appended, error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fault = fault
}

func (j *journal) appendDetails(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events []eventstore.Event) (eventstore.Appended, error) {
	if j.noDetails != nil {
		if err := j.noDetails(ctx); err != nil {
			return eventstore.Appended{}, err
		}
	}
	return j.Log.Append(ctx, id, expected, events...)
}

func (j *journal) head(id eventstore.StreamID) int {
	for r, err := range j.Log.Read(context.Background(), id, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			panic(err) // cannot happen, because an in-memory log does not fail
		}
		return int(r.Revision)
	}
	return -1
}

// fakeLadder records the results.
type fakeLadder struct {
	log *journal

	mu       sync.Mutex
	before   func()  // if not nil, called once before Void stores anything
	fails    []error // errors of the next calls
	finished [][]ladder.Result
	voided   []string
}

func (l *fakeLadder) Finish(_ context.Context, _ string, results []ladder.Result) error {
	return l.record(func() { l.finished = append(l.finished, results) })
}

func (l *fakeLadder) Void(_ context.Context, _, why string) error {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return l.record(func() { l.voided = append(l.voided, why) })
}

func (l *fakeLadder) Finished(context.Context, string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.finished)+len(l.voided) > 0, nil
}

func (l *fakeLadder) record(store func()) error {
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
	store()
	return nil
}

// call is a request that a bot received.
type call struct {
	match.Request
	line *fakeLine
	nth  int // number of the request among all requests to the bot, starting at 1
	kth  int // number of the request among all requests of its kind to the bot, starting at 1
}

// fakeBot follows its script. Without a script, it answers legally.
type fakeBot struct {
	fixture *fixture
	id      string
	nonce   string
	version string
	unknown atomic.Bool                 // whether the bot is missing from the directory
	script  func(c call) (handled bool) // if script is nil or returns false, the bot answers legally
	refuse  func(ctx context.Context, nth int) error
	greet   func(l *fakeLine) // called for each new line

	mu       sync.Mutex
	dials    int
	requests []match.Request
	kinds    map[string]int
	lines    []*fakeLine
}

func (b *fakeBot) dialled(ctx context.Context, receive func([]byte, string)) (Line, Accepted, error) {
	b.mu.Lock()
	b.dials++
	nth := b.dials
	b.mu.Unlock()
	if b.refuse != nil {
		if err := b.refuse(ctx, nth); err != nil {
			return nil, Accepted{}, err
		}
	}
	l := &fakeLine{bot: b, receive: receive}
	b.mu.Lock()
	b.lines = append(b.lines, l)
	b.mu.Unlock()
	if b.greet != nil {
		b.greet(l)
	}
	return l, Accepted{b.nonce, b.version}, nil
}

// withoutView decodes all fields of a request except the view, which no test reads.
// Decoding views would take half of the time of a match.
type withoutView struct {
	*match.Request
	View json.RawMessage `json:"view"`
}

func (b *fakeBot) asked(l *fakeLine, frame []byte) {
	c := call{line: l}
	require.NoError(b.fixture.t, json.Unmarshal(frame, &withoutView{Request: &c.Request}))
	b.mu.Lock()
	b.requests = append(b.requests, c.Request)
	if b.kinds == nil {
		b.kinds = map[string]int{}
	}
	b.kinds[c.Kind]++
	c.nth, c.kth = len(b.requests), b.kinds[c.Kind]
	b.mu.Unlock()
	if b.script == nil || !b.script(c) {
		c.answer(think, b.fixture.legal.answer(c.ID))
	}
}

// answer sends a frame after a delay.
func (c call) answer(after time.Duration, frame string) { c.line.sends(after, frame, "") }

// fakeLine is a fake socket. After Close, and after the line has dropped, it does not
// call receive.
type fakeLine struct {
	bot     *fakeBot
	receive func([]byte, string)
	sending func(ctx context.Context) error // if not nil, Send calls it first; if it fails, Send returns its error
	closing func()                          // if not nil, Close calls it first
	fault   *match.Fault

	reading sync.Mutex // allows only one call to receive at a time
	mu      sync.Mutex
	gone    bool
	closed  int
	kernel  []string
}

func (l *fakeLine) Send(ctx context.Context, frame []byte) error {
	if l.sending != nil {
		if err := l.sending(ctx); err != nil {
			return err
		}
	}
	if gate := l.bot.fixture.gate; gate != nil {
		require.Nil(l.bot.fixture.t, gate(), "asked while the gate is closed")
	}
	frame = slices.Clone(frame)
	go l.bot.asked(l, frame)
	return nil
}

// The method sends() delivers a frame or a cause after a delay.
func (l *fakeLine) sends(after time.Duration, frame, cause string) {
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

// The method buffers() adds a frame to the data that the socket has received. Only
// Drain delivers it.
func (l *fakeLine) buffers(frame string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kernel = append(l.kernel, frame)
}

func (l *fakeLine) Fault() *match.Fault { return l.fault }

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
	if l.closing != nil {
		l.closing()
	}
	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	l.closed++
}

// stopAfter makes the referee stop after it has stored an event of the same type as e.
func (f *fixture) stopAfter(e match.Event) {
	f.log.fault = func(a attempted) (eventstore.Appended, error) {
		if a.has(e) {
			defer f.abandon()
		}
		return a.store()
	}
}
