// Package publish keeps another log fed with what everyone may know: the
// ladders, the arena's keys, and each match's stream once it has ended. Of a
// match that runs there is its entry in TablesSeated alone; of accounts, bots'
// addresses, sessions and operators' orders there is nothing. It knows the
// domain's streams, and no log but by the port.
//
// Nothing is kept beside the two logs: the target says how far it is. Events
// keep their ids, types, data, metadata and revisions; a match stands before
// the ladder's event that ends it, in the order in which ladders ended them.
package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// ErrNoFeed refuses a target that holds anything but the beginning of what is
// published of the source.
var ErrNoFeed = errors.New("it holds something else than what this source publishes")

// Progress is what was published by this call.
type Progress struct {
	Matches  int
	Events   uint64
	Position eventstore.Position // of the source, up to where all is published
	CaughtUp bool                // nothing more is there to be published now
}

// ahead is how many of the source's events are read ahead of the target, with
// the matches that they end.
const ahead = 8

// Feed publishes what the source holds behind the target's last event, and then
// what comes, until ctx ends, which is no error, or with one line. It waits
// while either log is away.
func Feed(ctx context.Context, from, to eventstore.Log, tell func(Progress)) error {
	after, err := resume(ctx, from, to)
	if err != nil {
		return ended(ctx, err)
	}
	group, within := errgroup.WithContext(ctx)
	lots := make(chan lot, ahead)
	group.Go(func() error {
		defer close(lots)
		return collect(within, from, after, lots)
	})
	group.Go(func() error {
		p := Progress{Position: after}
		for l := range lots {
			if err := l.publish(within, to, &p); err != nil {
				return err
			}
			tell(p)
		}
		return nil
	})
	return ended(ctx, group.Wait())
}

// ended is nil for what fails since the caller has had enough.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// chosen are the streams that are followed: matches too, which are gathered till
// they end. A prefix may select more, which is passed over.
var chosen = eventstore.Filter{StreamPrefixes: []string{ladder.StreamPrefix, arena.KeysStream, match.StreamPrefix}}

// resume finds where the source goes on behind what the target holds.
func resume(ctx context.Context, from, to eventstore.Log) (eventstore.Position, error) {
	for held, err := range to.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards}) {
		switch {
		case err != nil:
			return 0, fmt.Errorf("the target: %w", err)
		case kindOf(held.Stream) == ofMatch:
			continue // of the match that was being published
		case kindOf(held.Stream) == ofOthers:
			return 0, foreign(held)
		}
		return positionOf(ctx, from, held)
	}
	return 0, ctx.Err()
}

// positionOf finds an event that the target holds in the source.
func positionOf(ctx context.Context, from eventstore.Log, held eventstore.Recorded) (eventstore.Position, error) {
	for r, err := range from.Read(ctx, held.Stream, held.Revision, eventstore.ReadOptions{Limit: 1}) {
		if err != nil {
			return 0, fmt.Errorf("the source: %w", err)
		}
		if r.Revision == held.Revision && r.ID == held.ID && r.Type == held.Type && bytes.Equal(r.Data, held.Data) {
			return r.Position, nil
		}
	}
	return 0, errors.Join(ctx.Err(), foreign(held))
}

func foreign(held eventstore.Recorded) error {
	return fmt.Errorf("the target: %w: %s@%d (%s)", ErrNoFeed, held.Stream, held.Revision, held.Type)
}

// The kinds of streams, as far as they are told apart here.
type kind int

const (
	ofOthers kind = iota
	ofLadder
	ofKeys
	ofMatch
)

func kindOf(id eventstore.StreamID) kind {
	if _, ok := ladder.ModeOf(string(id)); ok {
		return ofLadder
	}
	switch {
	case id == arena.KeysStream:
		return ofKeys
	case len(id) > len(match.StreamPrefix) && id[:len(match.StreamPrefix)] == match.StreamPrefix:
		return ofMatch
	}
	return ofOthers
}
