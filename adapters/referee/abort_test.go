package referee

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

var order = Order{Reason: "a fault of ours", Request: "request-1"}

// requireAborted checks that the last event of the match is the abort that the operator
// ordered, and that the ladder has voided the match exactly once.
func requireAborted(t *testing.T, f *fixture) {
	t.Helper()
	events := f.events()
	require.Len(t, only[match.Aborted](events), 1)
	aborted := events[len(events)-1].(match.Aborted)
	require.Equal(t, match.Operator, aborted.Why)
	require.Equal(t, "a fault of ours", aborted.Reason)
	require.Equal(t, []string{match.Operator}, f.ladder.voided)
	require.Empty(t, f.ladder.finished)
}

// playingInAnOutage returns a referee that has played a match for 10 s. Then an outage of
// the log has begun.
func playingInAnOutage(f *fixture) *Referee {
	slowly(f, 4*time.Second)
	r := f.referee("player")
	r.Play(f.seating())
	<-time.After(10 * time.Second)
	f.log.setFault(outage(1, false))
	return r
}

// requireVoided checks that the match was voided by an operator before it started.
func requireVoided(t *testing.T, f *fixture) {
	t.Helper()
	require.Empty(t, f.events())
	require.Equal(t, []string{match.Operator}, f.ladder.voided)
}

// The function correlations() returns the correlation ids of the stored events.
func correlations(t *testing.T, f *fixture) (all []string) {
	t.Helper()
	for r := range f.recorded() {
		var m eventstore.Metadata
		require.NoError(t, json.Unmarshal(r.Metadata, &m))
		all = append(all, m.Correlation)
	}
	return all
}

func TestAbortEndsOpenDecisionAtOnceWithoutStrike(t *testing.T) {
	withFixture(t, 4, func(f *fixture) {
		slowly(f, 4*time.Second)
		r := f.referee("player")
		r.Play(f.seating())
		<-time.After(30 * time.Second)
		ordered := time.Now()
		require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
		require.Less(t, time.Since(ordered), time.Second, "does not wait for the open decision")
		r.Wait()

		requireAborted(t, f)
		require.Empty(t, only[match.DecisionTimedOut](f.events()))
		for _, b := range f.bots {
			require.Equal(t, 1, b.lines[0].closed)
		}
		all := correlations(t, f)
		require.Equal(t, "request-1", all[len(all)-1], "the abort has the id of the request")
		require.Equal(t, testMatch, all[len(all)-2], "other events have the id of the match")
	})
}

// If a match is not being played, Abort resumes it and then aborts it. If it has not
// started, Abort voids it, and does not dial its bots.
func TestAbortOfMatchThatIsNotPlayed(t *testing.T) {
	for name, begun := range map[string]bool{"started before": true, "only seated": false} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				if begun {
					slowly(f, time.Second)
					r := f.referee("player")
					r.Play(f.seating())
					<-time.After(10 * time.Second)
					require.NoError(t, r.Stop(f.t.Context()))
					synctest.Wait() // a bot may just be reading its script
				}
				for _, b := range f.bots {
					b.script = func(call) bool { return true } // never answers
				}
				r := f.referee("player")
				require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
				r.Wait()
				if begun {
					requireAborted(t, f)
					return
				}
				requireVoided(t, f)
				for _, b := range f.bots {
					require.Zero(t, b.dials)
				}
			})
		})
	}
}

// If the order comes while the match waits for the directory or the gate, or while its bots
// are dialed, the match is voided before it starts.
func TestAbortBeforeTheStart(t *testing.T) {
	t.Run("a bot is not in the directory", func(t *testing.T) {
		withFixture(t, 3, func(f *fixture) {
			gated(f, nil).close() // the time limit of the wait does not pass
			f.bots[0].unknown.Store(true)
			r := f.referee("player")
			r.Play(f.seating())
			synctest.Wait()
			ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
			defer cancel()
			require.NoError(t, r.Abort(ctx, f.seating(), order))
			requireVoided(t, f)
		})
	})
	t.Run("the gate is closed", func(t *testing.T) {
		withFixture(t, 3, func(f *fixture) {
			g := gated(f, nil)
			g.close()
			r := f.referee("player")
			r.Play(f.seating())
			synctest.Wait()
			require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
			requireVoided(t, f)
			for _, b := range f.bots {
				require.Zero(t, b.dials)
			}
		})
	})
	t.Run("bots are dialed", func(t *testing.T) {
		withFixture(t, 3, func(f *fixture) {
			f.bots[0].refuse = func(ctx context.Context, _ int) error { return hangs(ctx) }
			r := f.referee("player")
			r.Play(f.seating())
			synctest.Wait()
			ordered := time.Now()
			require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
			require.Less(t, time.Since(ordered), time.Second, "does not wait for the bot that hangs")
			requireVoided(t, f)
			require.Equal(t, 1, f.bots[1].lines[0].closed)
		})
	})
}

func TestAbortOfMatchThatIsOver(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.run()
		r := f.referee("player")
		require.ErrorIs(t, r.Abort(f.t.Context(), f.seating(), order), ErrOver)
		r.Wait()
		require.Empty(t, only[match.Aborted](f.events()))
		require.Empty(t, f.ladder.voided)
	})
}

func TestFirstAbortOrderCounts(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		r := playingInAnOutage(f)
		first := make(chan error)
		go func() { first <- r.Abort(f.t.Context(), f.seating(), order) }()
		<-time.After(time.Second)
		require.NoError(t, r.Abort(f.t.Context(), f.seating(), Order{Reason: "another", Request: "request-2"}))
		require.NoError(t, <-first)
		r.Wait()
		requireAborted(t, f)
	})
}

// If the caller gives up during an outage of the log, the order remains in effect. This is
// so even if the log loses events, so that the referee has to read the match again, and if
// another process takes the match.
func TestAbortOutlivesItsCaller(t *testing.T) {
	for name, after := range map[string]func(f *fixture, r *Referee){
		"an outage":                       func(*fixture, *Referee) {},
		"an outage, and then lost events": func(_ *fixture, r *Referee) { r.Interrupt() },
		"an outage, and lost events that are noticed at once": func(f *fixture, r *Referee) {
			r.Interrupt()
			r.Play(f.seating()) // the task is still stopping
		},
		"an outage, and lost events that the append notices": func(f *fixture, _ *Referee) {
			f.log.setFault(func(attempted) (eventstore.Appended, error) {
				f.log.setFault(nil)
				return eventstore.Appended{}, eventstore.ErrEventsLost
			})
		},
		"an outage, while another process takes the match": func(f *fixture, _ *Referee) {
			f.log.setFault(nil)
			other := f.referee("other")
			other.Play(f.seating())
			synctest.Wait()
			require.NotEmpty(f.t, only[match.Claimed](f.events()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				r := playingInAnOutage(f)
				ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
				defer cancel()
				require.ErrorIs(t, r.Abort(ctx, f.seating(), order), context.DeadlineExceeded)
				after(f, r)
				r.Wait()
				f.playing.Load().Wait()
				requireAborted(t, f)
				require.Equal(t, 1, strings.Count(strings.Join(correlations(t, f), " "), order.Request))
			})
		})
	}
}

// An order may come while the task of its match is ending. It then goes to another task,
// which takes the match back if another process plays it.
func TestAbortWhileTheTaskEnds(t *testing.T) {
	t.Run("told to stop", func(t *testing.T) {
		withFixture(t, 3, func(f *fixture) {
			appending, wait := make(chan struct{}), make(chan struct{})
			f.log.setFault(func(a attempted) (eventstore.Appended, error) {
				f.log.setFault(nil)
				close(appending)
				<-wait
				return a.store()
			})
			r := f.referee("player")
			r.Play(f.seating())
			<-appending
			r.StopMatch(testMatch)
			aborted := make(chan error)
			go func() { aborted <- r.Abort(f.t.Context(), f.seating(), order) }()
			synctest.Wait()
			close(wait)
			require.NoError(t, <-aborted)
			requireAborted(t, f)
		})
	})
	t.Run("fenced", func(t *testing.T) {
		withFixture(t, 3, func(f *fixture) {
			f.bots[0].script = func(c call) bool { return c.kth == 1 } // the details have a timeout
			f.log.noDetails = func(context.Context) error { return eventstore.ErrUnavailable }
			r := f.referee("player")
			r.Play(f.seating())
			<-time.After(7 * time.Second)
			other := f.referee("other")
			other.Play(f.seating())
			for n := 0; r.Fenced() == 0; n++ {
				require.Less(t, n, 1000)
				<-time.After(think)
			}
			require.True(t, r.Playing(testMatch), "the details wait for the log")
			require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
			other.Wait()
			requireAborted(t, f)
		})
	})
	t.Run("failed", func(t *testing.T) {
		withFixture(t, 3, func(f *fixture) {
			f.bots[0].script = func(c call) bool { return c.nth == 2 } // the details have a timeout
			f.log.noDetails = func(context.Context) error { return eventstore.ErrUnavailable }
			f.ladder.fails = []error{errors.New("the disk is full")}
			r := f.referee("player")
			r.Play(f.seating())
			for n := 0; len(only[match.GameEnded](f.events())) == 0; n++ {
				require.Less(t, n, 10_000)
				<-time.After(time.Second)
			}
			synctest.Wait()
			require.True(t, r.Playing(testMatch), "the details wait for the log")
			require.ErrorIs(t, r.Abort(f.t.Context(), f.seating(), order), ErrOver, "not the task's own failure")
			require.Len(t, f.ladder.finished, 1)
		})
	})
}

// If the ladder cannot void a match that has not started, the referee forgets the order. If
// the match's stream has the abort, the next task voids the match.
func TestAbortFails(t *testing.T) {
	for name, begun := range map[string]bool{"after the start": true, "before the start": false} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				f.ladder.fails = []error{errors.New("the disk is full")}
				r := f.referee("player")
				if begun {
					slowly(f, 4*time.Second)
					r.Play(f.seating())
					<-time.After(10 * time.Second)
				}
				require.ErrorContains(t, r.Abort(f.t.Context(), f.seating(), order), "the disk is full")
				r.Play(f.seating())
				r.Wait()
				if begun {
					requireAborted(t, f)
					return
				}
				require.Empty(t, f.ladder.voided)
				require.Len(t, f.ladder.finished, 1)
			})
		})
	}
}

// After the log has lost the seating and the events of a match, the ladder does not know
// the match.
func TestAbortOfLostMatch(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.ladder.fails = []error{ladder.ErrUnknownMatch}
		r := f.referee("player")
		require.ErrorIs(t, r.Abort(f.t.Context(), f.seating(), order), ladder.ErrUnknownMatch)
		r.Wait()
		require.Empty(t, f.events())
	})
}

// After a loss, another table may get the id of a lost match. The task that follows a
// stopped one plays the newest table.
func TestPlayOfAnotherTableWhileTheTaskStops(t *testing.T) {
	withFixture(t, 4, func(f *fixture) {
		var published []int
		f.publish = func(ctx context.Context, s ladder.Seating) error {
			published = append(published, len(s.Bots))
			<-ctx.Done()
			return ctx.Err()
		}
		all := f.bots
		f.bots = all[:3]
		r := f.referee("player")
		r.Play(f.seating())
		synctest.Wait()
		f.bots = all
		r.Interrupt()
		r.Play(f.seating())
		synctest.Wait()
		require.NoError(t, r.Stop(f.t.Context()))
		require.Equal(t, []int{3, 4}, published)
	})
}

func TestAbortAfterStopFails(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		r := f.referee("player")
		require.NoError(t, r.Stop(f.t.Context()))
		require.ErrorIs(t, r.Abort(f.t.Context(), f.seating(), order), ErrNotPlaying)
		require.Empty(t, f.events())
	})
}

// If the referee stops while the order is waiting for the log, the match stays
// unfinished.
func TestStopBeforeAbortIsStored(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		r := playingInAnOutage(f)
		done := make(chan error)
		go func() { done <- r.Abort(context.Background(), f.seating(), order) }()
		<-time.After(time.Minute)
		require.NoError(t, r.Stop(f.t.Context()))
		require.ErrorIs(t, <-done, ErrNotPlaying)
		require.Empty(t, only[match.Aborted](f.events()))
		require.Empty(t, f.ladder.voided)
	})
}
