package main

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"hexarena/projections"
	"hexarena/projections/signedlog"
)

// signedLogReader gives the API access to the signed log. At startup, it returns
// errors until the signed log contains all results that the event log had at that
// time. A head with fewer results would look as if the event log had been truncated.
// It also returns errors once its runner has stopped.
type signedLogReader struct {
	*signedlog.SignedLog
	runner *projections.Runner
	whole  chan struct{} // closed once all results that were in the event log at startup are included, or the runner has stopped
}

func newSignedLogReader(log *signedlog.SignedLog, runner *projections.Runner) signedLogReader {
	return signedLogReader{SignedLog: log, runner: runner, whole: make(chan struct{})}
}

// catchUp waits until all results that are in the event log are included, or until the
// runner has stopped.
func (r signedLogReader) catchUp(ctx context.Context) error {
	err := unlessItStopped(r.runner, r.runner.UpToDate(ctx))
	if err == nil {
		close(r.whole)
	}
	return err
}

// awaitWhole returns once all results that were in the event log at startup are
// included.
func (r signedLogReader) awaitWhole(ctx context.Context) error {
	select {
	case <-r.whole:
	case <-ctx.Done():
	}
	return r.err()
}

func (r signedLogReader) err() error {
	if err := r.runner.Serving(); err != nil {
		return err
	}
	select {
	case <-r.whole:
		return nil
	default:
		return projections.ErrBehind
	}
}

// Size implements api.SignedLog.
func (r signedLogReader) Size(ctx context.Context, mode string) (uint64, error) {
	if err := r.err(); err != nil {
		return 0, err
	}
	return r.SignedLog.Size(ctx, mode)
}

// Head implements api.SignedLog.
func (r signedLogReader) Head(ctx context.Context, mode string) (size uint64, root []byte, err error) {
	if err := r.err(); err != nil {
		return 0, nil, err
	}
	return r.SignedLog.Head(ctx, mode)
}

// Inclusion implements api.SignedLog.
func (r signedLogReader) Inclusion(ctx context.Context, mode, matchID string) (i signedlog.Inclusion, found bool, err error) {
	if err := r.err(); err != nil {
		return i, false, err
	}
	return r.SignedLog.Inclusion(ctx, mode, matchID)
}

// LadderSize returns the number of entries of a mode's ladder tree.
func (r signedLogReader) LadderSize(ctx context.Context, mode string) (uint64, error) {
	if err := r.err(); err != nil {
		return 0, err
	}
	return r.SignedLog.LadderSize(ctx, mode)
}

// Tile implements api.SignedLog.
func (r signedLogReader) Tile(ctx context.Context, mode string, t tlog.Tile) (data []byte, found bool, err error) {
	if err := r.err(); err != nil {
		return nil, false, err
	}
	return r.SignedLog.Tile(ctx, mode, t)
}

// signLadderHead signs a head of a ladder tree.
func (a *arena) signLadderHead(mode string, size uint64, root []byte) (ladderHead, error) {
	h := ladderHead{Head: signedlog.Head{Origin: signedlog.LadderOrigin(a.host, mode), Size: size, Root: root}}
	var err error
	h.Signed, err = signedlog.Sign(h.Head, a.secrets.Platform())
	return h, err
}

// ladderKey returns the key that verifies the heads of a mode's ladder tree, in note
// format.
func (a *arena) ladderKey(mode string) (string, error) {
	return signedlog.VerifierKey(signedlog.LadderOrigin(a.host, mode), a.public)
}

// recheckResults checks whether the tree of a mode's results continues its newest kept head.
func (a *arena) recheckResults(ctx context.Context, mode string) error {
	size, root, err := a.signedLog.Head(ctx, mode)
	if err != nil {
		return err
	}
	_, err = a.signHead(mode, size, root)
	return err
}

// signHead stores and signs a head of a mode's signed log. The head's origin contains the
// arena's host.
func (a *arena) signHead(mode string, size uint64, root []byte) ([]byte, error) {
	h := signedlog.Head{Origin: signedlog.Origin(a.host, mode), Size: size, Root: root}
	if a.heads.kept != nil {
		prove := func(from, to uint64) ([][]byte, error) {
			return a.signedLog.Consistency(context.Background(), mode, from, to)
		}
		if err := a.heads.kept.keep(h, prove); err != nil {
			return nil, fmt.Errorf("%w: %w", projections.ErrBehind, err)
		}
	}
	return signedlog.Sign(h, a.secrets.Platform())
}
