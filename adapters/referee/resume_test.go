package referee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
)

// history is a match's stream without what a restart may change: the times,
// and who claimed it.
func (w *world) history() (lines []string) {
	w.t.Helper()
	for _, e := range w.events() {
		if _, claimed := e.(match.Claimed); claimed {
			continue
		}
		data, err := json.Marshal(e)
		require.NoError(w.t, err)
		fields := map[string]any{}
		require.NoError(w.t, json.Unmarshal(data, &fields))
		if _, timed := fields["elapsedMs"]; timed && fields["elapsedMs"] != nil {
			fields["elapsedMs"] = "…"
		}
		line, err := json.Marshal(fields)
		require.NoError(w.t, err)
		lines = append(lines, e.EventType()+" "+string(line))
	}
	return lines
}

// requireSame names the first line at which two histories part.
func requireSame(t *testing.T, want, got []string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "event %d", i)
	}
	require.Len(t, got, len(want))
}

// uninterrupted is the history of a match that nothing disturbs.
func uninterrupted(t *testing.T, seats int) (history []string) {
	t.Helper()
	inWorld(t, seats, func(w *world) {
		w.run()
		history = w.history()
	})
	return history
}

// untilOver plays the match, again and again, until the ladder has it.
func (w *world) untilOver() {
	w.t.Helper()
	for n := 0; len(w.ladder.finished) == 0; n++ {
		require.Less(w.t, n, 100_000, "the match never ends")
		w.play()
	}
}

// TestResumeAtEveryAppend stops the referee at each append of a match, those
// of claims aside: before it, after it, and after it with the answer lost.
func TestResumeAtEveryAppend(t *testing.T) {
	want := uninterrupted(t, 4)
	inWorld(t, 4, func(w *world) {
		tried := 0
		w.log.fault = func(a attempted) (eventstore.Appended, error) {
			if tried++; a.has(match.Claimed{}) || raceDetector && tried%10 > 3 {
				return a.store()
			}
			w.abandon()
			if tried%3 == 0 {
				return a.store()
			}
			return a.lost(tried%3 == 1)
		}
		w.untilOver()
		requireSame(t, want, w.history())
		require.Len(t, w.ladder.finished, 1)
		require.Greater(t, len(only[match.Claimed](w.events())), 100)
	})
}

// TestResumeAnywhere disturbs matches by chance: stops with a decision open,
// answers lost, the log away, acknowledgements lost.
func TestResumeAnywhere(t *testing.T) {
	want := uninterrupted(t, 3)
	seeds := uint64(5)
	if raceDetector {
		seeds = 1
	}
	for n := range seeds {
		t.Run(fmt.Sprint("seed ", n), func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				rng := rand.New(rand.NewPCG(n, 7))
				w.log.fault = func(a attempted) (eventstore.Appended, error) {
					return mishap(w, rng.IntN(40), a)
				}
				for _, b := range w.bots {
					b.script = func(c call) bool {
						if rand.New(rand.NewPCG(n, uint64(c.ID))).IntN(9) > 0 || b.before(c.ID) {
							return false
						}
						w.abandon()        // with the decision open
						return c.ID%2 == 0 // and the answer lost, or on its way
					}
				}
				w.untilOver()
				requireSame(t, want, w.history())
				require.Equal(t, []int{0, 0, 0}, w.strikes())
			})
		})
	}
}

func mishap(w *world, which int, a attempted) (eventstore.Appended, error) {
	switch which {
	case 0, 1:
		return a.lost(false)
	case 2, 3:
		return a.lost(true)
	case 4:
		w.abandon()
		return a.store()
	case 5:
		w.abandon()
		return a.lost(false)
	default:
		return a.store()
	}
}

// before says whether the bot was asked a decision before.
func (b *fakeBot) before(id int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests[:len(b.requests)-1] {
		if r.ID == id {
			return true
		}
	}
	return false
}

// TestStopLeavesTheDecisionOpen: no strike comes of our stop, and the decision
// is asked again, with its id and all of its time.
func TestStopLeavesTheDecisionOpen(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		bot := w.bots[0]
		asked := make(chan struct{})
		bot.script = func(c call) bool {
			if c.nth == 3 {
				close(asked)
			}
			return c.nth == 3
		}
		r := w.referee("one")
		r.Play(w.seating())
		<-asked
		require.Equal(t, 1, r.Running())
		require.NoError(t, r.Stop(context.Background()))
		require.Zero(t, r.Running())
		for _, b := range w.bots {
			require.Equal(t, 1, b.lines[0].closed)
		}
		stored := len(w.events())
		r.Play(w.seating()) // stopped for good
		require.Zero(t, r.Running())

		bot.refuse = func(context.Context, int) error { // the bot takes its time to come back
			<-time.After(2 * time.Second)
			return nil
		}
		w.run()
		require.Equal(t, match.Claimed{Player: "player"}, w.events()[stored])
		require.Equal(t, bot.requests[2], bot.requests[3])
		require.Equal(t, int64(5000), bot.requests[3].DeadlineMs)
		require.Equal(t, []int{0, 0, 0}, w.strikes())
	})
}

// TestStopIsBounded by its context, also while the log hangs.
func TestStopIsBounded(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.log.fault = func(a attempted) (eventstore.Appended, error) {
			if a.nth == 5 {
				<-time.After(time.Minute)
			}
			return a.store()
		}
		r := w.referee("player")
		r.Play(w.seating())
		<-time.After(10 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Stop(ctx), context.DeadlineExceeded)
		r.Wait()
	})
}

// TestClaimedBeforeDialled: a referee that takes a match over has stored its
// claim before it opens a socket.
func TestClaimedBeforeDialled(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.stopAfter(match.BoardLaid{})
		w.play()
		w.log.fault = nil
		for _, b := range w.bots {
			b.refuse = func(context.Context, int) error {
				require.Contains(t, w.events(), match.Claimed{Player: "player"})
				return nil
			}
		}
		w.run()
	})
}

// TestTwoReferees: the one that is replaced stops quietly, whenever it is.
func TestTwoReferees(t *testing.T) {
	want := uninterrupted(t, 3)
	for _, after := range []time.Duration{0, time.Millisecond, 150 * time.Millisecond, 3 * time.Second, 12 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				one, two := w.referee("one"), w.referee("two")
				one.Play(w.seating())
				<-time.After(after)
				two.Play(w.seating())
				two.Play(w.seating()) // is no third
				one.Wait()
				two.Wait()
				requireSame(t, want, w.history())
				require.Len(t, w.ladder.finished, 1)
				require.Equal(t, []int{0, 0, 0}, w.strikes())
			})
		})
	}
}

// TestLadderIsToldLater: what the log has and the ladder not is mended by
// playing again; what both have is left alone.
func TestLadderIsToldLater(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.ladder.fails = []error{errors.New("cannot fold")}
		w.play()
		require.Empty(t, w.ladder.finished)
		history, stored := w.history(), len(w.events())
		w.play()
		require.Len(t, w.ladder.finished, 1)
		w.play()
		require.Len(t, w.ladder.finished, 1)
		requireSame(t, history, w.history())
		require.Len(t, w.events(), stored, "an ended match is not claimed")

		end := w.events()[stored-1].(match.GameEnded)
		for _, r := range w.ladder.finished[0] {
			require.Equal(t, ladder.Result{BotID: r.BotID, Placement: end.Placements[w.seatOf(w.bot(r.BotID))]}, r)
		}
	})
}

// TestReadFails part way: the match is not played on from a short history.
func TestReadFails(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.stopAfter(match.DiceRolled{})
		w.play()
		w.log.fault = nil
		faulty := logtest.NewFaulty(w.log.Log)
		for nth := range 5 {
			faulty.FailRead(nth+1, 3*nth)
		}
		w.log.Log = faulty
		w.run()
		require.Equal(t, []int{0, 0, 0}, w.strikes())
	})
}

// TestUnreadableStream is left alone.
func TestUnreadableStream(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		strange, err := eventstore.Encode(strangeEvent{}, eventstore.Metadata{})
		require.NoError(t, err)
		_, err = w.log.Log.Append(context.Background(), "match-"+testMatch, eventstore.NoStream, strange)
		require.NoError(t, err)
		w.play()
		require.Empty(t, w.log.batches)
		require.Zero(t, w.bots[0].dials)
	})
}

type strangeEvent struct{}

func (strangeEvent) EventType() string { return "MatchPostponed" }
