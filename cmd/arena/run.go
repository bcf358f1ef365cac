package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/adapters/lease"
	"hexarena/cmd/arena/listen"
	"hexarena/eventstore"
	"hexarena/projections"
)

// stopTime is how long matches may take to stop.
const stopTime = 10 * time.Second

// run serves and plays until ctx ends or a part fails, and then stops in the
// order that loses nothing: no new tables, matches left in the log as they
// stand, the lease released, calls answered, read models last, since a call
// waits until what it wrote can be read.
func (a *arena) run(ctx context.Context) error {
	defer func() {
		if err := a.close(); err != nil {
			a.logger.Warn("stopping", "error", err)
		}
	}()
	models, stopModels := context.WithCancel(context.WithoutCancel(ctx))
	defer stopModels()
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range a.runners {
		g.Go(func() error { return unlessItStopped(r, r.Run(models)) })
	}
	for _, background := range []func(context.Context){
		a.accounts.Run,
		a.live.Run,
		func(ctx context.Context) { a.mailer.Run(ctx, a.logger) },
	} {
		g.Go(func() error { background(models); return nil })
	}
	g.Go(func() error { return a.watchNode(ctx) })
	g.Go(func() error { return a.serveUpToDate(ctx) })
	g.Go(func() error { return unlessStopped(ctx, a.results.catchUp(ctx)) })
	g.Go(func() error { return listen.Serve(a.admin, a.listeners.admin) })
	if a.Play {
		g.Go(func() error { return a.play(ctx) })
	}
	g.Go(func() error {
		defer stopModels()
		<-ctx.Done()
		a.shutDown(context.WithoutCancel(ctx))
		return nil
	})
	return g.Wait()
}

// watchNode ends everything with a log that cannot write any more.
func (a *arena) watchNode(ctx context.Context) error {
	select {
	case err := <-a.nodeEnded:
		return fmt.Errorf("the embedded node has ended: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// serveUpToDate serves the API once the read models hold all that the log held,
// so that nothing that was there before a restart is missing after it. Callers
// wait meanwhile.
func (a *arena) serveUpToDate(ctx context.Context) error {
	for _, r := range a.runners {
		if r == a.results.runner {
			continue // it reads every match, and says so until it is done
		}
		if err := unlessItStopped(r, r.Sync(ctx)); err != nil {
			return unlessStopped(ctx, err)
		}
	}
	close(a.upToDate)
	return listen.Serve(a.server, a.listeners.public)
}

// unlessItStopped passes over that a read model has stopped for good: the rest
// goes on, and /ready tells.
func unlessItStopped(r *projections.Runner, err error) error {
	if r.Err() == nil {
		return err
	}
	return nil
}

// shutDown lets the API answer the calls that it has received. A slow caller
// cannot delay the stop: listen.Shutdown cuts it off.
func (a *arena) shutDown(ctx context.Context) {
	if err := listen.Shutdown(ctx, a.server, a.admin); err != nil {
		a.logger.Warn("the stop cuts off calls", "error", err)
	}
}

// play plays until ctx ends. A lease that could not be renewed while the log was
// away is taken again once the log is back, unless another plays by then.
func (a *arena) play(ctx context.Context) error {
	for {
		err := a.playUnderLease(ctx)
		if !errors.Is(err, lease.ErrUnrenewed) {
			return err
		}
		a.logger.Warn("playing pauses until the log is back", "error", err)
		for err = eventstore.ErrUnavailable; errors.Is(err, eventstore.ErrUnavailable) && ctx.Err() == nil; {
			err = a.takeLease(ctx)
		}
		if err != nil {
			return unlessStopped(ctx, err)
		}
		a.logger.Info("playing goes on")
	}
}

// playUnderLease ticks until ctx ends or the lease is lost: then another may
// play, and this one must not. It begins with an up-to-date directory, so that
// a bot that moved is dialled where it is. The lease is released as soon as
// nothing plays any more.
func (a *arena) playUnderLease(ctx context.Context) error {
	if err := a.people.CatchUp(ctx); err != nil {
		if a.people.runner.Err() != nil {
			a.logger.Error("nothing is seated or played", "error", err)
			return nil
		}
		return unlessStopped(ctx, err)
	}
	ticking, cancel := context.WithCancel(ctx)
	defer cancel()
	a.seated.Store(&seated{a.referee, a.tick, a.ladders})
	defer a.seated.Store(nil)
	var background sync.WaitGroup
	background.Go(func() { a.tick.Run(ticking) })
	background.Go(func() { a.notices.Run(ticking) })
	background.Go(func() { a.auth.Mend(ticking, a.people.Deleted) })
	var lost error
	select {
	case <-a.lease.Lost():
		lost = fmt.Errorf("the player's lease is lost: %w", a.lease.Err())
	case <-ctx.Done():
		a.tick.Drain()
	}
	cancel()
	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancelStop()
	stopped := a.referee.Stop(stop)
	background.Wait()
	if stopped != nil {
		return fmt.Errorf("matches did not stop in time: %w", errors.Join(stopped, lost))
	}
	return errors.Join(lost, a.lease.Release(stop))
}

// unlessStopped returns nil once ctx has ended: a failure after that is its
// consequence.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
