package verify

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hexarena/domain/audit"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// checkSigned is the name of the check that a match is in the arena's signed log.
const checkSigned = "signed log"

// The arena adds a match to the signed log shortly after the match ends. So a check
// asks for the match up to signedTries times, and waits signedWait between tries.
const (
	signedTries = 6
	signedWait  = 500 * time.Millisecond
)

// signedLogs checks matches against the signed logs of an arena. Each head that
// the arena returns must continue the previous head. The first head must continue
// the head that --head names.
type signedLogs struct {
	calls
	remember  heads
	key       ed25519.PublicKey
	unmatched string                    // mode of the head that --head names; empty once that head has been compared
	heads     map[string]signedlog.Head // the newest head of each mode
	compared  map[string]bool           // by mode: whether a head was compared with the remembered one
	computed  map[string]bool           // by mode: whether heads contains a head that was computed from a ladder's tree
}

func newSignedLogs(c calls, h heads, s *saved) *signedLogs {
	l := &signedLogs{calls: c, remember: h, key: h.key, heads: map[string]signedlog.Head{}, compared: map[string]bool{}, computed: map[string]bool{}}
	if s != nil && s.tree == resultsTree {
		l.heads[s.mode], l.unmatched = s.Head, s.mode
	}
	return l
}

// describe returns a short description of the tree that a head signs.
func describe(h signedlog.Head) string {
	return fmt.Sprintf("%d results with the root %s", h.Size, base64.StdEncoding.EncodeToString(h.Root))
}

// check requires that the record is a leaf of its mode's signed log. If the arena
// gives no usable response, check returns an error.
func (l *signedLogs) check(ctx context.Context, text []byte, r *audit.Report) error {
	d, err := l.included(ctx, text, r.Match, r.Mode)
	if err != nil {
		return fmt.Errorf("the signed log: %w", err)
	}
	r.Difference = d
	r.Checks = append(r.Checks, audit.Check{Name: checkSigned, Made: true, Count: 1})
	return nil
}

// The method unused() returns an error if the saved head was not compared, because no
// match has that head's mode.
func (l *signedLogs) unused() error {
	if l.unmatched == "" {
		return nil
	}
	return fmt.Errorf("--head: the saved head belongs to the %s log, but no match has that mode", l.unmatched)
}

func signedDifference(log, follows string) *audit.Difference {
	return &audit.Difference{Check: checkSigned, Log: log, Follows: follows}
}

func (l *signedLogs) included(ctx context.Context, text []byte, id, mode string) (*audit.Difference, error) {
	leaf, err := signedlog.Leaf(text)
	if err != nil {
		return signedDifference("a record that cannot be a leaf: "+err.Error(), "a leaf for every match of an arena"), nil
	}
	p, found, err := l.inclusion(ctx, id, mode)
	if err != nil {
		return nil, err
	}
	if !found {
		return signedDifference("no leaf for this match", "a leaf for every match that its ladder has closed"), nil
	}
	root, err := p.RootOf(leaf)
	if err != nil {
		return signedDifference(fmt.Sprintf("leaf %d of %d: %v", p.Index, p.Size, err), "a proof of inclusion"), nil
	}
	tree := signedlog.Head{Size: p.Size, Root: root}
	head, known := l.heads[mode]
	if !known || l.unmatched == mode || head.Size != p.Size || !l.compared[mode] {
		d, err := l.advance(ctx, mode)
		if d != nil || err != nil {
			return d, err
		}
		head = l.heads[mode]
	}
	return l.continues(ctx, mode, tree, head, "the proof of inclusion gives a tree of")
}

// advance requests the current head, which must continue the newest known head and
// the remembered one. One server of an arena may lag behind another, so if the head
// is too small, advance requests it again.
func (l *signedLogs) advance(ctx context.Context, mode string) (d *audit.Difference, err error) {
	for try := 1; ; try++ {
		var again bool
		d, again, err = l.try(ctx, mode)
		if d == nil || !again || try == signedTries {
			return d, err
		}
		if err := eventstore.Sleep(ctx, signedWait); err != nil {
			return nil, err
		}
	}
}

// try requests the current head once. The result named again is true if the head is
// too small.
func (l *signedLogs) try(ctx context.Context, mode string) (d *audit.Difference, again bool, err error) {
	text, err := l.get(ctx, "/log/"+mode+"/head")
	if err != nil {
		return nil, false, err
	}
	h, err := signedlog.Open(text, mode, l.key)
	if err != nil {
		return signedDifference(strings.TrimSpace(string(text)), "a head that the platform key has signed: "+err.Error()), false, nil
	}
	if before, known := l.heads[mode]; known {
		what := "the earlier head has"
		if l.computed[mode] {
			what = "the leaves in the ladder's tree give"
		}
		if d, err := l.continues(ctx, mode, before, h, what); d != nil || err != nil {
			return d, h.Size < before.Size, err
		}
	}
	if !l.compared[mode] {
		before, err := l.remember.read(resultsTree, mode)
		if err != nil {
			return nil, false, err
		}
		if before != nil {
			d, err := l.continues(ctx, mode, before.Head, h, "the head in "+before.file+" has")
			if d != nil && h.Size >= before.Size {
				err = l.keepOther(mode, text, d)
			}
			if d != nil || err != nil {
				return d, h.Size < before.Size, err
			}
		}
	}
	l.heads[mode], l.compared[mode], l.computed[mode] = h, true, false
	if l.unmatched == mode {
		l.unmatched = ""
	}
	return nil, false, l.remember.write(resultsTree, mode, h, text)
}

// The method follows() requires that the current head continues a head that was
// computed from the leaves in a ladder's tree. This ensures that both trees contain the
// same results.
func (l *signedLogs) follows(ctx context.Context, mode string, computed signedlog.Head) (*audit.Difference, error) {
	if d, err := l.advance(ctx, mode); d != nil || err != nil {
		return d, err
	}
	l.heads[mode], l.computed[mode] = computed, true
	return l.advance(ctx, mode)
}

// keepOther stores a head that contradicts the remembered one, and names its file.
func (l *signedLogs) keepOther(mode string, text []byte, d *audit.Difference) error {
	file, err := l.remember.writeOther(resultsTree, mode, text)
	d.Follows += "; the other head is in " + file
	return err
}

// The method continues() requires that the tree of the new head begins with the whole
// earlier tree, unchanged.
func (l *signedLogs) continues(ctx context.Context, mode string, before, head signedlog.Head, what string) (*audit.Difference, error) {
	var hashes [][]byte
	switch {
	case before.Size > head.Size:
		return signedDifference("a signed head of "+describe(head), fmt.Sprintf("at least %d results, because the log only grows: %s %s", before.Size, what, describe(before))), nil
	case before.Size < head.Size && before.Size > 0:
		var shown struct{ Hashes [][]byte }
		if _, err := l.getJSON(ctx, fmt.Sprintf("/log/%s/consistency?from=%d&to=%d", mode, before.Size, head.Size), &shown); err != nil {
			return nil, err
		}
		hashes = shown.Hashes
	}
	if err := head.Continues(before, hashes); err != nil {
		return signedDifference("a signed head of "+describe(head), fmt.Sprintf("a head that continues this: %s %s", what, describe(before))), nil
	}
	return nil, nil //nolint:nilnil // no difference, and no error
}

// inclusion requests the proof that a match is included in the signed log.
func (l *signedLogs) inclusion(ctx context.Context, id, mode string) (p signedlog.Inclusion, found bool, err error) {
	for try := 1; ; try++ {
		found, err = l.getJSON(ctx, "/log/"+mode+"/inclusion?match="+url.QueryEscape(id), &p)
		if found || err != nil || try == signedTries {
			return p, found, err
		}
		if err := eventstore.Sleep(ctx, signedWait); err != nil {
			return p, false, err
		}
	}
}
