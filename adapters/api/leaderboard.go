package api

import (
	"cmp"
	"regexp"
	"time"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/ladder"
	"hexarena/projections/leaderboard"
)

// Leaderboard is the projection of the rankings and of the matches from which they are
// computed.
type Leaderboard interface {
	Rows(mode string) ([]leaderboard.Row, error)
	// Version grows whenever Rows changes.
	Version() (uint64, error)
	// RowsAt returns the ranking at a given time. For a future time, it returns
	// the current ranking.
	RowsAt(mode string, at time.Time) ([]leaderboard.Row, error)
	// Games returns the number of completed matches of a bot.
	Games(botID string) int
	// BySeat counts a bot's placements in completed matches by seat, and ByVersion by the
	// version of the bot's program.
	BySeat(botID string) ([]leaderboard.SeatTally, error)
	ByVersion(botID string) ([]leaderboard.VersionTally, error)
	ByOpening(botID string) ([]leaderboard.OpeningTally, error)
	ByLength(botID string) ([]leaderboard.LengthTally, error)
	// Results counts a mode's placements by seat, in completed matches with a number of
	// players. Openings counts them by the pips of the opening, and Lengths counts the
	// matches by the number of turns.
	Results(mode string, players int) []leaderboard.SeatTally
	Openings(mode string, players int) []leaderboard.OpeningTally
	Lengths(mode string, players int) []leaderboard.LengthTally
	// History returns the history of a bot, even if the bot was removed. ok is
	// false if the bot has never begun a match.
	History(botID string) (h BotHistory, ok bool, err error)
}

type leaderboardQuery struct {
	Mode string `query:"mode" enum:"standard,parley" doc:"Default: standard."`
	At   string `query:"at" minLength:"1" format:"date-time" doc:"Return the ranking at this time (RFC 3339), with the bots' current names. A future time means now."`
}

// A past ranking is not cached. It counts as one additional call for every
// pastRowsPerCall rows of the current ranking.
const pastRowsPerCall = 500

// rfc3339 matches a time in the format of RFC 3339. time.Parse also accepts
// other formats.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func (s *Server) getLeaderboard(c *call, in *leaderboardQuery) (out maybeEncoded[rest.Leaderboard], err error) {
	mode := cmp.Or(in.Mode, ladder.Standard)
	current, err := s.rankings.get(c.ctx, mode, s.Leaderboard)
	if in.At == "" || err != nil {
		out.encoded = current
		return out, err
	}
	at, err := time.Parse(time.RFC3339, in.At)
	if err != nil || !rfc3339.MatchString(in.At) {
		return out, problem.InvalidQuery("at", "must be a time in RFC 3339 format, such as 2026-09-06T12:00:00.000Z")
	}
	if err := c.heavy(current.rows / pastRowsPerCall); err != nil {
		return out, err
	}
	rows, err := s.Leaderboard.RowsAt(mode, at)
	if err != nil {
		return out, err
	}
	encoded, err := encodeJSON(rest.Leaderboard{Mode: mode, Rows: rows})
	out.encoded = encodedJSON(encoded)
	return out, err
}
