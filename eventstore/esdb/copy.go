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

// The steps of a copy, in their order.
const (
	CopySurveys  = "survey the source"
	CopyCompares = "compare what the target holds"
	CopyWrites   = "copy"
	CopyVerifies = "verify the target"
)

// CopyProgress is told, now and then, how many events a step of a copy has
// seen, and of how many; 0 where that is not known.
type CopyProgress func(step string, done, total uint64)

// Copied says what a target holds of its source after a copy.
type Copied struct {
	Events     uint64            // of streams; metadata and tombstones are not counted
	Written    uint64            // of Events: by this call; the others were there
	Expired    uint64            // left out, since their $maxAge was over
	Streams    int               // with events or a tombstone
	Tombstones int               // of Streams
	Described  int               // streams that have metadata
	Renumbered int               // streams of which the source did not hold every revision
	Sum        [sha256.Size]byte // over every event as the target holds it, in the order of $all
}

// The reasons for which a copy ends that are not the log's own.
var (
	// ErrNoCopy refuses a target that holds anything but the beginning of a copy
	// of the source.
	ErrNoCopy = errors.New("it holds something else than a copy of this source")
	// ErrGrown says that what the source held at first was copied and verified,
	// but that it was written meanwhile.
	ErrGrown = errors.New("the source was written while it was copied")
	// ErrDiffers says that the target does not hold what was written to it.
	ErrDiffers = errors.New("it does not hold what was copied")
)

// copyPatience is how long a copy waits for logs that are away.
const copyPatience = time.Minute

// Copy writes to a log all that another holds, in the order of $all: every
// event with its stream, id, type, content type, data and metadata, each
// stream's last metadata, and tombstones. Streams that the server keeps for
// itself, which begin with $, are left out. What differs in the target is the
// position and the date of each event, and
//
//   - the revisions in a stream of which the source does not hold every event
//     any more (a scavenge removed some): they are counted without the gaps,
//     and a $tb is lowered to fit. Where the source holds all, they are the same;
//   - events whose $maxAge is over are left out, since the target would count
//     their age anew. Age is counted up to the source's last event.
//
// The target is empty, or holds what an earlier copy has left, which may have
// been ended at any point: the copy goes on behind it. The source should not be
// written meanwhile; if it is, ErrGrown says so at the end, and a further copy
// brings the rest. At the end the whole target is read back and compared.
//
// Errors are of one line. Outages heal by themselves unless they last longer
// than a minute.
func Copy(ctx context.Context, from, to *Log, tell CopyProgress) (Copied, error) {
	return newCopier(from, to, tell, copyPatience).copy(ctx)
}

// copier is one copy under way.
type copier struct {
	from, to *Log
	tell     CopyProgress
	patience time.Duration
	every    uint64      // events between two progresses
	waiting  *time.Timer // ends the copy when nothing happens any more

	plan
	step      step
	pending   batch
	described []*planned // streams whose metadata is to be written, in the source's order
	copied    Copied
	sum       sum
}

func newCopier(from, to *Log, tell CopyProgress, patience time.Duration) *copier {
	return &copier{from: from, to: to, tell: tell, patience: patience, every: 256, plan: newPlan(), sum: newSum()}
}

var errStalled = fmt.Errorf("%w for too long: the copy goes on where it has ended when it is begun again", eventstore.ErrUnavailable)

func (c *copier) copy(ctx context.Context) (Copied, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.waiting = time.AfterFunc(c.patience, func() { cancel(errStalled) })
	defer c.waiting.Stop()
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

// heard puts off the end of the copier's patience.
func (c *copier) heard() { c.waiting.Reset(c.patience) }

// step is how far a step of the copy is.
type step struct {
	name        string
	done, total uint64
}

func (c *copier) begin(name string, total uint64) {
	c.step = step{name: name, total: total}
	c.tell(name, 0, total)
}

func (c *copier) advance() {
	c.heard()
	c.step.done++
	if c.step.done%c.every == 0 {
		c.tell(c.step.name, c.step.done, c.step.total)
	}
}

func (c *copier) end() { c.tell(c.step.name, c.step.done, c.step.total) }

// survey reads the whole source to see what there is to be copied.
func (c *copier) survey(ctx context.Context) error {
	c.begin(CopySurveys, 0)
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

// checkGrowth looks for events behind those that were surveyed.
func (c *copier) checkGrowth(ctx context.Context) error {
	for e, err := range c.from.everything(ctx, c.last) {
		switch {
		case err != nil:
			return fmt.Errorf("the source: %w", err)
		case c.last != nil && e.Position == *c.last, systemStream(originalStream(e.StreamID)):
			c.heard()
		default:
			return fmt.Errorf("%w: stop what writes to it and copy again, which brings the rest", ErrGrown)
		}
	}
	return nil
}

// foreign refuses a target for an event that it holds.
func foreign(e *es.RecordedEvent) error {
	return fmt.Errorf("the target: %w: %s@%d (%s)", ErrNoCopy, e.StreamID, e.EventNumber, e.EventType)
}
