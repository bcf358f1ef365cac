package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
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
//   - It seats no new tables and stops the matches, whose state is in the log. Other
//     processes continue the matches. Then it releases the lease.
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
	for part, background := range map[string]func(context.Context){
		"accounts":  a.accounts.Run,
		"live":      a.live.Run,
		"heads":     a.heads.Run,
		"cosigners": a.cosigners.Run,
		"mailer":    func(ctx context.Context) { a.mailer.Run(ctx, a.logger) },
	} {
		g.Go(labeled(models, part, func(ctx context.Context) error { background(ctx); return nil }))
	}
	g.Go(func() error { return a.watchNode(ctx) })
	g.Go(labeled(ctx, "serve", a.serveUpToDate))
	g.Go(labeled(ctx, "signed log", func(ctx context.Context) error { return unlessStopped(ctx, a.signedLog.catchUp(ctx)) }))
	g.Go(func() error { return listen.Serve(a.admin, a.listeners.admin) })
	if a.Play {
		g.Go(labeled(models, "secrets", func(ctx context.Context) error { a.secrets.Follow(ctx, a.logger); return nil }))
		if a.beacon != nil {
			g.Go(func() error { a.beacon.Run(models); return nil })
		}
		g.Go(labeled(ctx, "play", a.play))
	}
	g.Go(func() error {
		defer stopModels()
		<-ctx.Done()
		a.shutDown(context.WithoutCancel(ctx))
		return nil
	})
	return g.Wait()
}

// labeled returns a function that calls f with a profiler label, which names a part of
// the arena.
func labeled(ctx context.Context, part string, f func(context.Context) error) func() error {
	return func() (err error) {
		pprof.Do(ctx, pprof.Labels("part", part), func(ctx context.Context) { err = f(ctx) })
		return err
	}
}

// releaseMemory returns unused memory to the operating system while the arena is idle.
// Because of gcPercent, an idle arena would keep seven times the memory that it needs.
// releaseMemory is for a process that runs only one arena.
func releaseMemory(ctx context.Context) {
	var before, now debug.GCStats
	for eventstore.Sleep(ctx, idleTime) == nil {
		debug.ReadGCStats(&now)
		if now.NumGC == before.NumGC {
			debug.FreeOSMemory() // counts as one collection
			now.NumGC++
		}
		before.NumGC = now.NumGC
	}
}

// An arena is idle if its garbage collector has not run for idleTime.
const idleTime = 15 * time.Second

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
		if err := unlessItStopped(r, r.UpToDate(ctx)); err != nil {
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

// play takes part once the directory is up to date, so that the referee dials the bots'
// current URLs.
func (a *arena) play(ctx context.Context) error {
	if err := a.directory.runner.UpToDate(ctx); err != nil {
		if stopped := a.directory.runner.Err(); stopped != nil {
			a.logger.Error("the arena seats no bots and plays no matches", "error", stopped)
		}
		return unlessStopped(ctx, unlessItStopped(a.directory.runner, err))
	}
	return a.takePart(ctx, a.seat)
}

// takePart plays matches, and calls seat, until ctx ends or seat fails. Then it hands the
// matches over. It does not wait for seat before that, because ticks and trials may take
// long to stop, and nobody would play the matches during that time. If seat returns the
// lease, takePart finally releases it.
func (a *arena) takePart(ctx context.Context, seat func(context.Context) (*seater, *lease.Lease, error)) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	left := make(chan error, 1) // receives a value once the matches have been handed over
	go func() { left <- a.playUntilLeft(ctx, end) }()
	s, held, err := seat(ctx)
	end()
	err = errors.Join(err, <-left)
	if held == nil {
		return err
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if held.Err() == nil {
		err = errors.Join(err, s.assigner.Assign(stop)) // tables that a tick has just seated
	}
	return errors.Join(err, held.Release(stop))
}

// playUntilLeft plays the matches that are assigned to this process until ctx ends. If this
// process may no longer take part, playUntilLeft calls end, and leaves the matches to the
// other process with the same id. Otherwise, it hands them over.
func (a *arena) playUntilLeft(ctx context.Context, end func()) error {
	stopped := make(chan error, 1) // receives a value once the matches have stopped
	context.AfterFunc(ctx, func() { stopped <- a.stopMatches(ctx) })
	err := a.player.members.Run(ctx, a.player.referee)
	end()
	if err == nil {
		err = a.handOver(ctx, stopped)
	}
	return errors.Join(err, <-stopped)
}

// handOver hands the matches over to other processes. If this process seats, it assigns
// its matches to others itself. It does not wait long for slow connections to bots: once
// the other processes have claimed the matches, this process cannot append to them.
func (a *arena) handOver(ctx context.Context, stopped chan error) error {
	select {
	case err := <-stopped:
		stopped <- err
	case <-time.After(handoverTime):
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := a.player.members.Leave(ctx)
	if s := a.seating.Load(); s != nil {
		if err := s.assigner.Assign(ctx); err != nil {
			a.logger.Warn("could not hand the matches over at once", "error", err)
		}
	}
	return err
}

// stopMatches stops all matches of this process.
func (a *arena) stopMatches(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := a.player.referee.Stop(ctx); err != nil {
		return fmt.Errorf("matches did not stop in time: %w", err)
	}
	return nil
}

// seat waits for the lease, and seats tables while it holds the lease, until ctx ends.
// If this process still holds the lease then, seat returns it.
func (a *arena) seat(ctx context.Context) (*seater, *lease.Lease, error) {
	for {
		held, err := lease.Acquire(ctx, a.log, a.player.folder)
		if err != nil {
			return nil, nil, unlessStopped(ctx, err)
		}
		a.awaitBeacon(ctx)
		s := a.newSeater(held)
		a.logger.Info("this process seats tables", "generation", held.Generation())
		if err := a.seatUnder(ctx, s, held); err != nil || ctx.Err() != nil && held.Err() == nil {
			return s, held, err
		}
		_ = held.Release(ctx) // only frees resources, because the lease is lost
		a.logger.Warn("this process seats no tables until it has the lease again", "error", held.Err())
	}
}

// seatUnder seats tables and plays trials until ctx ends or the lease is lost. Once the
// lease is lost, another process may seat. When seatUnder returns, the trials have
// stopped.
func (a *arena) seatUnder(ctx context.Context, s *seater, held *lease.Lease) error {
	ticking, cancel := context.WithCancel(ctx)
	defer cancel()
	a.seating.Store(s)
	defer a.seating.Store(nil)
	var background sync.WaitGroup
	for part, run := range map[string]func(context.Context){
		"tick":      s.tick.Run,
		"trials":    s.trials.run,
		"notices":   a.notices.Run,
		"deletions": func(ctx context.Context) { a.auth.FinishDeletions(ctx, a.directory.Deleted) },
		"assign":    func(ctx context.Context) { a.player.members.Watch(ctx, s.assigner.Assign) },
	} {
		background.Go(func() { pprof.Do(ticking, pprof.Labels("part", part), run) })
	}
	select {
	case <-held.Lost():
	case <-ctx.Done():
		s.tick.Drain()
	}
	cancel()
	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancelStop()
	err := s.trials.referee.Stop(stop)
	background.Wait()
	if err != nil {
		return fmt.Errorf("trials did not stop in time: %w", err)
	}
	return nil
}

// unlessStopped returns err. If ctx has ended, it returns nil, because failures are
// then caused by the shutdown.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
