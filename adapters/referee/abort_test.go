package referee

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

var order = Order{Reason: "a fault of ours", Request: "request-1"}

// requireAborted demands that the match's last event is its abort by the order,
// and that the ladder has it as void, once.
func requireAborted(t *testing.T, w *world) {
	t.Helper()
	events := w.events()
	require.Len(t, only[match.Aborted](events), 1)
	aborted := events[len(events)-1].(match.Aborted)
	require.Equal(t, match.Operator, aborted.Why)
	require.Equal(t, "a fault of ours", aborted.Reason)
	require.Equal(t, []string{match.Operator}, w.ladder.voided)
	require.Empty(t, w.ladder.finished)
}

// correlations are those of the stored events.
func correlations(t *testing.T, w *world) (all []string) {
	t.Helper()
	for r := range w.recorded() {
		var m eventstore.Metadata
		require.NoError(t, json.Unmarshal(r.Metadata, &m))
		all = append(all, m.Correlation)
	}
	return all
}

// An order ends a decision that is open, at once and without a strike.
func TestAbort(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		slowly(w, 4*time.Second)
		r := w.referee("player")
		r.Play(w.seating())
		<-time.After(30 * time.Second)
		ordered := time.Now()
		require.NoError(t, r.Abort(w.t.Context(), w.seating(), order))
		require.Less(t, time.Since(ordered), time.Second, "nobody waits for the open decision")
		r.Wait()

		requireAborted(t, w)
		require.Empty(t, only[match.DecisionTimedOut](w.events()))
		for _, b := range w.bots {
			require.Equal(t, 1, b.lines[0].closed)
		}
		all := correlations(t, w)
		require.Equal(t, "request-1", all[len(all)-1], "the abort belongs to the request")
		require.Equal(t, testMatch, all[len(all)-2], "all else to the match")
	})
}

// A match that is not being played is taken up for it: one of the log, and one
// that was only seated.
func TestAbortTakesUp(t *testing.T) {
	for name, begun := range map[string]bool{"a match of the log": true, "a seating": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				if begun {
					slowly(w, time.Second)
					r := w.referee("player")
					r.Play(w.seating())
					<-time.After(10 * time.Second)
					require.NoError(t, r.Stop(w.t.Context()))
				}
				for _, b := range w.bots {
					b.script = func(call) bool { return true } // says nothing
				}
				r := w.referee("player")
				require.NoError(t, r.Abort(w.t.Context(), w.seating(), order))
				r.Wait()
				requireAborted(t, w)
			})
		})
	}
}

func TestAbortOfAMatchThatIsOver(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.run()
		r := w.referee("player")
		require.ErrorIs(t, r.Abort(w.t.Context(), w.seating(), order), ErrOver)
		r.Wait()
		require.Empty(t, only[match.Aborted](w.events()))
		require.Empty(t, w.ladder.voided)
	})
}

// Many orders for one match are one; the first says why.
func TestAbortTwice(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		slowly(w, 4*time.Second)
		r := w.referee("player")
		r.Play(w.seating())
		<-time.After(10 * time.Second)
		first := make(chan error)
		w.log.fault = away(1, false)
		go func() { first <- r.Abort(w.t.Context(), w.seating(), order) }()
		<-time.After(time.Second)
		require.NoError(t, r.Abort(w.t.Context(), w.seating(), Order{Reason: "another", Request: "request-2"}))
		require.NoError(t, <-first)
		r.Wait()
		requireAborted(t, w)
	})
}

// While the log is away the caller may leave; the order stands.
func TestAbortOutlastsItsCaller(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		slowly(w, 4*time.Second)
		r := w.referee("player")
		r.Play(w.seating())
		<-time.After(10 * time.Second)
		w.log.fault = away(1, false)
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, r.Abort(ctx, w.seating(), order), context.DeadlineExceeded)
		r.Wait()
		requireAborted(t, w)
	})
}

func TestAbortAfterStop(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		r := w.referee("player")
		require.NoError(t, r.Stop(w.t.Context()))
		require.ErrorIs(t, r.Abort(w.t.Context(), w.seating(), order), ErrNotPlaying)
		require.Empty(t, w.events())
	})
}

// A stop while the order waits for the log: the match is left as it stands.
func TestStopBeforeTheAbortIsStored(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		slowly(w, 4*time.Second)
		r := w.referee("player")
		r.Play(w.seating())
		<-time.After(10 * time.Second)
		w.log.fault = away(1, false)
		done := make(chan error)
		go func() { done <- r.Abort(context.Background(), w.seating(), order) }()
		<-time.After(time.Minute)
		require.NoError(t, r.Stop(w.t.Context()))
		require.ErrorIs(t, <-done, ErrNotPlaying)
		require.Empty(t, only[match.Aborted](w.events()))
		require.Empty(t, w.ladder.voided)
	})
}
