package referee

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// A late answer is stored, whether it arrives before the bot's next request, while that
// request is open, or after the seat has resigned. If the bot sends the answer again,
// it is not stored again.
func TestLateAnswersAreStored(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		bot := f.bots[0]
		answerTo := func(id, nth int) string { return fmt.Sprintf(`{"id":%d,"n":%d}`, id, nth) }
		bot.script = func(c call) bool {
			answer := answerTo(c.ID, c.nth)
			after := map[int]time.Duration{1: 5*time.Second + 1*time.Millisecond, 2: 9 * time.Second, 3: 6004 * time.Millisecond}[c.nth]
			c.answer(after, answer)
			c.answer(after+time.Millisecond, answer)
			return true
		}
		f.run()
		late := map[int]match.LateAnswer{}
		faults := map[int]match.Fault{}
		for _, e := range f.details() {
			switch e := e.(type) {
			case match.LateAnswerReceived:
				require.NotContains(t, late, e.Decision)
				late[e.Decision] = e.LateAnswer
				require.Equal(t, f.seatOf(bot), e.Seat)
			case match.TimeoutExplained:
				faults[e.Decision] = e.Fault
			}
		}
		ids := []int{}
		for _, e := range only[match.DecisionTimedOut](f.events()) {
			ids = append(ids, e.Decision)
		}
		require.Len(t, ids, 3)
		require.Equal(t, map[int]match.LateAnswer{ids[0]: {LateMs: 1, Answer: answerTo(ids[0], 1)}, ids[1]: {LateMs: 4000, Answer: answerTo(ids[1], 2)}, ids[2]: {LateMs: 1004, Answer: answerTo(ids[2], 3)}}, late)
		require.Len(t, faults, 3)
		require.Equal(t, "nothing came", faults[ids[0]].Message)
	})
}

// Details of the same moment are appended together.
func TestDetailsThatComeTogetherNeedOneAppend(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		appends := 0
		f.log.noDetails = func(context.Context) error { appends++; return nil }
		d := newDetails(f.t.Context(), &run{options: &Options{Log: f.log}, seating: f.seating()})
		d.add(match.TimeoutExplained{Decision: 1})
		synctest.Wait()
		d.add(match.LateAnswerReceived{Decision: 1})
		d.close()
		require.Len(t, f.details(), 2)
		require.Equal(t, 1, appends)
	})
}

// If the log does not store details for a while, the match neither slows down nor
// fails. Once the log works again, it stores the details.
func TestDetailsNeverDelayTheMatch(t *testing.T) {
	for name, fails := range map[string]func(ctx context.Context) error{
		"rejecting": func(context.Context) error { return eventstore.ErrStreamDeleted },
		"failing":   func(context.Context) error { return eventstore.ErrUnavailable },
		"hanging":   hangs,
	} {
		t.Run(name, func(t *testing.T) {
			events := func(noDetails func(context.Context) error) (all []match.Event, took time.Duration, kept []match.Event) {
				withFixture(t, 3, func(f *fixture) {
					f.log.noDetails = noDetails
					f.bots[0].script = func(c call) bool { c.answer(think, "{"); return true }
					began := time.Now()
					f.run()
					all, kept = f.events(), f.details()
					for r := range f.recorded() {
						m, err := eventstore.DecodeMetadata(r)
						require.NoError(t, err)
						took = m.At.Sub(began)
					}
				})
				return all, took, kept
			}
			all, took, kept := events(nil)
			require.Len(t, kept, match.MaxStrikes)
			without, same, none := events(fails)
			require.Equal(t, all, without)
			require.Equal(t, took, same)
			require.Empty(t, none)
		})
	}
	t.Run("recovering", func(t *testing.T) {
		withFixture(t, 3, func(f *fixture) {
			left := 6
			f.log.noDetails = func(context.Context) error {
				if left--; left > 0 {
					return eventstore.ErrUnavailable
				}
				return nil
			}
			f.bots[0].script = func(c call) bool { c.answer(think, "{"); return true }
			f.run()
			require.Len(t, only[match.TimeoutExplained](f.details()), match.MaxStrikes)
		})
	})
}
