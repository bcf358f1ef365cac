// Package export writes ended matches as tables of JSON lines or Parquet files. Each
// table is a folder, and each run adds files to it. Run is the only entry point.
// docs/analysts.md describes the tables and the files.
//
// The ladders determine which matches have ended, and in which order. The rows are
// built from the matches' streams. Owners appear only as ids. Owners who have deleted
// their accounts do not appear at all.
//
// A file gets its final name only when it is complete. After that, a run changes the
// file only to remove the ids of deleted accounts. The file export.json records the
// progress. If a run is interrupted at any point, the next run continues from there,
// and the resulting files are the same as those of an uninterrupted run.
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

// Options configure a run. All fields except Mode and Since are required.
type Options struct {
	Dir     string
	Format  string                   // one of Formats
	Mode    string                   // export only this ladder; if empty, export all
	Since   eventstore.Position      // export only matches that ended after this log position
	PerFile int                      // matches in each file
	Report  func(done, total uint64) // called with the progress, in events of the ladders
}

// Done summarizes what a run has written.
type Done struct {
	Matches    int
	Events     int // events of the matches' streams
	Partitions int
	Position   eventstore.Position // the next run will begin after this log position
}

const (
	maxReaders = 4  // number of matches that are turned into rows concurrently
	readAhead  = 32 // number of matches that may wait for an earlier match
)

// Run adds the matches that have ended since the last run to the tables in Dir. An
// error message is a single line.
func Run(ctx context.Context, log eventstore.Log, o Options) (done Done, err error) {
	if err := o.check(); err != nil {
		return Done{}, err
	}
	release, err := projections.Lock(o.Dir)
	if errors.Is(err, projections.ErrInUse) {
		return Done{}, fmt.Errorf("%s: another export is writing to this folder; wait until it ends, or choose another folder", o.Dir)
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
		return fmt.Errorf("format %q does not exist: choose one of %v", o.Format, Formats)
	case o.Mode != "" && !ladder.IsMode(o.Mode):
		return fmt.Errorf("mode %q does not exist: the modes are %s", o.Mode, strings.Join(ladder.Modes, " and "))
	case o.PerFile < 1:
		return errors.New("the number of matches per file must be at least 1")
	}
	return nil
}

// The method modes() returns the modes to export.
func (o Options) modes() []string {
	if o.Mode != "" {
		return []string{o.Mode}
	}
	return ladder.Modes
}

// job is a match together with its rows, which a goroutine builds from the match's
// stream.
type job struct {
	ending ending
	rows   chan *rows // receives one value: nil if the match has no rows
}

// run exports the matches after the state's position, up to the current end of
// the log.
func (s *state) run(ctx context.Context, log eventstore.Log) (Done, error) {
	w, err := s.openWalk(ctx, log)
	if err != nil {
		return Done{}, err
	}
	if err := s.leaveOutDeleted(ctx, log); err != nil {
		return Done{}, err
	}
	group, ctx := errgroup.WithContext(ctx)
	inOrder := make(chan job, readAhead)
	group.Go(func() error {
		err := readMatches(ctx, log, w, inOrder)
		if err == nil {
			close(inOrder) // only after success, because closing the channel completes the last partition
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

// readMatches reads the matches of a walk, several of them concurrently, and sends them
// to the channel inOrder, in the order of the walk.
func readMatches(ctx context.Context, log eventstore.Log, w walk, inOrder chan<- job) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReaders)
	known := &owners{log: log, deleted: map[string]bool{}}
	for e, err := range w.endings(ctx, log) {
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		j := job{e, make(chan *rows, 1)}
		select {
		case inOrder <- j:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), group.Wait())
		}
		group.Go(func() error {
			found, err := readMatch(ctx, log, e, known)
			if err == nil {
				j.rows <- found
			}
			return err
		})
	}
	return group.Wait()
}

// The method write() adds the matches to partitions.
func (s *state) write(ctx context.Context, inOrder <-chan job) (done Done, err error) {
	var p *partition
	defer func() {
		if p != nil {
			err = errors.Join(err, p.discard())
		}
	}()
	for {
		j, more, err := receive(ctx, inOrder)
		if err != nil {
			return done, err
		}
		if !more {
			break
		}
		found, _, err := receive(ctx, j.rows)
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
		s.pass(j.ending)
		s.options.Report(j.ending.nth, j.ending.of)
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

// receive returns the next value of a channel. After the last value, more is false.
// receive also watches ctx, because a run that fails cancels ctx and leaves its
// channels open.
func receive[T any](ctx context.Context, from <-chan T) (value T, more bool, err error) {
	select {
	case value, more = <-from:
		return value, more, nil
	case <-ctx.Done():
		return value, false, context.Cause(ctx)
	}
}
