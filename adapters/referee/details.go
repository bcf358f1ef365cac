package referee

import (
	"context"
	"sync"
	"time"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// When a run ends, it waits up to detailsTime for details that are not stored yet.
const detailsTime = 5 * time.Second

// detailsGap is how long the writer waits for more details, which often come together, so
// that it appends them together. Without this, the number of appends would depend on which
// goroutine runs first (docs/adr/0057-one-seed-is-one-history.md).
const detailsGap = 10 * time.Millisecond

// The type details appends the details of failed decisions to a separate stream for the
// match. It works in the background and retries while the log is unavailable, so it
// never delays the match. A seat gets at most three strikes, so the number of details
// is limited. Details that are not stored within detailsTime after the end of the run
// are lost (docs/adr/0045-details-of-failures-are-private.md).
type details struct {
	run  *run
	ctx  context.Context // ends the retries
	stop context.CancelFunc

	collecting context.Context // ends the waits for more details
	flush      context.CancelFunc

	mu      sync.Mutex // guards the fields below
	queue   []match.Event
	writing bool
	writer  sync.WaitGroup
}

func newDetails(ctx context.Context, p *run) *details {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // so that a referee that is stopping still stores the details of its last batch
	collecting, flush := context.WithCancel(ctx)
	return &details{run: p, ctx: ctx, stop: stop, collecting: collecting, flush: flush}
}

// add stores details without blocking.
func (d *details) add(events ...match.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, events...)
	if len(d.queue) > 0 && !d.writing {
		d.writing = true
		d.writer.Go(d.write)
	}
}

// write appends the queued details until the queue is empty.
func (d *details) write() {
	_ = eventstore.Sleep(d.collecting, detailsGap)
	for events := d.take(); len(events) > 0; events = d.take() {
		if err := d.append(events); err != nil {
			d.run.log().Warn("could not store the details of failed decisions", "decisions", len(events), "error", err)
		}
	}
}

func (d *details) take() []match.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	events := d.queue
	d.queue, d.writing = nil, len(events) > 0
	return events
}

// append does not set an expected revision, because the order of details does not
// matter: code that reads them uses only the first event for each decision.
func (d *details) append(events []match.Event) error {
	id := d.run.seating.MatchID
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: time.Now(), Correlation: id})
	if err != nil {
		return err
	}
	return eventstore.Retry(d.ctx, func() error {
		ctx, cancel := context.WithTimeout(d.ctx, eventstore.AttemptTime)
		defer cancel()
		_, err := d.run.options.Log.Append(ctx, eventstore.StreamID(match.DetailsStream(id)), eventstore.Any, encoded...)
		return err
	})
}

// close waits until all details are stored, but at most detailsTime.
func (d *details) close() {
	defer d.stop()
	d.flush()
	defer time.AfterFunc(detailsTime, d.stop).Stop()
	d.writer.Wait()
}
