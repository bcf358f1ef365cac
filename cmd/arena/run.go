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

// stopTime limits how long matches may take to stop.
const stopTime = 10 * time.Second

// run serves and plays until ctx ends or a part fails. Then it stops the parts in
// an order that loses no data:
//
//   - It seats no new tables and stops the matches, whose state is in the log. Then
//     it releases the lease.
//   - At the same time, it completes the pending calls.
//   - After the calls, it stops the read models, because a call that writes waits
//     until a read model has folded the write.
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
		a.heads.Run,
		a.cosigners.Run,
		func(ctx context.Context) { a.mailer.Run(ctx, a.logger) },
	} {
		g.Go(func() error { background(models); return nil })
	}
	g.Go(func() error { return a.watchNode(ctx) })
	g.Go(func() error { return a.serveUpToDate(ctx) })
	g.Go(func() error { return unlessStopped(ctx, a.signedLog.catchUp(ctx)) })
	g.Go(func() error { return listen.Serve(a.admin, a.listeners.admin) })
	if a.Play {
		g.Go(func() error { a.secrets.Follow(models, a.logger); return nil })
		if a.beacon != nil {
			g.Go(func() error { a.beacon.Run(models); return nil })
		}
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

// watchNode returns an error, which stops the arena, when the embedded node can no
// longer write.
func (a *arena) watchNode(ctx context.Context) error {
	select {
	case err := <-a.nodeEnded:
		return fmt.Errorf("the embedded node stopped: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// serveUpToDate serves the API once the read models have folded all events that were
// in the log at startup. Until then, callers wait. Otherwise, data would seem to be
// missing after a restart.
func (a *arena) serveUpToDate(ctx context.Context) error {
	for _, r := range a.runners {
		if r == a.signedLog.runner {
			continue // reading every match takes a long time; until it is done, calls that need the signed log get 503
		}
		if err := unlessItStopped(r, r.Sync(ctx)); err != nil {
			return unlessStopped(ctx, err)
		}
	}
	close(a.upToDate)
	return listen.Serve(a.server, a.limited)
}

// unlessItStopped ignores the error of a read model that has stopped for good.
// The other parts continue, and /ready reports it.
func unlessItStopped(r *projections.Runner, err error) error {
	if r.Err() == nil {
		return err
	}
	return nil
}

// shutDown completes the calls that the API has received. A slow caller cannot delay
// the shutdown, because listen.Shutdown cuts off slow calls.
func (a *arena) shutDown(ctx context.Context) {
	if err := listen.Shutdown(ctx, a.server, a.admin); err != nil {
		a.logger.Warn("calls were cut off at shutdown", "error", err)
	}
}

// play seats and plays matches until ctx ends. If the log is unavailable for too long,
// the lease expires. Once the log is back, play takes the lease again, unless another
// process has taken it in the meantime.
func (a *arena) play(ctx context.Context) error {
	for {
		err := a.playUnderLease(ctx)
		if !errors.Is(err, lease.ErrUnrenewed) {
			return err
		}
		a.logger.Warn("playing is paused until the log is available again", "error", err)
		for err = eventstore.ErrUnavailable; errors.Is(err, eventstore.ErrUnavailable) && ctx.Err() == nil; {
			err = a.takeLease(ctx)
		}
		if err != nil {
			return unlessStopped(ctx, err)
		}
		a.logger.Info("playing continues")
	}
}

// playUnderLease runs ticks until ctx ends or the lease is lost. Once the lease is
// lost, another process may play, so this process must stop playing.
// playUnderLease first brings the directory up to date, so that the referee dials
// the bots' current URLs. After all matches have stopped, it releases the lease.
func (a *arena) playUnderLease(ctx context.Context) error {
	if err := a.directory.CatchUp(ctx); err != nil {
		if a.directory.runner.Err() != nil {
			a.logger.Error("the arena seats no bots and plays no matches", "error", err)
			return nil
		}
		return unlessStopped(ctx, err)
	}
	a.awaitBeacon(ctx)
	ticking, cancel := context.WithCancel(ctx)
	defer cancel()
	a.playing.Store(a.player)
	defer a.playing.Store(nil)
	var background sync.WaitGroup
	background.Go(func() { a.player.tick.Run(ticking) })
	background.Go(func() { a.player.trials.run(ticking) })
	background.Go(func() { a.notices.Run(ticking) })
	background.Go(func() { a.auth.FinishDeletions(ticking, a.directory.Deleted) })
	var lost error
	select {
	case <-a.lease.Lost():
		lost = fmt.Errorf("the player's lease is lost: %w", a.lease.Err())
	case <-ctx.Done():
		a.player.tick.Drain()
	}
	cancel()
	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancelStop()
	stopped := errors.Join(a.player.referee.Stop(stop), a.player.trials.referee.Stop(stop))
	background.Wait()
	if stopped != nil {
		return fmt.Errorf("matches did not stop in time: %w", errors.Join(stopped, lost))
	}
	return errors.Join(lost, a.lease.Release(stop))
}

// unlessStopped returns err. If ctx has ended, it returns nil, because failures are
// then caused by the shutdown.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
