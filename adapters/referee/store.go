package referee

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// How patient a match is with the log.
const (
	attemptTime = 5 * time.Second // one call, which a stop lets end
	firstPause  = 50 * time.Millisecond
	longPause   = time.Second
)

// errUnreadable says that what is stored cannot be folded; no retrying mends
// that.
var errUnreadable = errors.New("the match's stream cannot be folded")

// load folds what the log has of the match.
func (p *play) load(ctx context.Context) error {
	fresh := p.state
	return p.retry(ctx, func(ctx context.Context) error {
		p.state, p.expected, p.played = fresh, eventstore.NoStream, 0
		for r, err := range p.config.Log.Read(ctx, p.stream, 0, eventstore.ReadOptions{}) {
			if err != nil {
				return err
			}
			if err := p.fold(r); err != nil {
				return fmt.Errorf("%w: %w", errUnreadable, err)
			}
		}
		return nil
	})
}

func (p *play) fold(r eventstore.Recorded) error {
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	m, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	if m.PlayedMs != nil {
		p.played = time.Duration(*m.PlayedMs) * time.Millisecond
	}
	p.state = match.Evolve(p.state, e)
	p.expected, p.last = eventstore.At(r.Revision), r.ID
	return nil
}

// append stores events at the exact revision that was folded, and folds them.
// While the log is away it tries again, with the same ids, and the match's
// clocks stand still. errReplaced says that somebody else was faster.
func (p *play) append(ctx context.Context, events []match.Event) error {
	if ctx.Err() != nil {
		return errStopped
	}
	encoded, err := eventstore.EncodeAll(events, p.metadata())
	if err != nil {
		return err
	}
	var stored eventstore.Appended
	err = p.retry(ctx, func(ctx context.Context) (err error) {
		stored, err = p.config.Log.Append(ctx, p.stream, p.expected, encoded...)
		return err
	})
	if eventstore.IsWrongVersion(err) {
		return fmt.Errorf("%w: %w", errReplaced, err)
	}
	if err != nil {
		return err
	}
	for _, e := range events {
		p.state = match.Evolve(p.state, e)
	}
	p.expected, p.last = eventstore.At(stored.Revision), encoded[len(encoded)-1].ID
	return nil
}

func (p *play) metadata() eventstore.Metadata {
	played := p.played.Milliseconds()
	m := eventstore.Metadata{At: time.Now(), PlayedMs: &played, Correlation: p.seating.MatchID}
	if p.request != "" {
		m.Correlation = p.request
	}
	if p.expected != eventstore.NoStream {
		m.Causation = p.last.String()
	}
	return m
}

// retry calls the log until it answers for good, or until ctx ends: then it
// returns errStopped. A call under way is not broken off by a stop, so that an
// answer that is being stored is not lost.
func (p *play) retry(ctx context.Context, call func(context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := attempt(ctx, call)
		if err == nil || isFinal(err) {
			return err
		}
		p.log().Debug("the log does not answer", "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errStopped, err)
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

func attempt(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	return call(ctx)
}

func isFinal(err error) bool {
	return eventstore.IsWrongVersion(err) ||
		errors.Is(err, eventstore.ErrStreamDeleted) ||
		errors.Is(err, eventstore.ErrTooLarge) ||
		errors.Is(err, errUnreadable)
}
