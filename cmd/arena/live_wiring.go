package main

import (
	"context"
	"fmt"

	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// openLive creates the live boards. The boards use the match list to find the matches
// that are running when the process starts, and to find out how each match ends. The
// parameter listed is the runner that keeps the list up to date. Before the boards
// report that a match has ended, they wait until this runner has added the end to the
// list. A client that sees a match end on its board therefore finds the same result in
// the list.
func (a *arena) openLive(listed *projections.Runner) {
	a.upToDate = make(chan struct{})
	a.live = live.New(live.Options{
		Log: a.log, Logger: a.logger,
		Running: func(ctx context.Context) ([]string, error) {
			select {
			case <-a.upToDate: // wait until the first catch-up is over, so that the list does not read the log twice
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := listed.Sync(ctx); err != nil {
				return nil, err
			}
			page, _, _, err := a.matches.List(matches.Query{Status: matches.Running, Limit: matches.Reachable})
			ids := make([]string, len(page))
			for i, m := range page {
				ids[i] = m.ID
			}
			return ids, err
		},
		Ended: func(ctx context.Context, id string, at eventstore.Position) (matches.Summary, error) {
			if err := listed.Wait(ctx, at); err != nil {
				return matches.Summary{}, err
			}
			m, found, err := a.matches.Get(id)
			if err == nil && (!found || m.Status == matches.Running) {
				err = fmt.Errorf("match %s ended at position %d, but the list does not show that", id, at)
			}
			return m, err
		},
	})
}
