package matchmaker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
)

// pauser is a fake Pauser that adds its calls to the arena's list of calls.
type pauser struct {
	a   *arena
	err error
}

func (p pauser) PauseForMisses(_ context.Context, botID string, _ time.Time) error {
	p.a.called("pause %s", botID)
	return p.err
}

// missedOnce makes the first of three bots miss a match, and waits for a week.
func missedOnce(t *testing.T, a *arena) {
	l := a.options.Ladders[0]
	_, err := l.Seat(t.Context(), numbered(3), time.Now(), 0, unchecked)
	require.NoError(t, err)
	open, err := l.Unfinished(t.Context())
	require.NoError(t, err)
	results := inOrder(open[0])
	for i := range results {
		results[i].Missed = results[i].BotID == "bot-0000"
	}
	require.NoError(t, l.Finish(t.Context(), open[0].MatchID, results))
	<-time.After(7 * 24 * time.Hour)
}

// A bot that must be paused is not seated in that tick, even if the pause
// fails.
func TestAbsenteesArePausedBeforeSeating(t *testing.T) {
	for name, err := range map[string]error{"paused": nil, "not paused": errors.New("the log is unavailable")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := given(4, ladder.Standard)
				missedOnce(t, a)
				a.options.Pauser = pauser{a, err}
				a.run(t)
				defer func() { a.stop() }()
				require.Equal(t, []string{"catch up", "candidates of standard", "pause bot-0000", "catch up", "play 2.0"}, a.take())
				seated := storedIn(t, a.log, ladder.Standard)[2].(ladder.TablesSeated)
				require.NotContains(t, seated.Tables[0].Bots, "bot-0000")
				if err != nil {
					require.Contains(t, a.lines.String(), "could not pause a bot")
				}
			})
		})
	}
}

func TestWithoutPauserAbsenteesAreSeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		missedOnce(t, a)
		a.run(t)
		defer func() { a.stop() }()
		require.Contains(t, a.take(), "play 2.0")
	})
}

func TestNoBotIsSeatedWhileMissesAreUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		missedOnce(t, a)
		a.options.Pauser = pauser{a, nil}
		reads := 0
		a.catchUp = func(context.Context) error {
			if reads++; reads == 1 {
				a.log.fail(nil, []fault{hangs, hangs, hangs})
			}
			return nil
		}
		a.run(t)
		defer func() { a.stop() }()
		later(tickTime)
		require.Contains(t, a.lines.String(), "could not read which bots missed their matches")
		require.Len(t, storedIn(t, a.log, ladder.Standard), 2)
	})
}
