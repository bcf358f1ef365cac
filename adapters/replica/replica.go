// Package replica copies the public part of the arena's log to a second log for
// analysts, the replica, and keeps the replica up to date. The public part consists of
// the ladders, the arena's keys, and each match's stream once the match has ended. For
// a running match, the replica contains only the match's entry in TablesSeated. For an
// account, it contains only the deletion, so that exports can leave out the account's
// id. It contains nothing about bot URLs, sessions or operators' orders.
//
// Copied events keep their ids, types, data, metadata and revisions. Only the deletion
// of an account gets a different revision, because it is the only event of the account
// that the replica contains. The events of a match come before the ladder event that
// ends the match. Feed continues after the replica's last event, so it does not need
// any other record of its progress.
package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// ErrNotReplica reports that the target contains events that Feed did not copy
// from this source.
var ErrNotReplica = errors.New("it contains events that were not copied from this source; choose an empty log or the source's own replica")

// Progress describes the work of one call to Feed.
type Progress struct {
	Matches  int
	Events   uint64
	Position eventstore.Position // the replica is complete up to this position in the source
	CaughtUp bool                // whether the replica contains all public events that are now in the source
}

// readAhead is the maximum number of batches that have been read from the source but
// not yet appended to the target.
const readAhead = 8

// Feed copies the source's public events that follow the target's last event, and then
// copies new events as they are stored. It calls report after each batch. While either
// log is unavailable, it waits. It returns nil when ctx ends, and an error if it cannot
// continue.
//
// If one of the logs loses events, Feed compares the two logs again. It continues if the
// source still has the events that the target contains. Otherwise, it fails with
// ErrNotReplica, because it cannot remove events from the target.
func Feed(ctx context.Context, from, to eventstore.Log, report func(Progress)) error {
	err := feedUntilLoss(ctx, from, to, report)
	for ctx.Err() == nil && errors.Is(err, eventstore.ErrEventsLost) {
		if err = feedUntilLoss(ctx, from, to, report); errors.Is(err, ErrNotReplica) {
			err = fmt.Errorf("the source has lost events that were copied: %w", err)
		}
	}
	return unlessDone(ctx, err)
}

// feedUntilLoss does the work of Feed until one of the logs loses events.
func feedUntilLoss(ctx context.Context, from, to eventstore.Log, report func(Progress)) error {
	after, err := resume(ctx, from, to)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	batches := make(chan batch, readAhead)
	group.Go(func() error {
		defer close(batches)
		return follow(groupCtx, from, after, batches)
	})
	group.Go(func() error {
		p := Progress{Position: after}
		for b := range batches {
			if err := b.appendTo(groupCtx, to, &p); err != nil {
				return err
			}
			report(p)
		}
		return nil
	})
	return group.Wait()
}

// unlessDone drops errors that occur because ctx has ended.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// resume returns the position in the source after which to continue.
func resume(ctx context.Context, from, to eventstore.Log) (eventstore.Position, error) {
	for last, err := range to.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards}) {
		switch {
		case err != nil:
			return 0, fmt.Errorf("the target: %w", err)
		case kindOf(last.Stream) == matchStream:
			continue // part of a match that an earlier call did not copy completely
		case isDeletion(last):
			continue // has a different revision in the source
		case kindOf(last.Stream) == privateStream:
			return 0, notReplica(last)
		}
		return positionOf(ctx, from, last)
	}
	return 0, ctx.Err()
}

// positionOf finds one of the target's events in the source.
func positionOf(ctx context.Context, from eventstore.Log, copied eventstore.Recorded) (eventstore.Position, error) {
	for r, err := range from.Read(ctx, copied.Stream, copied.Revision, eventstore.ReadOptions{Limit: 1}) {
		if err != nil {
			return 0, fmt.Errorf("the source: %w", err)
		}
		if r.Revision == copied.Revision && r.ID == copied.ID && r.Type == copied.Type && bytes.Equal(r.Data, copied.Data) {
			return r.Position, nil
		}
	}
	return 0, errors.Join(ctx.Err(), notReplica(copied))
}

func notReplica(r eventstore.Recorded) error {
	return fmt.Errorf("the target: %w: %s@%d (%s)", ErrNotReplica, r.Stream, r.Revision, r.Type)
}

// streamKind is the kind of a stream. It determines whether the replica may contain the
// stream.
type streamKind int

const (
	privateStream streamKind = iota // also accounts: see isDeletion
	ladderStream
	keysStream
	matchStream
)

// filter makes the server select the public streams and the accounts. A prefix may
// match other streams too, so kindOf and isDeletion make the final decision.
var filter = eventstore.Filter{StreamPrefixes: []string{ladder.StreamPrefix, arena.KeysStream, match.StreamPrefix, owner.AccountPrefix}}

// isDeletion reports whether an event is the deletion of an account, which is the only
// public event in an account's stream.
func isDeletion(r eventstore.Recorded) bool {
	_, ok := owner.ParseAccountStream(string(r.Stream))
	return ok && r.Type == owner.Deleted{}.EventType()
}

func kindOf(id eventstore.StreamID) streamKind {
	if _, ok := ladder.ModeOf(string(id)); ok {
		return ladderStream
	}
	if id == arena.KeysStream {
		return keysStream
	}
	if matchID, ok := strings.CutPrefix(string(id), match.StreamPrefix); ok && matchID != "" {
		return matchStream
	}
	return privateStream
}
