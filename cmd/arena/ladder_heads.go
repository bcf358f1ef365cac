package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"hexarena/domain/ladder"
	"hexarena/projections"
	"hexarena/projections/signedlog"
)

// headRetry is how long Run and Publish wait before they try again to make or get a head.
const headRetry = time.Second

// ladderHead is a signed head of a mode's ladder tree.
type ladderHead struct {
	signedlog.Head
	Signed []byte // the checkpoint, without cosignatures
}

// ladderHeads signs the heads of the ladder trees. After every commit of the read
// model, Run makes a new head for each mode whose tree has grown. A later head of a
// mode is never smaller than an earlier one. This is true even after a restart,
// because the first head includes all events that were in the log at startup. Two
// heads of the same size are always identical.
//
// Play waits only for Publish. Code that sends heads to other parties waits for the
// channel of Changed instead, so it never delays play.
type ladderHeads struct {
	log    signedLogReader
	sign   func(mode string, size uint64, root []byte) (ladderHead, error)
	logger *slog.Logger
	// cosigned returns the cosignature lines that follow the arena's signature in a
	// served checkpoint. It is nil if there are no witnesses.
	cosigned func(mode string, h ladderHead) []byte
	kept     *keptHeads // stores each head before it is served; nil in some tests
	// recheck checks the tree of a mode's results against its newest kept head. renew calls
	// it while the arena refuses to sign heads. It is nil in some tests.
	recheck func(ctx context.Context, mode string) error

	renewing *semaphore.Weighted // held by renew; unlike with a mutex, a caller stops waiting when its context ends

	mu      sync.Mutex // guards the fields below
	heads   map[string]ladderHead
	changed chan struct{} // closed and replaced whenever a mode has a new head
}

func newLadderHeads(log signedLogReader, sign func(mode string, size uint64, root []byte) (ladderHead, error), logger *slog.Logger) *ladderHeads {
	return &ladderHeads{log: log, sign: sign, logger: logger, renewing: semaphore.NewWeighted(1), heads: map[string]ladderHead{}, changed: make(chan struct{})}
}

// Run keeps the heads up to date until ctx ends or the read model stops.
func (h *ladderHeads) Run(ctx context.Context) {
	select {
	case <-h.log.whole:
	case <-ctx.Done():
		return
	}
	for {
		changed := h.log.runner.Changed()
		if h.log.runner.Err() != nil {
			return
		}
		var retry <-chan time.Time
		for _, mode := range ladder.Modes {
			if err := h.renew(ctx, mode); err != nil && ctx.Err() == nil {
				h.logger.Error("ladder head not signed; retrying", "mode", mode, "error", err)
				retry = time.After(headRetry)
			}
		}
		if h.refused() != nil {
			retry = time.After(headRetry)
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}

// check returns an error if the tree of a mode does not continue the heads that were
// served, because the log has lost events.
func (h *ladderHeads) check(ctx context.Context) error {
	for _, mode := range ladder.Modes {
		if err := h.renew(ctx, mode); err != nil {
			return err
		}
	}
	return nil
}

// renew signs a new head if a mode's tree has grown. It also notices if the tree no longer
// continues the last head. While the kept heads forbid serving any head, it checks the
// trees again.
func (h *ladderHeads) renew(ctx context.Context, mode string) error {
	if err := h.renewing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for another head: %w", err)
	}
	defer h.renewing.Release(1)
	if err := h.log.err(); err != nil {
		return err
	}
	size, root, err := h.log.LadderHead(ctx, mode)
	if err != nil {
		return err
	}
	if last, ok := h.newest(mode); ok && size == last.Size && bytes.Equal(root, last.Root) && h.refused() == nil {
		return nil
	}
	head, err := h.sign(mode, size, root)
	if err == nil && h.refused() != nil && h.recheck != nil {
		err = h.recheck(ctx, mode)
	}
	if err == nil && h.kept != nil {
		err = h.kept.keepNewest(head.Head, func(from, to uint64) ([][]byte, error) { return h.log.LadderConsistency(ctx, mode, from, to) })
	}
	if err != nil {
		return err
	}
	if last, ok := h.newest(mode); ok && size <= last.Size {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heads[mode] = head
	close(h.changed)
	h.changed = make(chan struct{})
	return nil
}

func (h *ladderHeads) newest(mode string) (head ladderHead, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	head, ok = h.heads[mode]
	return head, ok
}

// refused returns why the kept heads forbid serving any head, or nil.
func (h *ladderHeads) refused() error {
	if h.kept == nil {
		return nil
	}
	return h.kept.err()
}

// Changed returns a channel that is closed when a mode has a newer head.
func (h *ladderHeads) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Publish waits until the served checkpoint of a mode includes the ladder's event at
// the given revision. While no head can be served, Publish keeps waiting.
func (h *ladderHeads) Publish(ctx context.Context, mode string, revision uint64) error {
	for {
		changed := h.Changed()
		head, err := h.Head(mode)
		if err == nil && head.Size > revision {
			return nil
		}
		var retry <-chan time.Time
		if err != nil {
			retry = time.After(headRetry) // the newest head may be served again; that does not close changed
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
			return fmt.Errorf("wait for a signed head with revision %d of the ladder of %s: %w", revision, mode, ctx.Err())
		}
	}
}

// Head returns the newest head of a mode, without cosignatures.
func (h *ladderHeads) Head(mode string) (ladderHead, error) {
	if err := h.log.err(); err != nil {
		return ladderHead{}, err
	}
	if err := h.refused(); err != nil {
		return ladderHead{}, fmt.Errorf("%w: %w", projections.ErrBehind, err)
	}
	head, ok := h.newest(mode)
	if !ok {
		return ladderHead{}, projections.ErrBehind
	}
	return head, nil
}

// Checkpoint implements api.Options.Checkpoint. It returns the newest head of a mode,
// with the cosignatures that have arrived so far.
func (h *ladderHeads) Checkpoint(mode string) (size uint64, signed []byte, err error) {
	head, err := h.Head(mode)
	if err != nil {
		return 0, nil, err
	}
	signed = append(signed, head.Signed...)
	if h.cosigned != nil {
		signed = append(signed, h.cosigned(mode, head)...)
	}
	return head.Size, signed, nil
}

// publish implements referee.Options.Publish.
func (a *arena) publish(ctx context.Context, s ladder.Seating) error {
	return a.heads.Publish(ctx, s.Mode, s.Revision)
}
