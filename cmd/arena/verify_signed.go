package main

import (
	"bytes"
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
	"hexarena/cmd/arena/progress"
	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// checkSigned is the check that a match is in the arena's signed log.
const checkSigned = "signed log"

// A match that has just ended is in the log a moment later: it is asked for so
// often.
const (
	signedTries = 6
	signedWait  = 500 * time.Millisecond
)

// signedLogs checks matches against the signed logs of an arena. Each head that
// it is shown must continue the one before, and the one that was kept.
type signedLogs struct {
	arena *client.Client
	key   ed25519.PublicKey
	of    string                    // the mode of a head that was kept, until it was compared
	heads map[string]signedlog.Head // by mode, the one that was shown last
}

// newSignedLogs reads the head that was kept, where a file is named. There is
// nothing to check without an arena.
func newSignedLogs(ctx context.Context, arena *client.Client, keptFile string) (*signedLogs, error) {
	if arena == nil {
		if keptFile != "" {
			return nil, errors.New("--head wants --arena, or the match's address")
		}
		return nil, nil //nolint:nilnil // it is no error to name no arena
	}
	text, err := platformKey(ctx, arena)
	if err != nil {
		return nil, err
	}
	key, err := ed25519Key(text)
	if err != nil {
		return nil, err
	}
	l := &signedLogs{arena: arena, key: key, heads: map[string]signedlog.Head{}}
	if keptFile != "" {
		h, mode, err := keptHead(keptFile, key)
		if err != nil {
			return nil, err
		}
		l.heads[mode], l.of = h, mode
	}
	return l, nil
}

func ed25519Key(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("the arena's platform key is no Ed25519 key")
	}
	return key, nil
}

// keptHead reads a head from a file, and finds out its mode.
func keptHead(file string, key ed25519.PublicKey) (h signedlog.Head, mode string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return h, "", fmt.Errorf("--head: %w", err)
	}
	for _, mode := range ladder.Modes {
		if h, err := signedlog.Open(text, mode, key); err == nil {
			return h, mode, nil
		}
	}
	return h, "", fmt.Errorf("--head %s: it is no head of a log that this arena's platform key has signed", file)
}

// recomputeHead demands that the matches of a log give the head that was kept.
func (c *verifyCmd) recomputeHead(ctx context.Context, log eventstore.Log, s streams, platform string, r *ladderReport) error {
	key, err := ed25519Key(platform)
	if err != nil {
		return fmt.Errorf("--head: %w", err)
	}
	kept, mode, err := keptHead(c.Head, key)
	if err == nil && mode != c.Ladder {
		err = fmt.Errorf("--head is of the log of %s", mode)
	}
	if err != nil {
		return err
	}
	p := progress.New(s.err, "matches")
	defer p.Finish()
	h, err := signedlog.Recompute(ctx, log, mode, kept.Size, func(leaves uint64) { p.Show("signed log", leaves, kept.Size) })
	if err != nil {
		return fmt.Errorf("the signed log: %w", err)
	}
	if h.Size != kept.Size || !bytes.Equal(h.Root, kept.Root) {
		r.Difference = &audit.LadderDifference{Mode: mode, Revision: uint64(r.Events), Log: tellHead("a signed head", kept), Follows: tellHead("the one of its matches", h)}
		return r.Difference
	}
	r.Head = kept.Size
	return nil
}

func tellHead(what string, h signedlog.Head) string {
	return fmt.Sprintf("%s, of %d results with the root %s", what, h.Size, base64.StdEncoding.EncodeToString(h.Root))
}

// check shows that a record in which nothing differs is a leaf of its mode's
// log. An error says that nothing can be said.
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

// unused says that the head that was kept had nothing to do with the matches.
func (l *signedLogs) unused() error {
	if l == nil || l.of == "" {
		return nil
	}
	return fmt.Errorf("--head is of the log of %s, of which there was no match to check", l.of)
}

func differsInLog(log, follows string) *audit.Difference {
	return &audit.Difference{Check: checkSigned, Log: log, Follows: follows}
}

func (l *signedLogs) included(ctx context.Context, text []byte, id, mode string) (*audit.Difference, error) {
	leaf, err := signedlog.Leaf(text)
	if err != nil {
		return differsInLog("a record that can be no leaf: "+err.Error(), "a leaf for every match of an arena"), nil
	}
	var p signedlog.Inclusion
	found, err := l.inclusion(ctx, id, mode, &p)
	if err != nil {
		return nil, err
	}
	if !found {
		return differsInLog("nothing of this match", "a leaf for every match that its ladder has closed"), nil
	}
	root, err := p.RootOf(leaf)
	if err != nil {
		return differsInLog(fmt.Sprintf("leaf %d of %d: %v", p.Index, p.Size, err), "a proof of inclusion"), nil
	}
	tree := signedlog.Head{Size: p.Size, Root: root}
	head, known := l.heads[mode]
	if !known || l.of == mode || head.Size != p.Size {
		d, err := l.advance(ctx, mode)
		if d != nil || err != nil {
			return d, err
		}
		head = l.heads[mode]
	}
	return l.continues(ctx, mode, tree, head, "the proof of inclusion places the record in the tree of")
}

// advance asks for today's head, which must continue the one before.
func (l *signedLogs) advance(ctx context.Context, mode string) (*audit.Difference, error) {
	var text []byte
	if _, err := l.ask(ctx, "/log/"+mode+"/head", &text); err != nil {
		return nil, err
	}
	h, err := signedlog.Open(text, mode, l.key)
	if err != nil {
		return differsInLog(strings.TrimSpace(string(text)), "a head that the platform key has signed: "+err.Error()), nil
	}
	before, known := l.heads[mode]
	l.heads[mode] = h
	if l.of == mode {
		l.of = ""
	}
	if !known {
		return nil, nil //nolint:nilnil // no difference, and no error
	}
	return l.continues(ctx, mode, before, h, "the head of before is of")
}

// continues demands that a head continues a tree of before.
func (l *signedLogs) continues(ctx context.Context, mode string, before, head signedlog.Head, what string) (*audit.Difference, error) {
	var hashes [][]byte
	switch {
	case before.Size > head.Size:
		return differsInLog(fmt.Sprintf("a head of %d results", head.Size), fmt.Sprintf("one of %d at least: the log only grows", before.Size)), nil
	case before.Size < head.Size && before.Size > 0:
		var shown struct{ Hashes [][]byte }
		if _, err := l.ask(ctx, fmt.Sprintf("/log/%s/consistency?from=%d&to=%d", mode, before.Size, head.Size), &shown); err != nil {
			return nil, err
		}
		hashes = shown.Hashes
	}
	if err := head.Continues(before, hashes); err != nil {
		return differsInLog(
			fmt.Sprintf("a signed head of %d results with the root %s", head.Size, base64.StdEncoding.EncodeToString(head.Root)),
			fmt.Sprintf("one that continues this: %s %d results with the root %s", what, before.Size, base64.StdEncoding.EncodeToString(before.Root)),
		), nil
	}
	return nil, nil //nolint:nilnil // no difference, and no error
}

// inclusion asks where a match is in its log.
func (l *signedLogs) inclusion(ctx context.Context, id, mode string, p *signedlog.Inclusion) (found bool, err error) {
	for try := 1; ; try++ {
		found, err = l.ask(ctx, "/log/"+mode+"/inclusion?match="+url.QueryEscape(id), p)
		if found || err != nil || try == signedTries {
			return found, err
		}
		if err := waitUnlessEnded(ctx, signedWait); err != nil {
			return false, err
		}
	}
}

// ask reads an answer, text as it is and else JSON; found is false where there
// is none. It waits where it has asked too often.
func (l *signedLogs) ask(ctx context.Context, path string, into any) (found bool, err error) {
	for {
		a, err := l.arena.Call(ctx, http.MethodGet, path, nil)
		var refused *client.Refusal
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests:
			if err := waitUnlessEnded(ctx, retryAfter(refused)); err != nil {
				return false, err
			}
			continue
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			return false, nil
		case err != nil:
			return false, err
		}
		if text, ok := into.(*[]byte); ok {
			*text = a.Body
			return true, nil
		}
		return true, json.Unmarshal(a.Body, into)
	}
}

func retryAfter(r *client.Refusal) time.Duration {
	seconds, err := strconv.Atoi(r.RetryAfter)
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return time.Duration(seconds) * time.Second
}

func waitUnlessEnded(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
