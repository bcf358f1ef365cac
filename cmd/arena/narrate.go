package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// How often the demo looks, and how often it tells how running matches stand.
const (
	lookEvery  = time.Second
	standEvery = 5  // looks
	lately     = 20 // matches looked at
)

// narrate prints what happens on an arena: matches that begin, how they stand,
// how they end.
func narrate(ctx context.Context, list list, log eventstore.Log, out io.Writer) error {
	n := narrator{list: list, log: log, out: out, told: map[string]string{}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	n.skipOld()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := n.look(ctx, i%standEvery == 0); err != nil && ctx.Err() == nil {
			fmt.Fprintf(out, "%v\n", err)
		}
	}
}

type narrator struct {
	list list
	log  eventstore.Log
	out  io.Writer
	told map[string]string // match id → status told last
}

// skipOld passes over what was over before the demo began.
func (n *narrator) skipOld() {
	page, _, _, _ := n.list.List(matches.Query{Limit: lately}) // the first look tells of an error
	for _, m := range page {
		if m.Status != matches.Running {
			n.told[m.ID] = m.Status
		}
	}
}

func (n *narrator) look(ctx context.Context, standings bool) error {
	page, _, _, err := n.list.List(matches.Query{Limit: lately})
	if err != nil {
		return err
	}
	maps.DeleteFunc(n.told, func(id, _ string) bool { // what has left the page does not come back
		return !slices.ContainsFunc(page, func(m matches.Summary) bool { return m.ID == id })
	})
	for _, m := range slices.Backward(page) {
		if n.told[m.ID] != m.Status {
			n.told[m.ID] = m.Status
			fmt.Fprintln(n.out, line(m))
		} else if standings && m.Status == matches.Running {
			if err := n.stand(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func line(m matches.Summary) string {
	var players []string
	for _, p := range m.Players {
		text := p.BotName
		if p.Placement != nil && p.RatingDelta != nil {
			text = fmt.Sprintf("%d. %s (%+.1f)", *p.Placement, p.BotName, *p.RatingDelta)
		}
		players = append(players, text)
	}
	if m.Status == matches.Completed {
		slices.Sort(players)
	}
	return fmt.Sprintf("%s  %-9s %-8s %s", m.ID[:8], m.Status, m.Mode, strings.Join(players, ", "))
}

// stand prints the turn and the points of a running match.
func (n *narrator) stand(ctx context.Context, m matches.Summary) error {
	h, err := frames.Read(ctx, n.log, m.ID)
	if err != nil {
		return err
	}
	all := h.Frames(false, frames.Window{})
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	var points []string
	for i, p := range m.Players {
		points = append(points, fmt.Sprintf("%s %d", p.BotName, last.Scores[i]))
	}
	fmt.Fprintf(n.out, "%s  turn %-4d %-8s %s\n", m.ID[:8], last.Turn, m.Mode, strings.Join(points, ", "))
	return nil
}
