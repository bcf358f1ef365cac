package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hexarena/adapters/client"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

type matchesCmd struct {
	signed
	Bot    string `placeholder:"BOT" help:"Of this bot alone: its id, or the name of one of yours."`
	Mode   string `placeholder:"MODE" enum:"standard,parley," default:"" help:"Of this mode alone: standard or parley."`
	Status string `placeholder:"STATUS" enum:"running,completed,aborted," default:"" help:"Of this status alone: running, completed or aborted."`
	Limit  int    `default:"10" help:"How many, at most 200."`
	Wait   bool   `help:"Wait until one of them is over."`
}

// lookAgain is how long a wait is between two looks.
const lookAgain = 2 * time.Second

// Run lists matches.
func (c matchesCmd) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	path, err := c.path(ctx, v)
	if err != nil {
		return err
	}
	if c.Wait {
		fmt.Fprintln(s.err, "waiting for a match to end")
	}
	for {
		answer, err := v.visit.call(ctx, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		var list struct{ Matches []matches.Summary }
		if err := decode(answer, &list); err != nil {
			return err
		}
		if !c.Wait || slices.ContainsFunc(list.Matches, func(m matches.Summary) bool { return m.Status != matches.Running }) {
			return show(v.visit, answer, matchLines)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c matchesCmd) path(ctx context.Context, v *ownersVisit) (string, error) {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, value := range map[string]string{"mode": c.Mode, "status": c.Status} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Bot != "" {
		id, err := v.botID(ctx, c.Bot)
		if err != nil {
			return "", err
		}
		query.Set("bot", id)
	}
	return "/matches?" + query.Encode(), nil
}

func matchLines(w io.Writer, list struct{ Matches []matches.Summary }) {
	for _, m := range list.Matches {
		var players []string
		for _, p := range m.Players {
			text := client.OneLine(p.BotName)
			if p.Placement != nil && p.RatingDelta != nil {
				text = fmt.Sprintf("%d. %s (%+.1f)", *p.Placement, text, *p.RatingDelta)
			}
			players = append(players, text)
		}
		if m.Status == matches.Completed {
			slices.Sort(players)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.ID, m.Status, m.Mode, strings.Join(players, ", "))
	}
}

type leaderboardCmd struct {
	remote
	Mode string `enum:"standard,parley" default:"standard" help:"standard or parley."`
}

// Run shows a ladder.
func (c leaderboardCmd) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	answer, err := v.call(ctx, http.MethodGet, "/leaderboard?mode="+c.Mode, nil)
	if err != nil {
		return err
	}
	return show(v, answer, func(w io.Writer, board struct{ Rows []leaderboard.Row }) {
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
