package referee

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
)

// faultyDial is the error of a failed dial with a known fault.
type faultyDial struct{ fault match.Fault }

func (f faultyDial) Error() string      { return f.fault.Message }
func (f faultyDial) Fault() match.Fault { return f.fault }

var (
	refusedFault = match.Fault{Code: match.CodeStatus, Message: "status 401 instead of 101"}
	hangingFault = match.Fault{Code: match.CodeUnreachable, Message: "no connection could be made"}
	errRefused   = faultyDial{refusedFault}
)

type notAllowedError struct{}

func (notAllowedError) Error() string    { return "the address is not allowed" }
func (notAllowedError) NotAllowed() bool { return true }

// The function hangs() simulates a dial that lasts until its context ends.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return faultyDial{hangingFault}
}

// A bot's line drops after its first answer, while no decision is open. For the next
// decision, the referee dials again. The cases differ in how these dials end.
func TestLineIsDownAtDecision(t *testing.T) {
	tests := []struct {
		name     string
		refuse   func(ctx context.Context, nth int) error
		cause    string // cause of the second decision's timeout; "" if the bot answers
		took     int64
		dials    int
		deadline int64 // deadline in the second request, in milliseconds; 0 if the request is never sent
		fault    *match.Fault
	}{
		{"up again", func(context.Context, int) error { return nil }, "", 0, 2, 5000, nil},
		{"up at the third dial", func(_ context.Context, nth int) error {
			if nth < 4 {
				return errRefused
			}
			return nil
		}, "", 0, 4, 4500, nil},
		{"down permanently", func(context.Context, int) error { return errRefused }, match.CauseDropped, 5000, 21, 0, &refusedFault},
		{"refusing, then hanging", func(ctx context.Context, nth int) error {
			if nth < 4 {
				return errRefused
			}
			return hangs(ctx)
		}, match.CauseDropped, 5000, 4, 0, &refusedFault},
		{"hanging", func(ctx context.Context, _ int) error { return hangs(ctx) }, match.CauseDropped, 5000, 2, 0, &hangingFault},
		{"not allowed", func(context.Context, int) error { return notAllowedError{} }, match.CauseDropped, 0, 2, 0, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				bot := f.bots[0]
				if test.cause != "" {
					f.stopAfter(match.DecisionTimedOut{})
				}
				bot.refuse = func(ctx context.Context, nth int) error {
					if nth == 1 {
						return nil
					}
					return test.refuse(ctx, nth)
				}
				bot.script = func(c call) bool {
					if c.nth == 1 {
						c.line.sends(think+time.Millisecond, "", match.CauseDropped)
					}
					return false
				}
				f.play()
				missed := only[match.DecisionTimedOut](f.events())
				require.Equal(t, test.dials, bot.dials)
				if test.cause == "" {
					require.Empty(t, missed)
					require.Equal(t, test.deadline, bot.requests[1].DeadlineMs)
					return
				}
				require.Len(t, missed, 1)
				require.Equal(t, test.cause, missed[0].Cause)
				require.Equal(t, test.took, missed[0].ElapsedMs)
				require.Len(t, bot.requests, 1)
				var faults []match.Event
				if test.fault != nil {
					faults = []match.Event{match.TimeoutExplained{Seat: missed[0].Seat, Decision: missed[0].Decision, Fault: *test.fault}}
				}
				require.Equal(t, faults, f.details())
			})
		})
	}
}

// If a line drops while a decision is open, the seat gets a strike. The referee does
// not dial again for that decision.
func TestNoRedialWithinDecision(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		bot := f.bots[1]
		bot.greet = func(l *fakeLine) {
			if bot.dials == 2 { // this line drops before its dial has returned
				l.fault = &match.Fault{Code: match.CodeReset, Message: "the bot reset the connection"}
				l.deliver("", match.CauseDropped)
			}
		}
		bot.script = func(c call) bool {
			if c.Kind == "setup" && c.kth == 2 {
				c.line.sends(think+time.Millisecond, "", match.CauseDropped)
			}
			return false
		}
		missed := only[match.DecisionTimedOut](f.run())
		require.Len(t, missed, 1)
		require.Equal(t, match.CauseDropped, missed[0].Cause)
		require.Zero(t, missed[0].ElapsedMs)
		require.Equal(t, 3, bot.dials)
		require.Equal(t, []match.Event{match.TimeoutExplained{
			Seat: missed[0].Seat, Decision: missed[0].Decision, Fault: match.Fault{Code: match.CodeReset, Message: "the bot reset the connection"},
		}}, f.details())
	})
}

func TestFailedSendCostsAStrike(t *testing.T) {
	tests := []struct {
		name    string
		sending func(ctx context.Context) error
		took    int64
	}{
		{"at once", func(context.Context) error { return errors.New("the line is closed") }, 0},
		{"bot does not read", hangs, 5000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				bot := f.bots[1]
				bot.greet = func(l *fakeLine) {
					if bot.dials == 1 {
						l.sending = test.sending
					}
				}
				missed := only[match.DecisionTimedOut](f.run())
				require.Len(t, missed, 1)
				require.Equal(t, match.CauseDropped, missed[0].Cause)
				require.Equal(t, test.took, missed[0].ElapsedMs)
				require.Equal(t, 2, bot.dials)
			})
		})
	}
}

func TestEveryLineIsClosedAfterTheMatch(t *testing.T) {
	withFixture(t, 4, func(f *fixture) {
		f.bots[0].script = func(c call) bool {
			if c.nth == 2 {
				c.line.sends(time.Millisecond, "", match.CauseDropped)
			}
			return c.nth == 2
		}
		f.run()
		for _, b := range f.bots {
			last := b.lines[len(b.lines)-1]
			require.Equal(t, 1, last.closed)
		}
	})
}
