package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/domain/audit"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// ladderReport is the result of `arena verify --ladder`.
type ladderReport struct {
	Mode string `json:"mode"`
	audit.LadderTotals
	IDs              bool                    `json:"ids"` // whether match ids were recomputed too
	ChangesPerSecond float64                 `json:"changesPerSecond"`
	Head             uint64                  `json:"head,omitempty"` // number of results in the recomputed head
	Difference       *audit.LadderDifference `json:"difference,omitempty"`
}

// verifyLadder recomputes a ladder from its first match.
func (c *Cmd) verifyLadder(ctx context.Context, out, errOut io.Writer) error {
	log, err := logs.Open(ctx, "--eventstore", c.EventStore, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // nothing was written
	platform, _, err := arenaKeys(ctx, log)
	if err != nil {
		return err
	}
	begun := time.Now()
	l, err := FoldLadder(ctx, log, errOut, c.Ladder, platform)
	r := ladderReport{Mode: c.Ladder, IDs: platform != ""}
	if err != nil && !errors.As(err, &r.Difference) {
		return err
	}
	if l != nil {
		r.LadderTotals = l.Totals
		r.ChangesPerSecond = float64(l.Totals.Changes) / time.Since(begun).Seconds()
	}
	if err == nil && l.Totals.Events == 0 {
		return fmt.Errorf("the log contains no ladder of mode %s", c.Ladder)
	}
	if err == nil && c.Head != "" {
		err = c.recomputeHead(ctx, log, errOut, platform, &r)
		if err != nil && r.Difference == nil {
			return err
		}
	}
	if c.JSON {
		return errors.Join(json.NewEncoder(out).Encode(r), err)
	}
	if err == nil {
		r.print(out)
	}
	return err
}

// recomputeHead builds the signed log's tree from the matches in the log, and
// compares it with the head that --head names.
func (c *Cmd) recomputeHead(ctx context.Context, log eventstore.Log, errOut io.Writer, platform string, r *ladderReport) error {
	key, err := ed25519Key(platform)
	if err != nil {
		return fmt.Errorf("--head: %w", err)
	}
	saved, mode, err := savedHead(c.Head, key)
	if err == nil && mode != c.Ladder {
		err = fmt.Errorf("the head that --head names belongs to the %s log", mode)
	}
	if err != nil {
		return err
	}
	p := progress.New(errOut, "matches")
	defer p.Finish()
	h, err := signedlog.Recompute(ctx, log, mode, saved.Size, func(leaves uint64) { p.Show("signed log", leaves, saved.Size) })
	if err != nil {
		return fmt.Errorf("the signed log: %w", err)
	}
	if h.Size != saved.Size || !bytes.Equal(h.Root, saved.Root) {
		r.Difference = &audit.LadderDifference{
			Mode: mode, Revision: uint64(r.Events),
			Log: "a signed head of " + describe(saved), Follows: "for the matches in this log, a head of " + describe(h),
		}
		return r.Difference
	}
	r.Head = saved.Size
	return nil
}

func (r ladderReport) print(out io.Writer) {
	fmt.Fprintf(out, "ladder-%s: %d events, %d tables, %d bots\n", r.Mode, r.Events, r.Tables, r.Bots)
	fmt.Fprintf(out, "%d matches rated, %d voided; all %d rating changes are the same to the last bit (%.0f/s)\n",
		r.Rated, r.Voided, r.Changes, r.ChangesPerSecond)
	if r.IDs {
		fmt.Fprintln(out, "every match id follows from the platform key and the position of its table")
	} else {
		fmt.Fprintln(out, "match ids were not checked: the log has no arena-keys")
	}
	if r.Head > 0 {
		fmt.Fprintf(out, "the signed head of %d results follows from the matches in this log\n", r.Head)
	}
}
