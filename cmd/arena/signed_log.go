package main

import (
	"context"
	"net/url"

	"hexarena/projections"
	"hexarena/projections/signedlog"
)

// results is the signed log. It answers nothing before it holds what the log
// held at the start, since a head of fewer results would look like one of a log
// that was cut, and nothing once it has stopped.
type results struct {
	*signedlog.SignedLog
	runner *projections.Runner
	whole  chan struct{} // closed once it holds that
}

func newResults(log *signedlog.SignedLog, runner *projections.Runner) results {
	return results{SignedLog: log, runner: runner, whole: make(chan struct{})}
}

// catchUp folds what the log holds.
func (r results) catchUp(ctx context.Context) error {
	if err := r.runner.Sync(ctx); err != nil {
		return unlessItStopped(r.runner, err)
	}
	close(r.whole)
	return nil
}

func (r results) err() error {
	if err := r.runner.Err(); err != nil {
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
func (r results) Size(ctx context.Context, mode string) (uint64, error) {
	if err := r.err(); err != nil {
		return 0, err
	}
	return r.SignedLog.Size(ctx, mode)
}

// Head implements api.SignedLog.
func (r results) Head(ctx context.Context, mode string) (size uint64, root []byte, err error) {
	if err := r.err(); err != nil {
		return 0, nil, err
	}
	return r.SignedLog.Head(ctx, mode)
}

// Inclusion implements api.SignedLog.
func (r results) Inclusion(ctx context.Context, mode, matchID string) (i signedlog.Inclusion, found bool, err error) {
	if err := r.err(); err != nil {
		return i, false, err
	}
	return r.SignedLog.Inclusion(ctx, mode, matchID)
}

// signHead signs a head under the arena's address.
func (a *arena) signHead(mode string, size uint64, root []byte) ([]byte, error) {
	u, err := url.Parse(a.baseURL)
	if err != nil {
		return nil, err
	}
	return signedlog.Sign(signedlog.Head{Origin: signedlog.Origin(u.Host, mode), Size: size, Root: root}, a.secrets.Platform())
}
