package esdb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// These are the steps of a copy, in order.
const (
	StepSurvey  = "survey the source"
	StepCompare = "compare the target"
	StepWrite   = "copy"
	StepVerify  = "verify the target"
)

// CopyProgress is a function that Copy calls regularly to report its progress. The
// parameter done is the number of events that the current step has processed. The
// parameter total is the number of events in the step, or 0 if it is unknown.
type CopyProgress func(step string, done, total uint64)

// Copied describes the target after a copy.
type Copied struct {
	Events     uint64            // events in the target, without metadata and tombstones
	Written    uint64            // how many of these Events this call wrote; the target already had the others
	Expired    uint64            // events of the source that were left out because of their stream's $maxAge
	Streams    int               // streams with events or a tombstone
	Tombstones int               // how many of these Streams are tombstoned
	Described  int               // streams with metadata
	Renumbered int               // streams whose revisions differ because the source lacks some events
	Sum        [sha256.Size]byte // hash of all events of the target, in the order of $all
}

// These are the errors of Copy that do not come from a log.
var (
	// ErrNoCopy means that the target contains events that do not come from this
	// source.
	ErrNoCopy = errors.New("it contains events that were not copied from this source")
	// ErrGrown means that a program wrote to the source during the copy. All
	// events that the source had when the copy began were copied and verified.
	ErrGrown = errors.New("a program wrote to the source while it was copied")
	// ErrDiffers means that the target does not contain the events that Copy
	// wrote to it.
	ErrDiffers = errors.New("it does not contain the copied events")
)

// copyPatience is how long a copy waits for a log that is unavailable.
const copyPatience = time.Minute

// Copy copies one log to another, in the order of $all. Each event keeps its
// stream, id, type, content type, data and metadata. Copy also copies the last
// metadata of each stream, and the tombstones. It leaves out the server's own
// streams, whose names begin with $.
//
// In the target, each event has a different position and creation date. Apart
// from that, the target differs in two ways:
//
//   - If a scavenge removed some events of a stream from the source, the target
//     numbers the remaining events without gaps and lowers $tb accordingly.
//   - Events older than their stream's $maxAge are left out, because the target
//     would treat them as new. To find an event's age, Copy compares its creation
//     time with that of the last event of the source.
//
// The target must be empty or contain an earlier copy. If the earlier copy was
// interrupted, Copy continues after its last event. No program should write to the
// source during the copy. If one does, Copy returns ErrGrown at the end, and a
// second call to Copy copies the new events. At the end, Copy reads the whole
// target back and compares it with the source.
//
// The text of each error is one line. Copy survives outages of up to a minute.
func Copy(ctx context.Context, from, to *Log, progress CopyProgress) (Copied, error) {
	return newCopier(from, to, progress, copyPatience).copy(ctx)
}

// copier is a copy in progress.
type copier struct {
	from, to *Log
	progress CopyProgress
	patience time.Duration
	every    uint64      // events between two progress reports
	stalled  *time.Timer // cancels the copy if it makes no progress within patience

	plan
	step      step
	pending   batch
	described []*planned // streams whose metadata has not been written yet, in the order of the source
	copied    Copied
	sum       sum
}

func newCopier(from, to *Log, progress CopyProgress, patience time.Duration) *copier {
	return &copier{from: from, to: to, progress: progress, patience: patience, every: 256, plan: newPlan(), sum: newSum()}
}

var errStalled = fmt.Errorf("%w for too long: run the copy again to continue it", eventstore.ErrUnavailable)

func (c *copier) copy(ctx context.Context) (Copied, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.stalled = time.AfterFunc(c.patience, func() { cancel(errStalled) })
	defer c.stalled.Stop()
	for _, step := range []func(context.Context) error{c.survey, c.transfer, c.verify, c.checkGrowth} {
		if err := step(ctx); err != nil {
			if errors.Is(context.Cause(ctx), errStalled) {
				err = fmt.Errorf("%w (%w)", errStalled, err)
			}
			return c.copied, err
		}
	}
	return c.copied, nil
}

// The method alive() restarts the timer that cancels a stalled copy.
func (c *copier) alive() { c.stalled.Reset(c.patience) }

// step holds the progress of one step.
type step struct {
	name        string
	done, total uint64
}

func (c *copier) begin(name string, total uint64) {
	c.step = step{name: name, total: total}
	c.progress(name, 0, total)
}

func (c *copier) advance() {
	c.alive()
	c.step.done++
	if c.step.done%c.every == 0 {
		c.progress(c.step.name, c.step.done, c.step.total)
	}
}

func (c *copier) end() { c.progress(c.step.name, c.step.done, c.step.total) }

// survey reads the whole source and plans the copy.
func (c *copier) survey(ctx context.Context) error {
	c.begin(StepSurvey, 0)
	defer c.end()
	for e, err := range c.from.everything(ctx, nil) {
		if err != nil {
			return fmt.Errorf("the source: %w", err)
		}
		c.advance()
		c.note(e)
	}
	return nil
}

// checkGrowth returns ErrGrown if events were appended to the source after the
// survey.
func (c *copier) checkGrowth(ctx context.Context) error {
	for e, err := range c.from.everything(ctx, c.last) {
		switch {
		case err != nil:
			return fmt.Errorf("the source: %w", err)
		case c.last != nil && e.Position == *c.last, systemStream(originalStream(e.StreamID)):
			c.alive()
		default:
			return fmt.Errorf("%w: stop that program, and copy again to get the new events", ErrGrown)
		}
	}
	return nil
}

// The function foreign() returns the error for an event of the target that is not in
// the source.
func foreign(e *es.RecordedEvent) error {
	return fmt.Errorf("the target: %w: %s@%d (%s)", ErrNoCopy, e.StreamID, e.EventNumber, e.EventType)
}
