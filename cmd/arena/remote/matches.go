package remote

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

type matchesCmd struct {
	signed
	Bot    string `placeholder:"BOT" help:"Only matches of this bot. Name any bot by its id, or one of your own bots by its name."`
	Mode   string `placeholder:"MODE" enum:"standard,parley," default:"" help:"Only matches of this mode: standard or parley."`
	Status string `placeholder:"STATUS" enum:"running,completed,aborted," default:"" help:"Only matches with this status: running, completed or aborted."`
	Limit  int    `default:"10" help:"Number of matches to list, at most 200."`
	Wait   bool   `help:"Wait until one of the listed matches has ended."`
}

// pollInterval is the time between two calls of `arena matches --wait`.
const pollInterval = 2 * time.Second

// Run runs `arena matches`.
func (c matchesCmd) Run(ctx context.Context, s *session, k *kong.Kong) error {
	path, err := c.path(ctx, s)
	if err != nil {
		return err
	}
	if c.Wait {
		fmt.Fprintln(k.Stderr, "waiting for a match to end")
	}
	for {
		list, err := ask[rest.Matches](ctx, s, get("", path))
		if err != nil {
			return err
		}
		if !c.Wait || slices.ContainsFunc(list.value.Matches, func(m matches.Summary) bool { return m.Status != matches.Running }) {
			return show(s, list, printMatches)
		}
		if err := eventstore.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

func (c matchesCmd) path(ctx context.Context, s *session) (string, error) {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, value := range map[string]string{"mode": c.Mode, "status": c.Status} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Bot != "" {
		id, err := s.botID(ctx, c.Bot)
		if err != nil {
			return "", err
		}
		query.Set("bot", id)
	}
	return "/matches?" + query.Encode(), nil
}

func printMatches(w io.Writer, list rest.Matches) {
	for _, m := range list.Matches {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.ID, m.Status, m.Mode, PlayersLine(m))
	}
}

// PlayersLine lists the players of a match on one line. For a rated match, it adds
// each player's placement and rating change, and sorts the players by placement. It
// marks the bots that missed the match, resigned or got strikes.
func PlayersLine(m matches.Summary) string {
	var players []string
	for _, p := range m.Players {
		text, notes := client.OneLine(p.BotName), []string{}
		if p.Placement != nil && p.RatingDelta != nil {
			text = fmt.Sprintf("%d. %s", *p.Placement, text)
			notes = append(notes, fmt.Sprintf("%+.1f", *p.RatingDelta))
		}
		if mark := m.Mark(p.Seat); mark != "" {
			notes = append(notes, mark)
		}
		if len(notes) > 0 {
			text += " (" + strings.Join(notes, ", ") + ")"
		}
		players = append(players, text)
	}
	if m.Status == matches.Completed {
		slices.Sort(players)
	}
	return strings.Join(players, ", ")
}

type leaderboardCmd struct {
	target
	Mode string `enum:"standard,parley" default:"standard" help:"standard or parley."`
}

// Run runs `arena leaderboard`.
func (c leaderboardCmd) Run(ctx context.Context, s *session) error {
	return askAndShow(ctx, s, get("", "/leaderboard?mode="+c.Mode), func(w io.Writer, board rest.Leaderboard) {
		for _, r := range board.Rows {
			owner := ""
			if r.Owner != "" {
				owner = "@" + client.OneLine(r.Owner)
			}
			games := "games"
			if r.GamesPlayed == 1 {
				games = "game"
			}
			fmt.Fprintf(w, "%d.\t%s\t%s\t%.1f\t%d %s\n", r.Rank, client.OneLine(r.Name), owner, r.Rating, r.GamesPlayed, games)
		}
	})
}
