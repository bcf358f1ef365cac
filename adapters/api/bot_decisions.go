package api

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// A response with a bot's decisions has at most maxDecisions lines, from at most
// decisionMatches matches. Each match after the first counts as one additional call,
// because reading it takes as long as a call for the decisions of one match.
const (
	maxDecisions    = 1000
	decisionMatches = 10
)

type botDecisionsQuery struct {
	botPath
	Since string `query:"since" minLength:"1" doc:"The cursor of a decision. The log continues after this decision."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"The maximum number of decisions. Default: 1000."`
}

// find returns an error if the caller does not own the bot. It also accepts a bot that
// the caller has removed, if the bot has played a match.
func (q *botDecisionsQuery) find(c *call) error {
	unknown := q.botPath.find(c)
	if !errors.Is(unknown, owner.ErrBotUnknown) {
		return unknown
	}
	page, _, err := c.server.Matches.From(q.ID, "", 1)
	if err != nil || len(page) == 0 {
		return cmp.Or(err, unknown)
	}
	start, err := frames.ReadStart(c.ctx, c.server.Log, page[0].ID)
	if err == nil && !slices.ContainsFunc(start.Seats, func(s match.Seat) bool { return s.BotID == q.ID && s.OwnerID == c.account.ID }) {
		err = unknown
	}
	return err
}

// cursor is a position in a bot's log: a match, and the seq of a public event in that
// match. The zero value is the start of the log.
type cursor struct {
	matchID string
	seq     int
}

func (k cursor) String() string { return k.matchID + ":" + strconv.Itoa(k.seq) }

func parseCursor(text string) (k cursor, ok bool) {
	if text == "" {
		return cursor{}, true
	}
	id, seq, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(seq)
	return cursor{id, n}, err == nil && id != "" && n >= 0
}

var errCursor = problem.InvalidQuery("since", "must be the cursor of one of this bot's decisions")

// listDecisions reads matches until it has found a decision, or the log ends. So a
// response is empty only at the end of the log.
func (s *Server) listDecisions(c *call, in *botDecisionsQuery) (out lines[rest.BotDecision], err error) {
	at, ok := parseCursor(in.Since)
	if !ok {
		return out, errCursor
	}
	limit := cmp.Or(in.Limit, maxDecisions)
	size := min(limit, decisionMatches-1) + 1 // the first match may be that of the cursor, and may have no later decision
	var list []rest.BotDecision
	for more := true; more && len(list) == 0; {
		page, known, err := s.Matches.From(in.ID, at.matchID, size)
		if err == nil && !known {
			err = errCursor
		}
		if err == nil {
			err = c.heavy(max(0, len(page)-1))
		}
		if err != nil {
			return out, err
		}
		if list, at, err = s.decisionsOf(c, in.ID, page, at, limit); err != nil {
			return out, err
		}
		more = len(page) == size
	}
	return newLines(list)
}

// decisionsOf returns at most limit decisions of a bot, from a page of matches and
// after a position. The result next is the position at which the search ended.
func (s *Server) decisionsOf(c *call, botID string, page []matches.Summary, after cursor, limit int) (list []rest.BotDecision, next cursor, err error) {
	for _, m := range page {
		if m.ID != after.matchID {
			after = cursor{m.ID, 0}
		}
		decisions, err := s.closedDecisions(c, botID, m)
		if err != nil {
			return nil, after, err
		}
		for _, d := range decisions {
			if d.Seq > after.seq && len(list) < limit {
				list = append(list, rest.BotDecision{Cursor: cursor{m.ID, d.Seq}.String(), MatchID: m.ID, Decision: d})
			}
		}
		if after.seq = math.MaxInt; len(list) == limit {
			break
		}
	}
	return list, after, nil
}
