package api_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/health"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
	ownerevents "hexarena/projections/health"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

// The type stopped is a leaderboard that has stopped because it could not fold an
// event.
type stopped struct{ api.Leaderboard }

var errStopped = fmt.Errorf("projection matches at match-1@0: %w", projections.ErrStopped)

func (stopped) Get(string) (matches.Summary, bool, error) {
	return matches.Summary{}, false, errStopped
}

func (stopped) Voided(string) (mode, reason string, found bool, err error) {
	return "", "", false, errStopped
}

func (stopped) List(matches.Query) ([]matches.Summary, string, bool, error) {
	return nil, "", false, errStopped
}

func (stopped) From(string, string, int) ([]matches.Summary, bool, error) {
	return nil, false, errStopped
}

func (stopped) BySeat(string) ([]leaderboard.SeatTally, error) { return nil, errStopped }

func (stopped) ByVersion(string) ([]leaderboard.VersionTally, error) { return nil, errStopped }

func (stopped) Results(string, int) []leaderboard.SeatTally { return nil }

func (stopped) ByOpening(string) ([]leaderboard.OpeningTally, error) { return nil, errStopped }

func (stopped) ByLength(string) ([]leaderboard.LengthTally, error) { return nil, errStopped }

func (stopped) Openings(string, int) []leaderboard.OpeningTally { return nil }

func (stopped) Lengths(string, int) []leaderboard.LengthTally { return nil }

func (stopped) Waiting(context.Context, string) (int, error) { return 0, errStopped }

func (stopped) Places(context.Context, string, []ladder.Candidate) ([]api.Place, error) {
	return nil, errStopped
}

func (stopped) Of(string) (health.Bot, error) { return health.Bot{}, errStopped }

func (stopped) After(string, ownerevents.ID) (int64, error) { return 0, errStopped }

func (stopped) Newest(string) (ownerevents.ID, int64, error) { return ownerevents.ID{}, 0, errStopped }

func (stopped) Events(string, int64, int) ([]ownerevents.Event, error) { return nil, errStopped }

func (stopped) Wait(context.Context, eventstore.Position) error { return errStopped }

func (stopped) Changed() <-chan struct{} { return nil }

func (stopped) NextTick(time.Time) time.Time { return time.Time{} }

func (stopped) Rows(string) ([]leaderboard.Row, error) { return nil, errStopped }

func (stopped) Version() (uint64, error) { return 0, errStopped }

func (stopped) Games(string) int                                    { return 0 }
func (stopped) RowsAt(string, time.Time) ([]leaderboard.Row, error) { return nil, errStopped }

func (stopped) History(string) (api.BotHistory, bool, error) {
	return api.BotHistory{}, false, errStopped
}

// Endpoints that read a stopped read model respond with 503. The contract test compares
// these responses with the OpenAPI document.
func TestStoppedReadModelsAnswer503(t *testing.T) {
	a := newArena(t, func(o *api.Options) {
		o.Matches, o.Leaderboard, o.Queue, o.Health, o.Events = stopped{}, stopped{}, stopped{}, stopped{}, stopped{}
	})
	for _, path := range []string{
		"/matches", "/matches/m", "/matches/m/frames", "/matches/m/statistics", "/matches/m/win-probability", "/live/m", "/live/m/stream",
		"/leaderboard", "/leaderboard?at=2026-09-06T12:00:00Z", "/bots/b/history", "/bots/b/statistics", "/ladder/standard/statistics", "/queue",
	} {
		a.anyone().do(http.MethodGet, path, nil).is(http.StatusServiceUnavailable, "out_of_date")
	}
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("Lovelace", "standard")
	ada.do(http.MethodGet, "/bots/"+bot+"/matches/m/decisions", nil).is(http.StatusServiceUnavailable, "out_of_date")
	ada.do(http.MethodGet, "/bots/"+bot+"/decisions", nil).is(http.StatusServiceUnavailable, "out_of_date")
	ada.do(http.MethodGet, "/me/events", nil).is(http.StatusServiceUnavailable, "out_of_date")
	ada.do(http.MethodGet, "/me/events", nil, lastEventID("1.1")).is(http.StatusServiceUnavailable, "out_of_date")
	ada.do(http.MethodGet, "/bots", nil).is(http.StatusOK)
	shown := ada.do(http.MethodGet, "/bots/"+bot, nil).is(http.StatusOK).json
	require.Equal(t, []any{nil, nil}, []any{shown["health"], shown["seating"]}, "owners can still manage their bots")
}
