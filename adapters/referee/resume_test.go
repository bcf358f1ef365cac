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

// history returns a match's events without the claims and the times, because a restart
// may change these.
func (f *fixture) history() (lines []string) {
	f.t.Helper()
	for _, e := range f.events() {
		if _, claimed := e.(match.Claimed); claimed {
			continue
		}
		data, err := json.Marshal(e)
		require.NoError(f.t, err)
		fields := map[string]any{}
		require.NoError(f.t, json.Unmarshal(data, &fields))
		if _, timed := fields["elapsedMs"]; timed && fields["elapsedMs"] != nil {
			fields["elapsedMs"] = "…"
		}
		line, err := json.Marshal(fields)
		require.NoError(f.t, err)
		lines = append(lines, e.EventType()+" "+string(line))
	}
	return lines
}

// requireSame fails the test if two histories differ, and shows the first line
// that differs.
func requireSame(t *testing.T, want, got []string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "event %d", i)
	}
	require.Len(t, got, len(want))
}

// The function uninterrupted() plays the match without any faults, and returns its
// history and its clocks.
func uninterrupted(t *testing.T, seats int) (history []string, clocks match.Clocks) {
	t.Helper()
	withFixture(t, seats, func(f *fixture) {
		f.run()
		history, clocks = f.history(), f.clocks()
	})
	return history, clocks
}

// untilOver keeps resuming the match until the ladder has its result.
func (f *fixture) untilOver() {
	f.t.Helper()
	for n := 0; len(f.ladder.finished) == 0; n++ {
		require.Less(f.t, n, 100_000, "the match never ends")
		f.play()
	}
}

// The test stops the referee at each append of a match, except for claims. It does so
// before the append, after the append, and after the append but with a lost
// acknowledgement.
func TestResumeAtEveryAppend(t *testing.T) {
	want, clocks := uninterrupted(t, 4)
	withFixture(t, 4, func(f *fixture) {
		tried := 0
		f.log.fault = func(a attempted) (eventstore.Appended, error) {
			if tried++; a.has(match.Claimed{}) || raceDetector && tried%10 > 3 {
				return a.store()
			}
			f.abandon()
			if tried%3 == 0 {
				return a.store()
			}
			return a.lost(tried%3 == 1)
		}
		f.untilOver()
		requireSame(t, want, f.history())
		require.Equal(t, clocks, f.clocks())
		require.Len(t, f.ladder.finished, 1)
		require.Greater(t, len(only[match.Claimed](f.events())), 100)
	})
}

// Random faults interrupt the matches: the referee stops while a decision is open,
// answers get lost, the log is unavailable, or acknowledgements get lost.
func TestResumeAnywhere(t *testing.T) {
	want, clocks := uninterrupted(t, 3)
	seeds := uint64(5)
	if raceDetector {
		seeds = 1
	}
	for n := range seeds {
		t.Run(fmt.Sprint("seed ", n), func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				rng := rand.New(rand.NewPCG(n, 7))
				f.log.fault = func(a attempted) (eventstore.Appended, error) {
					return randomFault(f, rng.IntN(40), a)
				}
				for _, b := range f.bots {
					b.script = func(c call) bool {
						if rand.New(rand.NewPCG(n, uint64(c.ID))).IntN(9) > 0 || b.askedBefore(c.ID) {
							return false
						}
						f.abandon()        // while the decision is open
						return c.ID%2 == 0 // the bot's answer is lost or has not been read yet
					}
				}
				f.untilOver()
				requireSame(t, want, f.history())
				require.Equal(t, clocks, f.clocks())
				require.Equal(t, []int{0, 0, 0}, f.strikes())
			})
		})
	}
}

func randomFault(f *fixture, which int, a attempted) (eventstore.Appended, error) {
	switch which {
	case 0, 1:
		return a.lost(false)
	case 2, 3:
		return a.lost(true)
	case 4:
		f.abandon()
		return a.store()
	case 5:
		f.abandon()
		return a.lost(false)
	default:
		return a.store()
	}
}

// askedBefore reports whether the bot has already received a request for a decision.
func (b *fakeBot) askedBefore(id int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests[:len(b.requests)-1] {
		if r.ID == id {
			return true
		}
	}
	return false
}

// If the referee stops, no seat gets a strike. The next referee sends the open decision
// again, with the same id and the full time.
func TestStopLeavesDecisionOpen(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		bot := f.bots[0]
		asked := make(chan struct{})
		bot.script = func(c call) bool {
			if c.nth == 3 {
				close(asked)
			}
			return c.nth == 3
		}
		r := f.referee("one")
		r.Play(f.seating())
		<-asked
		require.Equal(t, 1, r.Running())
		require.NoError(t, r.Stop(context.Background()))
		require.Zero(t, r.Running())
		for _, b := range f.bots {
			require.Equal(t, 1, b.lines[0].closed)
		}
		stored := len(f.events())
		r.Play(f.seating()) // has no effect after Stop
		require.Zero(t, r.Running())

		bot.refuse = func(context.Context, int) error { // the bot is slow to accept the new line
			<-time.After(2 * time.Second)
			return nil
		}
		f.run()
		require.Equal(t, match.Claimed{Player: "player"}, f.events()[stored])
		require.Equal(t, bot.requests[2], bot.requests[3])
		require.Equal(t, int64(5000), bot.requests[3].DeadlineMs)
		require.Equal(t, []int{0, 0, 0}, f.strikes())
	})
}

func TestStopEndsWithItsContextWhileTheLogHangs(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.log.fault = func(a attempted) (eventstore.Appended, error) {
			if a.nth == 5 {
				<-time.After(time.Minute)
			}
			return a.store()
		}
		r := f.referee("player")
		r.Play(f.seating())
		<-time.After(10 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Stop(ctx), context.DeadlineExceeded)
		r.Wait()
	})
}

func TestClaimIsStoredBeforeDialing(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.stopAfter(match.BoardLaid{})
		f.play()
		f.log.fault = nil
		for _, b := range f.bots {
			b.refuse = func(context.Context, int) error {
				require.Contains(t, f.events(), match.Claimed{Player: "player"})
				return nil
			}
		}
		f.run()
	})
}

// If another referee takes over a match, the first referee stops playing it without
// affecting it.
func TestSecondRefereeTakesMatchOver(t *testing.T) {
	want, _ := uninterrupted(t, 3)
	for _, after := range []time.Duration{0, time.Millisecond, 150 * time.Millisecond, 3 * time.Second, 12 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				one, two := f.referee("one"), f.referee("two")
				one.Play(f.seating())
				<-time.After(after)
				two.Play(f.seating())
				two.Play(f.seating()) // has no effect
				one.Wait()
				two.Wait()
				requireSame(t, want, f.history())
				require.Len(t, f.ladder.finished, 1)
				require.Equal(t, []int{0, 0, 0}, f.strikes())
			})
		})
	}
}

// If the match has ended but the ladder does not have the result yet, the next call to
// Play stores the result. Later calls do nothing.
func TestLadderIsWrittenLater(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.ladder.fails = []error{errors.New("cannot fold")}
		f.play()
		require.Empty(t, f.ladder.finished)
		history, stored := f.history(), len(f.events())
		f.play()
		require.Len(t, f.ladder.finished, 1)
		f.play()
		require.Len(t, f.ladder.finished, 1)
		requireSame(t, history, f.history())
		require.Len(t, f.events(), stored, "an ended match is not claimed")

		end := f.events()[stored-1].(match.GameEnded)
		for _, r := range f.ladder.finished[0] {
			require.Equal(t, ladder.Result{BotID: r.BotID, Placement: end.Placements[f.seatOf(f.bot(r.BotID))]}, r)
		}
	})
}

// If a read of the stream fails partway, the match does not resume from an incomplete
// history.
func TestFailedReadIsRetried(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.stopAfter(match.DiceRolled{})
		f.play()
		f.log.fault = nil
		faulty := logtest.NewFaulty(f.log.Log)
		for nth := range 5 {
			faulty.FailRead(nth+1, 3*nth)
		}
		f.log.Log = faulty
		f.run()
		require.Equal(t, []int{0, 0, 0}, f.strikes())
	})
}

func TestMatchWithUnreadableStreamIsNotPlayed(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		strange, err := eventstore.Encode(strangeEvent{}, eventstore.Metadata{})
		require.NoError(t, err)
		_, err = f.log.Log.Append(context.Background(), "match-"+testMatch, eventstore.NoStream, strange)
		require.NoError(t, err)
		f.play()
		require.Empty(t, f.log.batches)
		require.Zero(t, f.bots[0].dials)
	})
}

type strangeEvent struct{}

func (strangeEvent) EventType() string { return "MatchPostponed" }
