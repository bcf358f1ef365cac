// Package export writes ended matches as tables: JSON lines or Parquet files
// that grow by partitions, each table in a folder of its own. It reads the
// ladders, which say what has ended and in which order, and the matches'
// streams. It knows no read model, and nothing of owners but their ids.
//
// Files appear whole and never change. What a run has finished is said by
// export.json; a run that ends early, however it does, is gone on with by the
// next, and the files are then those of a run that was never stopped.
package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
)

// Options say what is written, and where.
type Options struct {
	Dir     string
	Format  string // one of Formats
	Mode    string // of the ladder; empty: both
	Since   eventstore.Position
	PerFile int                      // matches to a partition
	Tell    func(done, total uint64) // now and then, in events of ladders
}

// Done is what a run has written.
type Done struct {
	Matches    int
	Events     int // of the matches' streams
	Partitions int
	Position   eventstore.Position // the next run begins behind it
}

// readersAtOnce is how many matches are made rows of at once, and readAhead how
// many wait for the one before them.
const (
	readersAtOnce = 4
	readAhead     = 32
)

// Run writes the matches that have ended by now, behind those that Dir holds
// already. Its errors are one line each.
func Run(ctx context.Context, log eventstore.Log, o Options) (done Done, err error) {
	if err := o.check(); err != nil {
		return Done{}, err
	}
	release, err := projections.Lock(o.Dir)
	if errors.Is(err, projections.ErrInUse) {
		return Done{}, fmt.Errorf("%s: another export is writing there", o.Dir)
	}
	if err != nil {
		return Done{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	s, err := begin(ctx, log, o)
	if err != nil {
		return Done{}, err
	}
	return s.run(ctx, log)
}

func (o Options) check() error {
	switch {
	case !slices.Contains(Formats, o.Format):
		return fmt.Errorf("no format is called %q: there are %v", o.Format, Formats)
	case o.Mode != "" && !ladder.IsMode(o.Mode):
		return fmt.Errorf("no mode is called %q: there are %s", o.Mode, strings.Join(ladder.Modes, " and "))
	case o.PerFile < 1:
		return errors.New("a file holds one match at least")
	}
	return nil
}

// modes are those whose matches are written.
func (o Options) modes() []string {
	if o.Mode != "" {
		return []string{o.Mode}
	}
	return ladder.Modes
}

// read is a match that is being read.
type read struct {
	ending ending
	rows   chan *rows // gets one, nil where the match never began
}

// run exports behind the state, up to the end that the log has now.
func (s *state) run(ctx context.Context, log eventstore.Log) (Done, error) {
	w, err := s.openWalk(ctx, log)
	if err != nil {
		return Done{}, err
	}
	group, ctx := errgroup.WithContext(ctx)
	inOrder := make(chan read, readAhead)
	group.Go(func() error {
		err := readMatches(ctx, log, w, inOrder)
		if err == nil {
			close(inOrder) // only then is the open partition whole
		}
		return err
	})
	var done Done
	group.Go(func() error {
		var err error
		done, err = s.write(ctx, inOrder)
		return err
	})
	err = group.Wait()
	done.Position = s.Position
	return done, err
}

// readMatches reads the matches of a walk, several at once, and hands them on
// in its order.
func readMatches(ctx context.Context, log eventstore.Log, w walk, inOrder chan<- read) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readersAtOnce)
	for e, err := range w.endings(ctx, log) {
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		r := read{e, make(chan *rows, 1)}
		select {
		case inOrder <- r:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), group.Wait())
		}
		group.Go(func() error {
			found, err := readMatch(ctx, log, e)
			if err == nil {
				r.rows <- found
			}
			return err
		})
	}
	return group.Wait()
}

// write writes what comes into partitions.
func (s *state) write(ctx context.Context, inOrder <-chan read) (done Done, err error) {
	var p *partition
	defer func() {
		if p != nil {
			err = errors.Join(err, p.drop())
		}
	}()
	for {
		r, more, err := next(ctx, inOrder)
		if err != nil {
			return done, err
		}
		if !more {
			break
		}
		found, err := r.wait(ctx)
		if err != nil {
			return done, err
		}
		if found != nil {
			if p == nil {
				if p, err = s.openPartition(ctx); err != nil {
					return done, err
				}
			}
			if err := p.add(found); err != nil {
				return done, err
			}
			done.Matches++
			done.Events += found.stored
		}
		s.pass(r.ending)
		s.options.Tell(r.ending.nth, r.ending.of)
		if p != nil && p.matches == s.options.PerFile {
			if err := s.finish(&p); err != nil {
				return done, err
			}
			done.Partitions++
		}
	}
	if p == nil {
		return done, nil
	}
	done.Partitions++
	return done, s.finish(&p)
}

// next waits for a match. more is false after the last one. A run that fails
// cancels ctx and leaves the channel open.
func next(ctx context.Context, inOrder <-chan read) (r read, more bool, err error) {
	select {
	case r, more = <-inOrder:
		return r, more, nil
	case <-ctx.Done():
		return read{}, false, context.Cause(ctx)
	}
}

func (r read) wait(ctx context.Context) (*rows, error) {
	select {
	case found := <-r.rows:
		return found, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
