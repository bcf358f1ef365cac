package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"hexarena/projections/matches"
)

// narrate prints what happens on an arena, from its public answers alone:
// matches that begin, how they stand, how they end.
func narrate(ctx context.Context, base string, out io.Writer) error {
	n := narrator{base: base, out: out, told: map[string]string{}}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := n.look(ctx, i%5 == 0); err != nil && ctx.Err() == nil {
			fmt.Fprintf(out, "%v\n", err)
		}
	}
}

type narrator struct {
	base string
	out  io.Writer
	told map[string]string // match id → status told last
}

func (n *narrator) look(ctx context.Context, standings bool) error {
	var list struct{ Matches []matches.Summary }
	if err := n.get(ctx, "/matches?limit=20", &list); err != nil {
		return err
	}
	for _, m := range slices.Backward(list.Matches) {
		if n.told[m.ID] != m.Status {
			n.told[m.ID] = m.Status
			fmt.Fprintln(n.out, n.line(m))
		} else if standings && m.Status == matches.Running {
			if err := n.stand(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *narrator) line(m matches.Summary) string {
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
	var f struct {
		Frames []struct {
			Turn   int
			Scores []int
		}
	}
	if err := n.get(ctx, "/matches/"+m.ID+"/frames", &f); err != nil || len(f.Frames) == 0 {
		return err
	}
	last := f.Frames[len(f.Frames)-1]
	var points []string
	for i, p := range m.Players {
		points = append(points, fmt.Sprintf("%s %d", p.BotName, last.Scores[i]))
	}
	fmt.Fprintf(n.out, "%s  turn %-4d %-8s %s\n", m.ID[:8], last.Turn, m.Mode, strings.Join(points, ", "))
	return nil
}

func (n *narrator) get(ctx context.Context, path string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(answer)
}
