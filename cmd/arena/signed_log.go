package main

import (
	"context"

	"hexarena/projections"
	"hexarena/projections/signedlog"
)

// signedLogReader gives the API access to the signed log. It returns errors until
// the signed log contains all results that were in the event log at startup. A
// head with fewer results would look as if the event log had been truncated. It
// also returns errors once its runner has stopped.
type signedLogReader struct {
	*signedlog.SignedLog
	runner *projections.Runner
	whole  chan struct{} // closed once all results that were in the event log at startup are included
}

func newSignedLogReader(log *signedlog.SignedLog, runner *projections.Runner) signedLogReader {
	return signedLogReader{SignedLog: log, runner: runner, whole: make(chan struct{})}
}

// catchUp folds all results that are in the event log.
func (r signedLogReader) catchUp(ctx context.Context) error {
	if err := r.runner.Sync(ctx); err != nil {
		return unlessItStopped(r.runner, err)
	}
	close(r.whole)
	return nil
}

func (r signedLogReader) err() error {
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

// signHead signs a head. The head's origin contains the arena's host.
func (a *arena) signHead(mode string, size uint64, root []byte) ([]byte, error) {
	return signedlog.Sign(signedlog.Head{Origin: signedlog.Origin(a.host, mode), Size: size, Root: root}, a.secrets.Platform())
}
