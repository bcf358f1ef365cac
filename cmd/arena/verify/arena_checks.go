package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"hexarena/adapters/rest"
	"hexarena/domain/audit"
)

// noArena is the reason for skipping checks that need an arena.
const noArena = "no arena was given"

// houseHandle is the handle of the account that owns the house bots
// (docs/audit.md).
const houseHandle = "house"

// arenaChecks compares records with the trees that their arena has signed.
type arenaChecks struct {
	calls
	signed *signedLogs
	policy *policy
	heads  heads
	saved  *saved
	batch  int // number of a ladder's events to request in one call

	trees  map[string]*tree // by mode; nil if the arena serves no ladder tree
	house  map[string]bool  // by bot, as in audit.Evidence
	listed map[string]bool  // modes whose leaderboard was read
}

func newArenaChecks(c calls, h heads, s *saved, p *policy, batch int) *arenaChecks {
	return &arenaChecks{
		calls: c, signed: newSignedLogs(c, h, s), policy: p, heads: h, saved: s, batch: batch,
		trees: map[string]*tree{}, house: map[string]bool{}, listed: map[string]bool{},
	}
}

// gather adds the evidence that the arena publishes about one record: the match's
// seating in the ladder tree, and the owners of its bots. If gather finds a
// difference in the tree, it returns that difference.
func (a *arenaChecks) gather(ctx context.Context, r *audit.Record, e *audit.Evidence) (*audit.Difference, error) {
	e.Seatings, e.HouseBots = nil, a.house
	if err := a.owners(ctx, r); err != nil {
		return nil, err
	}
	revision, seated := r.SeatedAt()
	if !seated {
		return nil, nil //nolint:nilnil // no difference, and no error
	}
	t, d, err := a.tree(ctx, r.Mode)
	if t == nil || d != nil || err != nil {
		return d, err
	}
	tables, d, err := t.seating(ctx, revision)
	if d == nil {
		e.Seatings = tables
	}
	return d, err
}

// tree returns the ladder tree of a mode, with a checkpoint. It returns nil if the
// arena serves no ladder tree.
func (a *arenaChecks) tree(ctx context.Context, mode string) (*tree, *audit.Difference, error) {
	t, opened := a.trees[mode]
	if opened {
		return t, nil, nil
	}
	t = newTree(a.calls, mode, a.heads, a.policy, a.batch)
	if a.saved != nil && a.saved.tree == ladderTree && a.saved.mode == mode {
		t.saved = &a.saved.remembered
	}
	d, err := t.advance(ctx)
	if errors.Is(err, errNoTree) && a.policy == nil {
		t, err = nil, nil
	}
	if d == nil && err == nil {
		a.trees[mode] = t
	}
	return t, d, err
}

// check compares a record with the arena's signed trees, and adds these checks to the
// record's report. If the arena gives no usable response, it returns an error.
func (a *arenaChecks) check(ctx context.Context, text []byte, r *audit.Report) error {
	if err := a.signed.check(ctx, text, r); err != nil || r.Difference != nil {
		return err
	}
	t := a.trees[r.Mode]
	c, w := audit.Check{Name: checkTree}, audit.Check{Name: checkWitnesses}
	if t == nil && usesBeacon(text) {
		r.Difference = treeDifference("no ladder tree", "a ladder tree: the record has a round of a beacon, and every arena with a beacon has a ladder tree")
	}
	if t == nil {
		c.Because, w.Because = errNoTree.Error(), errNoTree.Error()
	} else {
		c.Made, c.Count = true, 1
		if t.before == nil && a.heads.folder != "" {
			c.Because = "no earlier head to compare it with"
		}
		w = witnessesOf(t)
	}
	r.Checks = append(r.Checks, c, w)
	return nil
}

// usesBeacon reports whether a record contains a beacon round.
func usesBeacon(text []byte) bool {
	var record struct{ Proof *struct{ Beacon *struct{} } }
	return json.Unmarshal(text, &record) == nil && record.Proof != nil && record.Proof.Beacon != nil
}

func witnessesOf(t *tree) audit.Check {
	if t.policy == nil {
		return audit.Check{Name: checkWitnesses, Because: "no --policy was given"}
	}
	return audit.Check{Name: checkWitnesses, Made: true, Count: len(t.cosigned)}
}

// withoutArena adds the checks that need an arena to a report, and marks them as
// skipped.
func withoutArena(r *audit.Report) {
	for _, name := range []string{checkSigned, checkTree, checkWitnesses} {
		r.Checks = append(r.Checks, audit.Check{Name: name, Because: noArena})
	}
}

// The method unused() returns an error if the head that --head names was not compared,
// because no match has the mode of that head.
func (a *arenaChecks) unused() error {
	if s := a.saved; s != nil && s.tree == ladderTree && a.trees[s.mode] == nil {
		return fmt.Errorf("--head: the saved head belongs to the %s ladder, but no match has that mode", s.mode)
	}
	return a.signed.unused()
}

// The method owners() finds out which of the bots that sent a nonce belong to the
// house. It reads the leaderboard, which shows the owner of every bot with a rated
// match.
func (a *arenaChecks) owners(ctx context.Context, r *audit.Record) error {
	for _, bot := range r.NoncedBots() {
		if _, known := a.house[bot]; known {
			continue
		}
		if !a.listed[r.Mode] {
			a.listed[r.Mode] = true
			var board rest.Leaderboard
			if _, err := a.getJSON(ctx, "/leaderboard?mode="+url.QueryEscape(r.Mode), &board); err != nil {
				return fmt.Errorf("read the owners of the bots: %w", err)
			}
			for _, row := range board.Rows {
				a.house[row.BotID] = row.Owner == houseHandle
			}
		}
		if _, known := a.house[bot]; known {
			continue
		}
		var history rest.BotHistory
		found, err := a.getJSON(ctx, "/bots/"+url.PathEscape(bot)+"/history", &history)
		if err != nil {
			return fmt.Errorf("read the owner of bot %s: %w", bot, err)
		}
		if found {
			a.house[bot] = history.Owner == houseHandle
		}
	}
	return nil
}
