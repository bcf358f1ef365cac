package verify

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"hexarena/adapters/client"
	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// checkSigned is the name of the check that a match is in the arena's signed log.
const checkSigned = "signed log"

// The arena adds a match to the signed log a moment after the match ends. So a
// check asks for the match up to signedTries times, and waits signedWait between
// two tries.
const (
	signedTries = 6
	signedWait  = 500 * time.Millisecond
)

// signedLogs checks matches against the signed logs of an arena. Each head that
// the arena returns must continue the previous head. The first head must continue
// the head that --head names.
type signedLogs struct {
	arena     *client.Client
	key       ed25519.PublicKey
	unmatched string                    // mode of the saved head; empty once that head has been compared
	heads     map[string]signedlog.Head // the newest head of each mode
}

// newSignedLogs reads the saved head if headFile is set. It returns nil if arena is
// nil, because then no signed log can be read.
func newSignedLogs(arena *client.Client, platformKey, headFile string) (*signedLogs, error) {
	if arena == nil {
		if headFile != "" {
			return nil, errors.New("--head needs --arena, or the match's address")
		}
		return nil, nil //nolint:nilnil // verifying without an arena is no error
	}
	key, err := ed25519Key(platformKey)
	if err != nil {
		return nil, err
	}
	l := &signedLogs{arena: arena, key: key, heads: map[string]signedlog.Head{}}
	if headFile != "" {
		h, mode, err := savedHead(headFile, key)
		if err != nil {
			return nil, err
		}
		l.heads[mode], l.unmatched = h, mode
	}
	return l, nil
}

func ed25519Key(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("the arena's platform key is not an Ed25519 key")
	}
	return key, nil
}

// savedHead reads a head from a file. It finds the head's mode by trying each mode.
func savedHead(file string, key ed25519.PublicKey) (h signedlog.Head, mode string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return h, "", fmt.Errorf("--head: %w", err)
	}
	for _, mode := range ladder.Modes {
		if h, err := signedlog.Open(text, mode, key); err == nil {
			return h, mode, nil
		}
	}
	return h, "", fmt.Errorf("--head %s: this arena's platform key has not signed this file as a head of a log", file)
}

// describe returns a short description of the tree that a head signs.
func describe(h signedlog.Head) string {
	return fmt.Sprintf("%d results with the root %s", h.Size, base64.StdEncoding.EncodeToString(h.Root))
}

// check requires that the record is a leaf of its mode's signed log, and adds the
// result to the report. It returns an error if the arena returned no usable
// response.
func (l *signedLogs) check(ctx context.Context, text []byte, r *audit.Report) error {
	c := audit.Check{Name: checkSigned}
	if l == nil {
		c.Because = "no arena is named"
	} else {
		d, err := l.included(ctx, text, r.Match, r.Mode)
		if err != nil {
			return fmt.Errorf("the signed log: %w", err)
		}
		r.Difference, c.Made, c.Count = d, true, 1
	}
	r.Checks = append(r.Checks, c)
	return nil
}

// unused returns an error if the saved head was not compared, because no match has
// that head's mode.
func (l *signedLogs) unused() error {
	if l == nil || l.unmatched == "" {
		return nil
	}
	return fmt.Errorf("the head that --head names belongs to the %s log, but no match has that mode", l.unmatched)
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
	if !known || l.unmatched == mode || head.Size != p.Size {
		d, err := l.advance(ctx, mode)
		if d != nil || err != nil {
			return d, err
		}
		head = l.heads[mode]
	}
	return l.continues(ctx, mode, tree, head, "the proof of inclusion gives a tree of")
}

// advance requests the current head, which must continue the newest known head.
func (l *signedLogs) advance(ctx context.Context, mode string) (*audit.Difference, error) {
	text, err := l.get(ctx, "/log/"+mode+"/head")
	if err != nil {
		return nil, err
	}
	h, err := signedlog.Open(text, mode, l.key)
	if err != nil {
		return signedDifference(strings.TrimSpace(string(text)), "a head that the platform key has signed: "+err.Error()), nil
	}
	before, known := l.heads[mode]
	l.heads[mode] = h
	if l.unmatched == mode {
		l.unmatched = ""
	}
	if !known {
		return nil, nil //nolint:nilnil // no difference, and no error
	}
	return l.continues(ctx, mode, before, h, "the earlier head has")
}

// continues requires that the tree of head contains the earlier tree unchanged.
func (l *signedLogs) continues(ctx context.Context, mode string, before, head signedlog.Head, what string) (*audit.Difference, error) {
	var hashes [][]byte
	switch {
	case before.Size > head.Size:
		return signedDifference(fmt.Sprintf("a head of %d results", head.Size), fmt.Sprintf("at least %d: the log only grows", before.Size)), nil
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

// getJSON makes a call and decodes the response. found is false if the status is
// 404.
func (l *signedLogs) getJSON(ctx context.Context, path string, into any) (found bool, err error) {
	body, err := l.get(ctx, path)
	if err != nil || body == nil {
		return false, err
	}
	return true, json.Unmarshal(body, into)
}

// get makes a call and returns the response's body, or nil if the status is 404. If
// the status is 429, it waits and tries again.
func (l *signedLogs) get(ctx context.Context, path string) ([]byte, error) {
	for {
		a, err := l.arena.Call(ctx, http.MethodGet, path, nil)
		var refused *client.Refusal
		switch {
		case !errors.As(err, &refused):
			return a.Body, err
		case refused.Status == http.StatusNotFound:
			return nil, nil
		case refused.Status != http.StatusTooManyRequests:
			return nil, err
		}
		seconds, _ := strconv.Atoi(refused.RetryAfter) // without a value, wait 1 second
		if err := eventstore.Sleep(ctx, time.Duration(max(1, seconds))*time.Second); err != nil {
			return nil, err
		}
	}
}
