package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/audit"
)

// ladderReport is what came of a whole ladder.
type ladderReport struct {
	Mode string `json:"mode"`
	audit.LadderTotals
	IDs              bool                    `json:"ids"` // match ids were recomputed too
	ChangesPerSecond float64                 `json:"changesPerSecond"`
	Head             uint64                  `json:"head,omitempty"` // of so many results, recomputed from their matches
	Difference       *audit.LadderDifference `json:"difference,omitempty"`
}

// verifyLadder recomputes a ladder from its first match.
func (c *verifyCmd) verifyLadder(ctx context.Context, s streams) error {
	source := &matchSource{}
	if err := source.openLog(ctx, c.EventStore); err != nil {
		return err
	}
	defer source.done()
	keys, err := arenaKeys(ctx, source.log)
	if err != nil {
		return err
	}
	begun := time.Now()
	l, err := foldLadder(ctx, source.log, s, c.Ladder, keys.platform)
	r := ladderReport{Mode: c.Ladder, IDs: keys.platform != ""}
	if err != nil && !errors.As(err, &r.Difference) {
		return err
	}
	if l != nil {
		r.LadderTotals = l.Totals
		r.ChangesPerSecond = float64(l.Totals.Changes) / time.Since(begun).Seconds()
	}
	if err == nil && l.Totals.Events == 0 {
		return fmt.Errorf("the log holds no ladder of mode %s", c.Ladder)
	}
	if err == nil && c.Head != "" {
		err = c.recomputeHead(ctx, source.log, s, keys.platform, &r)
		if err != nil && r.Difference == nil {
			return err
		}
	}
	if c.JSON {
		return errors.Join(json.NewEncoder(s.out).Encode(r), err)
	}
	if err == nil {
		r.print(s)
	}
	return err
}

func (r ladderReport) print(s streams) {
	fmt.Fprintf(s.out, "ladder-%s: %d events, %d tables, %d bots\n", r.Mode, r.Events, r.Tables, r.Bots)
	fmt.Fprintf(s.out, "%d matches rated, %d voided; all %d rating changes are the same to the last bit (%.0f a second)\n",
		r.Rated, r.Voided, r.Changes, r.ChangesPerSecond)
	if r.IDs {
		fmt.Fprintln(s.out, "every match id follows from the platform key and the place of its table")
	} else {
		fmt.Fprintln(s.out, "match ids were not checked: the log has no arena-keys")
	}
	if r.Head > 0 {
		fmt.Fprintf(s.out, "the signed head of %d results is that of the matches in this log\n", r.Head)
	}
}
