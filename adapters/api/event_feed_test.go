package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/health"
)

// anyEvents lets fakes embed the interface, which has a method of the same name.
type anyEvents = Events

// numbered is a read model whose events are numbered from 1. The test decides how many
// there are, and counts the events that a stream takes.
type numbered struct {
	anyEvents
	mu      sync.Mutex
	n       int64 // number of the newest event
	reads   int
	taken   int
	admits  error // the result of checking the reader's credentials
	changed chan struct{}
}

func (e *numbered) Changed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

func (e *numbered) Events(_ string, n int64, limit int) (list []health.Event, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for n++; n <= e.n && len(list) < limit; n++ {
		list = append(list, health.Event{ID: fmt.Sprint(n), Type: health.BotSeated})
	}
	e.reads++
	e.taken += len(list)
	return list, nil
}

func (e *numbered) admit() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.admits
}

func (e *numbered) admitWith(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.admits = err
}

// add adds n events.
func (e *numbered) add(n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n += n
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *numbered) readsSoFar() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reads
}

func (e *numbered) takenSoFar() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken
}

// feeding runs a test of a stream of events in a synctest bubble. done is closed when
// the stream has ended.
func feeding(t *testing.T, f func(t *testing.T, from *numbered, to *socket, done <-chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		from, to, done := &numbered{changed: make(chan struct{})}, &socket{}, make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		line := streamWriter{control: http.NewResponseController(to), w: to, writeTime: writeTime, pace: paceAll}
		go func() { defer close(done); line.follow(ctx, &eventFeed{events: from, admit: from.admit}) }()
		f(t, from, to, done)
		leave()
		<-done
	})
}

// sleep lets time pass in a bubble.
func sleep(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// idsIn returns the ids in a stream.
func idsIn(text string) (ids []string) {
	for line := range strings.Lines(text) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

// If a heartbeat is due and there are new events at the end of a pause, the stream reads
// once. Otherwise chance would decide how often it reads, and simulated histories would not
// repeat.
func TestEventsAndAHeartbeatAreOneRead(t *testing.T) {
	for range 10 { // the runtime chooses at random between channels that are ready
		feeding(t, func(t *testing.T, from *numbered, _ *socket, _ <-chan struct{}) {
			sleep(heartbeatEvery - paceAll/2)
			from.add(1)
			sleep(paceAll / 4) // in the pause
			from.add(1)
			before := from.readsSoFar()
			sleep(3 * paceAll)
			require.Equal(t, before+1, from.readsSoFar())
		})
	}
}

func TestReaderOfEventsThatDoesNotRead(t *testing.T) {
	const all = 20 * eventsAtOnce
	stuckReader := func(from *numbered, to *socket) {
		to.setStuck(true)
		from.add(all / 2)
		sleep(time.Second)
		from.add(all / 2)
		sleep(writeTime - 2*time.Second)
	}
	t.Run("and reads again continues without a gap", func(t *testing.T) {
		feeding(t, func(t *testing.T, from *numbered, to *socket, _ <-chan struct{}) {
			stuckReader(from, to)
			require.Equal(t, eventsAtOnce, from.takenSoFar(), "the arena holds no more events for a reader that does not read")
			to.setStuck(false)
			sleep(20 * paceAll)
			var want []string
			for n := range all {
				want = append(want, fmt.Sprint(n+1))
			}
			require.Equal(t, want, idsIn(to.text()))
		})
	})
	t.Run("for writeTime is disconnected", func(t *testing.T) {
		feeding(t, func(t *testing.T, from *numbered, to *socket, done <-chan struct{}) {
			stuckReader(from, to)
			sleep(2 * time.Second)
			<-done
			require.Equal(t, eventsAtOnce, from.takenSoFar())
		})
	})
}

// A stream without events ends with the next heartbeat after its credentials became
// invalid, and no event is sent meanwhile.
func TestIdleStreamEndsWithItsCredentials(t *testing.T) {
	feeding(t, func(t *testing.T, from *numbered, to *socket, done <-chan struct{}) {
		sleep(heartbeatEvery + time.Second)
		require.Equal(t, ":\n\n", to.text())
		from.admitWith(owner.ErrUnauthenticated)
		sleep(heartbeatEvery)
		<-done
		require.Equal(t, ":\n\n", to.text())
	})
}

// While the log is unavailable, the arena cannot check the credentials. A stream without
// new events stays open. A stream with new events ends, and sends none of them.
func TestStreamOfEventsInAnOutage(t *testing.T) {
	feeding(t, func(t *testing.T, from *numbered, to *socket, done <-chan struct{}) {
		from.admitWith(fmt.Errorf("read: %w", eventstore.ErrUnavailable))
		sleep(heartbeatEvery + time.Second)
		require.Equal(t, ":\n\n", to.text())
		from.admitWith(nil)
		from.add(1)
		sleep(paceAll)
		require.Equal(t, []string{"1"}, idsIn(to.text()))
		from.admitWith(eventstore.ErrUnavailable)
		from.add(1)
		sleep(paceAll)
		<-done
		require.Equal(t, []string{"1"}, idsIn(to.text()))
	})
}

// lagging is a log and a read model that answer late. Each delay is a time in a bubble.
type lagging struct {
	eventstore.Log
	anyEvents
	read, wait time.Duration
}

const newestPosition = 100

func (l lagging) ReadAll(ctx context.Context, _ eventstore.Position, _ eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		if err := l.pass(ctx, l.read); err != nil {
			yield(eventstore.Recorded{}, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err))
			return
		}
		yield(eventstore.Recorded{Position: newestPosition}, nil)
	}
}

func (l lagging) Wait(ctx context.Context, _ eventstore.Position) error { return l.pass(ctx, l.wait) }

func (lagging) pass(ctx context.Context, d time.Duration) error {
	return eventstore.Sleep(ctx, d)
}

// A call waits at most 5 s in total for the log and for the read model.
func TestCallWaitsForEvents(t *testing.T) {
	for name, c := range map[string]struct {
		read, wait time.Duration
		position   eventstore.Position
		took       time.Duration
		want       error
		code       string
	}{
		"known already":                {position: newestPosition},
		"folded after 4 s":             {wait: 4 * time.Second, position: newestPosition, took: 4 * time.Second},
		"the read model is behind":     {wait: time.Hour, position: newestPosition, took: eventsTime, want: projections.ErrBehind, code: "out_of_date"},
		"the log answers late":         {read: 2 * time.Second, wait: time.Hour, position: 1, took: eventsTime, want: projections.ErrBehind, code: "out_of_date"},
		"the log does not answer":      {read: time.Hour, position: 1, took: eventsTime, want: eventstore.ErrUnavailable, code: "log_unavailable"},
		"a position of another log":    {wait: time.Hour, position: newestPosition + 1, want: errUnknownEvent, code: "invalid"},
		"the caller stopped listening": {wait: time.Hour, position: 1, took: 3 * time.Second, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := lagging{read: c.read, wait: c.wait}
				s := &Server{Options: Options{Log: late, Events: late}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if errors.Is(c.want, context.Canceled) {
					time.AfterFunc(c.took, cancel)
				}
				begun := time.Now()
				err := s.reach(ctx, c.position)
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.took, time.Since(begun))
				if c.code != "" {
					require.Equal(t, c.code, problem.Of(err).Code)
				}
			})
		})
	}
}
