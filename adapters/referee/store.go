package referee

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// errUnreadable reports that stored events cannot be folded. Retrying does not
// help.
var errUnreadable = errors.New("the match's stream cannot be folded")

// load folds the stored events of the match. It replaces what an earlier call has folded.
func (p *run) load(ctx context.Context) error {
	return p.retry(ctx, func(ctx context.Context) error {
		p.state, p.expected, p.played, p.used, p.noLines = match.New(p.server), eventstore.NoStream, 0, nil, nil
		p.redialed, p.why, p.request = nil, nil, ""
		for r, err := range p.options.Log.Read(ctx, p.stream, 0, eventstore.ReadOptions{}) {
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

func (p *run) fold(r eventstore.Recorded) error {
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
	if m.UsedMs != nil {
		p.used = m.UsedMs
	}
	p.noLines = m.FailedDials
	p.state = match.Evolve(p.state, e)
	p.expected, p.last = eventstore.At(r.Revision), r.ID
	return nil
}

// append stores events and folds them. See store.
func (p *run) append(ctx context.Context, events []match.Event) error {
	return p.store(ctx, events, match.EvolveAll(p.state, events))
}

// The method store() appends events after the last folded event. The match after these
// events becomes the state. While the log is unavailable, the method retries, and the
// match's clocks do not run. If another referee has appended events, the error is
// errReplaced.
func (p *run) store(ctx context.Context, events []match.Event, after match.Match) error {
	if ctx.Err() != nil {
		return errStopped
	}
	meta := p.metadata()
	meta.Turns, meta.OpeningPips = after.Closing()
	encoded, err := eventstore.EncodeAll(events, meta)
	if err != nil {
		return err
	}
	var stored eventstore.Appended
	err = p.retry(ctx, func(ctx context.Context) (err error) {
		stored, err = p.options.Log.Append(ctx, p.stream, p.expected, encoded...)
		return err
	})
	if eventstore.IsWrongVersion(err) {
		p.fenced.Add(1)
		return fmt.Errorf("%w: %w", errReplaced, err)
	}
	if err != nil {
		return err
	}
	p.state = after
	p.expected, p.last = eventstore.At(stored.Revision), encoded[len(encoded)-1].ID
	p.redialed = nil
	return nil
}

func (p *run) metadata() eventstore.Metadata {
	played := p.played.Milliseconds()
	m := eventstore.Metadata{At: time.Now(), PlayedMs: &played, UsedMs: p.used, RedialMs: p.redialed, FailedDials: p.noLines, Correlation: p.seating.MatchID}
	if p.request != "" {
		m.Correlation = p.request
	}
	if p.expected != eventstore.NoStream {
		m.Causation = p.last.String()
	}
	return m
}

// retry repeats a failed call to the log until ctx ends, and then returns errStopped.
// It does not cancel a call that is in progress when ctx ends, because that could lose
// an answer that is being stored.
func (p *run) retry(ctx context.Context, call func(context.Context) error) error {
	err := eventstore.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventstore.AttemptTime)
		defer cancel()
		err := call(ctx)
		if err != nil {
			p.log().Debug("a call to the log failed", "error", err)
		}
		return err
	}, errUnreadable)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	return err
}
