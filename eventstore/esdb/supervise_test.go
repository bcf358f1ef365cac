package esdb

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m, logtest.LostNodes...) }

// Most tests use the pace brisk.
var brisk = pace{silence: 200 * time.Millisecond, probe: 200 * time.Millisecond, firstGap: 5 * time.Millisecond, lastGap: 50 * time.Millisecond, doubt: 500 * time.Millisecond}

// With the pace unhurried, a Log never considers a server silent, even on a loaded
// machine. It still notices a broken connection immediately.
var unhurried = pace{silence: time.Minute, probe: time.Minute, firstGap: 5 * time.Millisecond, lastGap: 50 * time.Millisecond}

// testPatience limits how long a test waits for something that must happen. Its
// length does not affect the results.
const testPatience = 3 * time.Minute

// openThrough opens a log on a node behind a proxy.
func openThrough(t *testing.T) (*Log, *outage.Proxy) { return openThroughAt(t, brisk) }

func openThroughAt(t *testing.T, pace pace) (*Log, *outage.Proxy) {
	p := outage.New(t, startNode(t))
	return openAt(t, p.Address(), pace), p
}

// manualContext is a context that a test ends. It then looks as if its deadline had
// passed.
type manualContext struct {
	context.Context
	over chan struct{}
}

func (e manualContext) Done() <-chan struct{} { return e.over }

func (e manualContext) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return e.Context.Err()
	}
}

// afterFailedConnects returns a context that ends as if its deadline had passed. It
// ends when the log, after one failed connection attempt, is about to make the next
// one. By then, the caller has seen the first failure. Call afterFailedConnects
// while no other call uses the log.
func afterFailedConnects(t *testing.T, log *Log) context.Context {
	ctx, dial, dials := manualContext{t.Context(), make(chan struct{})}, log.dial, 0
	log.dial = func(config es.Configuration) (*es.Client, error) {
		if dials++; dials == 2 {
			close(ctx.over)
		}
		return dial(config)
	}
	return ctx
}

func openAt(t *testing.T, address string, pace pace) *Log {
	config, err := parse("esdb://" + address + "?tls=false")
	require.NoError(t, err)
	log := open(config, slog.New(slog.DiscardHandler), pace)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return log
}

func events(n int) []eventstore.Event {
	all := make([]eventstore.Event, n)
	for i := range all {
		all[i] = eventstore.Event{ID: uuid.New(), Type: "Counted", Data: []byte(`{}`)}
	}
	return all
}

// everyCall contains a call to each method of eventstore.Log.
var everyCall = map[string]func(context.Context, *Log) error{
	"append": func(ctx context.Context, l *Log) error {
		_, err := l.Append(ctx, "calls-1", eventstore.Any, events(1)...)
		return err
	},
	"read": func(ctx context.Context, l *Log) error {
		return last(l.Read(ctx, "calls-1", 0, eventstore.ReadOptions{}))
	},
	"read all": func(ctx context.Context, l *Log) error {
		return last(l.ReadAll(ctx, 0, eventstore.ReadOptions{}))
	},
	"set metadata": func(ctx context.Context, l *Log) error {
		return l.SetMetadata(ctx, "calls-1", eventstore.StreamMetadata{MaxCount: 9})
	},
	"tombstone": func(ctx context.Context, l *Log) error {
		return l.Tombstone(ctx, eventstore.StreamID("gone-"+uuid.NewString()), eventstore.Any)
	},
	"ping": func(ctx context.Context, l *Log) error { return l.Ping(ctx) },
	"subscribe": func(ctx context.Context, l *Log) error {
		for _, err := range l.Subscribe(ctx, 0, eventstore.Filter{}) {
			if err != nil {
				return err
			}
		}
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, ctx.Err()) // a subscription itself ends without an error
	},
}

func last(events iter.Seq2[eventstore.Recorded, error]) error {
	var last error
	for _, err := range events {
		last = err
	}
	return last
}

// Each call returns by its deadline in every kind of outage, whether the outage
// begins before or after the first connection.
func TestCallsReturnByTheirDeadline(t *testing.T) {
	for _, o := range []outage.Kind{outage.Refused, outage.Reset, outage.Hung, outage.OneWay, outage.BlackHoled} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, connected before: %t", o, known), func(t *testing.T) {
				t.Parallel()
				log, p := openThrough(t)
				if known {
					require.NoError(t, log.Ping(t.Context()))
				}
				p.Set(o)
				ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
				defer cancel()
				m := watchStalls(t)
				type end struct {
					call    string
					overrun time.Duration
					err     error
				}
				ends := make(chan end, 3*len(everyCall))
				for name, call := range everyCall {
					for range 3 {
						go func() {
							overrun, err := m.overrun(ctx, func(ctx context.Context) error { return call(ctx, log) })
							ends <- end{name, overrun, err}
						}()
					}
				}
				for range cap(ends) {
					e := <-ends
					require.ErrorIs(t, e.err, eventstore.ErrUnavailable, e.call)
					require.ErrorIs(t, e.err, context.DeadlineExceeded, e.call)
					requireOverrun(t, e.overrun, e.call)
				}
				p.Set(outage.None)
				for name, call := range everyCall {
					if name != "subscribe" {
						require.NoError(t, call(t.Context(), log), name)
					}
				}
			})
		}
	}
}

// writer appends n events one after another, each at the exact revision. After each
// event, writer calls the function wrote, and stops if that function returns an
// error.
func writer(ctx context.Context, l *Log, id eventstore.StreamID, n int, wrote func(i int) error) error {
	expected := eventstore.NoStream
	for i := range n {
		appended, err := l.Append(ctx, id, expected, events(1)...)
		if err != nil {
			return err
		}
		if appended.Revision != eventstore.Revision(i) {
			return fmt.Errorf("event %d is at revision %d", i, appended.Revision)
		}
		expected = eventstore.At(appended.Revision)
		if err := wrote(i); err != nil {
			return err
		}
	}
	return nil
}

// Writers and subscribers continue through every kind of outage. No event is lost,
// stored twice or delivered twice.
func TestOutagesLoseAndDoubleNothing(t *testing.T) {
	const writers, most = 4, 1 << 30
	log, p := openThrough(t)
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	var writing, following sync.WaitGroup
	defer following.Wait()
	defer writing.Wait()
	defer cancel()
	name := func(w int) eventstore.StreamID { return eventstore.StreamID(fmt.Sprintf("outage-%d", w)) }
	enough, stop := errors.New("enough"), make(chan struct{})
	progress := make(chan struct{})
	var written [writers]int // how many events each writer wrote; read it after the writer has ended
	for w := range writers {
		writing.Go(func() {
			err := writer(ctx, log, name(w), most, func(i int) error {
				written[w] = i + 1
				select {
				case progress <- struct{}{}:
				case <-stop:
					return enough
				default: // the test does not wait
				}
				return nil
			})
			if !errors.Is(err, enough) {
				t.Errorf("writer %d: %v", w, err)
				cancel()
			}
		})
	}
	var seen [3]map[eventstore.StreamID]eventstore.Revision
	for s := range seen {
		following.Go(func() {
			next := make(map[eventstore.StreamID]eventstore.Revision)
			seen[s] = next
			for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{StreamPrefixes: []string{"outage-"}}) {
				if err != nil {
					t.Errorf("subscriber: %v", err)
					return
				}
				if m.Event == nil {
					continue
				}
				if m.Event.Revision != next[m.Event.Stream] {
					t.Errorf("got %s@%d, want revision %d", m.Event.Stream, m.Event.Revision, next[m.Event.Stream])
				}
				if m.Event.Stream == "outage-end" {
					return
				}
				next[m.Event.Stream]++
			}
			t.Errorf("subscriber %d did not see the end", s)
		})
	}
	outages := []outage.Kind{outage.Refused, outage.Reset, outage.Hung, outage.OneWay, outage.Hung, outage.OneWay}
	for i, o := range outages {
		for range 10 {
			select {
			case <-progress:
			case <-ctx.Done():
				require.Fail(t, "the writers did not continue")
			}
		}
		p.Set(o)
		awaitAway(t, ctx, log)
		if i >= 4 {
			p.Cut()
		}
		p.Set(outage.None)
	}
	close(stop)
	writing.Wait()
	_, err := log.Append(ctx, "outage-end", eventstore.NoStream, events(1)...)
	require.NoError(t, err)
	following.Wait()
	for w := range writers {
		n := 0
		for r, err := range log.Read(ctx, name(w), 0, eventstore.ReadOptions{}) {
			require.NoError(t, err)
			require.EqualValues(t, n, r.Revision)
			n++
		}
		require.Equal(t, written[w], n)
		for _, next := range seen {
			require.EqualValues(t, n, next[name(w)], "seen by a subscriber")
		}
	}
}

// awaitAway waits until the current generation has retired.
func awaitAway(t *testing.T, ctx context.Context, l *Log) {
	l.mu.Lock()
	g := l.current
	l.mu.Unlock()
	select {
	case <-g.retired:
	case <-ctx.Done():
		require.Fail(t, "the outage was not noticed")
	}
}

// For every kind of expected revision: if the acknowledgement of an append is lost,
// the log stores the events only once and returns the original result.
func TestLostAcknowledgementStoresOnce(t *testing.T) {
	for _, expected := range []eventstore.Expected{eventstore.At(0), eventstore.Any, eventstore.Exists} {
		t.Run(expected.String(), func(t *testing.T) {
			log, p := openThrough(t)
			id := eventstore.StreamID("lost-1")
			_, err := log.Append(t.Context(), id, eventstore.NoStream, events(1)...)
			require.NoError(t, err)
			stored := storedBehind(t, p, id)
			p.Set(outage.OneWay)
			go func() {
				<-stored
				p.Cut()
				p.Set(outage.None)
			}()
			batch := events(2)
			appended, err := log.Append(t.Context(), id, expected, batch...)
			require.NoError(t, err)
			var all []eventstore.Recorded
			for r, err := range log.Read(t.Context(), id, 1, eventstore.ReadOptions{}) {
				require.NoError(t, err)
				all = append(all, r)
			}
			require.Len(t, all, 2)
			require.Equal(t, batch[1].ID, all[1].ID)
			require.Equal(t, eventstore.Appended{Revision: 2, Position: all[1].Position}, appended)
		})
	}
}

func openDirect(t *testing.T, address string) *Log { return openAt(t, address, defaultPace) }

func TestReadsContinueAfterACut(t *testing.T) {
	log, p := openThrough(t)
	const n = 3000
	big := make([]byte, 2000)
	for i := range big {
		big[i] = 'x'
	}
	for i := 0; i < n; i += 300 {
		batch := events(300)
		for j := range batch {
			batch[j].Data = fmt.Appendf(nil, `"%s"`, big)
		}
		_, err := log.Append(t.Context(), "long-1", eventstore.Expected(i-1), batch...)
		require.NoError(t, err)
	}
	for name, read := range map[string]func(eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error]{
		"stream": func(opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
			if opt.Direction == eventstore.Backwards {
				return log.Read(t.Context(), "long-1", eventstore.EndRevision, opt)
			}
			return log.Read(t.Context(), "long-1", 0, opt)
		},
		"all": func(opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
			if opt.Direction == eventstore.Backwards {
				return log.ReadAll(t.Context(), eventstore.EndPosition, opt)
			}
			return log.ReadAll(t.Context(), 0, opt)
		},
	} {
		for _, opt := range []eventstore.ReadOptions{{}, {Limit: 2500}, {Direction: eventstore.Backwards}, {Direction: eventstore.Backwards, Limit: 2500}} {
			i, want := 0, n
			if opt.Limit > 0 {
				want = opt.Limit
			}
			for r, err := range read(opt) {
				require.NoError(t, err)
				revision := i
				if opt.Direction == eventstore.Backwards {
					revision = n - 1 - i
				}
				require.EqualValues(t, revision, r.Revision, "%s %+v", name, opt)
				if i == 1000 {
					p.Cut()
				}
				i++
			}
			require.Equal(t, want, i, "%s %+v", name, opt)
		}
	}
}

// All callers share the new connection after an outage.
func TestCallersShareOneConnection(t *testing.T) {
	log, p := openThroughAt(t, unhurried)
	require.NoError(t, log.Ping(t.Context()))
	before := p.Connections()
	p.Cut()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := log.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, p.Connections()-before, 2, "50 callers")
}

// The Log depends on two details of the client. The client reads the deadline of a
// call as soon as the call has its connection, and it logs a message just before it
// reconnects. This test fails if a different version of the client behaves
// differently.
func TestClientBehavesAsTheSupervisionExpects(t *testing.T) {
	log, p := openThroughAt(t, unhurried)
	require.NoError(t, log.Ping(t.Context()))
	g, err := log.generation(t.Context(), 0)
	require.NoError(t, err)
	connecting := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.connecting
	}
	appendOne := func(ctx context.Context, c *es.Client) error {
		_, err := c.AppendToStream(ctx, "asking-1", es.AppendToStreamOptions{ExpectedRevision: es.Any{}}, proposed(events(1))...)
		return err
	}
	for name, f := range map[string]func(context.Context, *es.Client) error{
		"append": appendOne,
		"read": func(ctx context.Context, c *es.Client) error {
			r, err := c.ReadStream(ctx, "asking-1", es.ReadStreamOptions{}, 1)
			if err == nil {
				r.Close()
			}
			return err
		},
		"read all": probe,
		"subscribe": func(ctx context.Context, c *es.Client) error {
			s, err := c.SubscribeToAll(ctx, es.SubscribeToAllOptions{})
			if err == nil {
				s.Close()
			}
			return err
		},
		"tombstone": func(ctx context.Context, c *es.Client) error {
			_, err := c.TombstoneStream(ctx, "asking-2", es.TombstoneStreamOptions{ExpectedRevision: es.Any{}})
			return err
		},
	} {
		counts, err := call(t.Context(), log, g, func(ctx context.Context, c *es.Client) ([2]int, error) {
			before := connecting()
			err := f(ctx, c)
			return [2]int{before, connecting()}, err
		})
		require.NoError(t, err, name)
		require.Equal(t, [2]int{1, 0}, counts, "calls that ask for a connection, before and after: %s", name)
	}

	stored := storedBehind(t, p, "asking-1")
	p.Set(outage.OneWay)
	go func() { <-stored; p.Cut() }()
	ended := make(chan error, 1)
	_, err = call(t.Context(), log, g, func(ctx context.Context, c *es.Client) (struct{}, error) {
		err := appendOne(ctx, c)
		ended <- g.reason()
		return struct{}{}, err
	})
	require.Error(t, err)
	require.Error(t, <-ended, "the generation retires before the client returns")
}

// storedBehind returns a channel that closes when the node behind the proxy stores
// another event of a stream.
func storedBehind(t *testing.T, p *outage.Proxy, id eventstore.StreamID) <-chan struct{} {
	direct := openDirect(t, p.Target())
	listening, stored := make(chan struct{}), make(chan struct{})
	listens := sync.OnceFunc(func() { close(listening) })
	go func() {
		for m, err := range direct.Subscribe(t.Context(), eventstore.EndPosition, eventstore.Filter{StreamPrefixes: []string{string(id)}}) {
			switch {
			case err != nil:
				return
			case m.CaughtUp:
				listens()
			case m.Event != nil:
				close(stored)
				return
			}
		}
	}()
	<-listening
	return stored
}

func TestCloseEndsAllCalls(t *testing.T) {
	log, p := openThrough(t)
	require.NoError(t, log.Ping(t.Context()))
	p.Set(outage.Hung)
	ends := make(chan error, len(everyCall))
	for _, call := range everyCall {
		go func() { ends <- call(t.Context(), log) }()
	}
	require.NoError(t, log.Close())
	for range everyCall {
		require.ErrorIs(t, <-ends, ErrClosed)
	}
	for name, call := range everyCall {
		require.ErrorIs(t, call(t.Context(), log), ErrClosed, name)
	}
	require.NoError(t, log.Close(), "again")
}
