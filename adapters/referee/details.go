package referee

import (
	"context"
	"sync"
	"time"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// detailsTime is how long the end of a run waits for the details that are not
// stored yet.
const detailsTime = 5 * time.Second

// details appends the details of a match to their own stream, in the background,
// so that they never delay the match. The rules bound their number: a seat has at
// most three strikes. While the log is unavailable, details retries. Details that
// are not stored by detailsTime after the run ends are lost
// (docs/adr/0045-details-of-failures-are-private.md).
type details struct {
	run  *run
	ctx  context.Context // ends the retries
	stop context.CancelFunc

	mu      sync.Mutex // guards the fields below
	queue   []match.Event
	writing bool
	writer  sync.WaitGroup
}

func newDetails(ctx context.Context, p *run) *details {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // a referee that stops still stores the details of its last batch
	return &details{run: p, ctx: ctx, stop: stop}
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

// write appends the queue until it is empty.
func (d *details) write() {
	for events := d.take(); len(events) > 0; events = d.take() {
		if err := d.append(events); err != nil {
			d.run.log().Warn("details of failed decisions are not stored", "decisions", len(events), "error", err)
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

// append expects no revision, because the order of details does not matter: a
// reader counts the first event of each decision.
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

// close waits until all details are stored, for at most detailsTime.
func (d *details) close() {
	defer d.stop()
	defer time.AfterFunc(detailsTime, d.stop).Stop()
	d.writer.Wait()
}
