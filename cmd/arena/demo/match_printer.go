package demo

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"hexarena/cmd/arena/remote"
	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

const (
	pollInterval = time.Second
	scoresEvery  = 5  // polls
	recent       = 20 // matches that a poll reads
)

// MatchList lists matches, newest first.
type MatchList interface {
	List(q matches.Query) (page []matches.Summary, next string, known bool, err error)
}

// PrintMatches prints a line when a match begins or ends, and the scores of running
// matches every few seconds, until ctx ends. Each line ends with the URL of the
// match, below baseURL.
func PrintMatches(ctx context.Context, list MatchList, log eventstore.Log, baseURL string, out io.Writer) error {
	p := matchPrinter{list: list, log: log, baseURL: baseURL, out: out, printed: map[string]string{}}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	p.skipEnded()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := p.poll(ctx, i%scoresEvery == 0); err != nil && ctx.Err() == nil {
			fmt.Fprintf(out, "%v\n", err)
		}
	}
}

type matchPrinter struct {
	list    MatchList
	log     eventstore.Log
	baseURL string
	out     io.Writer
	printed map[string]string // by match id: the last status that was printed
}

// skipEnded marks the matches that ended before the demo began as already printed.
func (p *matchPrinter) skipEnded() {
	page, _, _, _ := p.list.List(matches.Query{Limit: recent}) // ignores an error, because the first poll reports it
	for _, m := range page {
		if m.Status != matches.Running {
			p.printed[m.ID] = m.Status
		}
	}
}

func (p *matchPrinter) poll(ctx context.Context, withScores bool) error {
	page, _, _, err := p.list.List(matches.Query{Limit: recent})
	if err != nil {
		return err
	}
	maps.DeleteFunc(p.printed, func(id, _ string) bool { // a match that left the page never returns to it
		return !slices.ContainsFunc(page, func(m matches.Summary) bool { return m.ID == id })
	})
	for _, m := range slices.Backward(page) {
		if p.printed[m.ID] != m.Status {
			p.printed[m.ID] = m.Status
			p.print(m, m.Status, remote.PlayersLine(m))
		} else if withScores && m.Status == matches.Running {
			if err := p.printScores(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// printScores prints the turn and the points of a running match.
func (p *matchPrinter) printScores(ctx context.Context, m matches.Summary) error {
	h, err := frames.Read(ctx, p.log, m.ID)
	if err != nil {
		return err
	}
	all := h.Frames(false, frames.Window{})
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	var points []string
	for i, player := range m.Players {
		points = append(points, fmt.Sprintf("%s %d", player.BotName, last.Scores[i]))
	}
	p.print(m, fmt.Sprintf("turn %d", last.Turn), strings.Join(points, ", "))
	return nil
}

// print prints a line about a match.
func (p *matchPrinter) print(m matches.Summary, state, players string) {
	fmt.Fprintf(p.out, "%-9s %-8s %s  %s/watch/%s\n", state, m.Mode, players, p.baseURL, m.ID)
}
