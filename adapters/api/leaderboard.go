package api

import (
	"cmp"
	"net/http"
	"regexp"
	"time"

	"hexarena/domain/ladder"
	"hexarena/projections/leaderboard"
)

// Leaderboard is the projection of the rankings, and of what they came from.
type Leaderboard interface {
	Rows(mode string) ([]leaderboard.Row, error)
	// Version grows whenever Rows changes.
	Version() (uint64, error)
	// RowsAt is the ranking as it was at a time; in the future it is today's.
	RowsAt(mode string, at time.Time) ([]leaderboard.Row, error)
	// History is that of a bot, removed ones included; ok is false for one that
	// has never begun a match.
	History(botID string) (h BotHistory, ok bool, err error)
}

type leaderboardQuery struct {
	Mode string `query:"mode" enum:"standard,parley" doc:"standard by default."`
	At   string `query:"at" minLength:"1" format:"date-time" doc:"A time (RFC 3339): the ranking as it was then, with today's names. One to come is now."`
}

type leaderboardOutput struct {
	maybePrepared
	Body leaderboardBody
}

func (s *Server) registerLeaderboard() {
	register(s, endpoint[leaderboardQuery, leaderboardOutput]{
		id: "get-leaderboard", method: http.MethodGet, path: "/leaderboard", tag: "leaderboard", summary: "The ranking of a mode",
		tagged: true, run: s.getLeaderboard,
	})
}

// written is how RFC 3339 writes a time; time.Parse takes others too.
var written = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func (s *Server) getLeaderboard(c *call, in *leaderboardQuery) (*leaderboardOutput, error) {
	out := new(leaderboardOutput)
	out.Body.Mode = cmp.Or(in.Mode, ladder.Standard)
	if in.At == "" {
		r, err := s.rankings.of(c.ctx, out.Body.Mode, s.Leaderboard)
		out.as = r
		return out, err
	}
	at, err := time.Parse(time.RFC3339, in.At)
	if err != nil || !written.MatchString(in.At) {
		return nil, invalidQuery("at", "must be a time as RFC 3339 writes it, such as "+formatTime(exampleTime))
	}
	out.Body.Rows, err = s.Leaderboard.RowsAt(out.Body.Mode, at)
	return out, err
}
