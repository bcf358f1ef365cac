package lease_test

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"hexarena/eventstore"
)

// The type faulty is a log with a bad connection.
type faulty struct {
	eventstore.Log
	losing    atomic.Int64 // number of calls that will fail because the log has lost events
	away      atomic.Bool  // if true, every call fails immediately
	hung      atomic.Bool  // if true, every call lasts until its context ends
	lostAcks  atomic.Int64 // number of appends that will be stored but return an error
	pauseNext atomic.Int64 // how long the next append will freeze, in nanoseconds, as if the process were stopped
}

func (f *faulty) fault(ctx context.Context) error {
	switch {
	case f.losing.Add(-1) >= 0:
		return eventstore.ErrEventsLost
	case f.hung.Load():
		<-ctx.Done()
		return eventstore.ErrUnavailable
	case f.away.Load():
		return eventstore.ErrUnavailable
	}
	return nil
}

func (f *faulty) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if d := f.pauseNext.Swap(0); d > 0 {
		<-time.After(time.Duration(d))
		ctx = context.WithoutCancel(ctx)
	}
	if err := f.fault(ctx); err != nil {
		return eventstore.Appended{}, err
	}
	appended, err := f.Log.Append(ctx, id, expected, events...)
	if err == nil && f.lostAcks.Add(-1) >= 0 {
		return eventstore.Appended{}, eventstore.ErrUnavailable
	}
	return appended, err
}

func (f *faulty) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if err := f.fault(ctx); err != nil {
		return func(yield func(eventstore.Recorded, error) bool) { yield(eventstore.Recorded{}, err) }
	}
	return f.Log.Read(context.WithoutCancel(ctx), id, from, opt)
}

func (f *faulty) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	if err := f.fault(ctx); err != nil {
		return err
	}
	return f.Log.SetMetadata(ctx, id, m)
}
