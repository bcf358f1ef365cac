package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// partition is a set of new files, one for each table. Its name is the log position
// after which it begins. The files have temporary names until all of them are complete.
type partition struct {
	matches int
	files   []*file
	group   *errgroup.Group
	failed  context.Context
	stopped bool
}

// file is the file of one table in a partition.
type file struct {
	f       *os.File
	buffer  *bufio.Writer
	sheet   sheet
	matches chan *rows // waiting to be written
	path    string     // the final name
}

// maxQueued is the maximum number of matches that wait to be written to a table.
const maxQueued = 8

// openPartition begins a partition after the state's position. A separate goroutine
// writes each table.
func (s *state) openPartition(ctx context.Context) (*partition, error) {
	p := &partition{}
	p.group, p.failed = errgroup.WithContext(ctx)
	for _, t := range tables {
		file, err := s.create(t, fmt.Sprintf("%020d.%s", s.Position, s.options.Format))
		if err != nil {
			return nil, errors.Join(err, p.discard())
		}
		p.files = append(p.files, file)
		p.group.Go(file.write)
	}
	return p, nil
}

// create opens a new file for a table, under a temporary name.
func (s *state) create(t table, name string) (*file, error) {
	dir := filepath.Join(s.options.Dir, t.name)
	f, err := os.Create(filepath.Join(dir, "."+name+".part"))
	if err != nil {
		return nil, err
	}
	created := &file{f: f, buffer: bufio.NewWriterSize(f, 1<<18), matches: make(chan *rows, maxQueued), path: filepath.Join(dir, name)}
	created.sheet = t.open(s.options.Format, created.buffer)
	return created, nil
}

// add adds the rows of a match to each table.
func (p *partition) add(r *rows) error {
	for _, f := range p.files {
		select {
		case f.matches <- r:
		case <-p.failed.Done():
			return errors.Join(p.stop(), context.Cause(p.failed))
		}
	}
	p.matches++
	return nil
}

// The method write() encodes the rows of the queued matches into the file.
func (f *file) write() error {
	for r := range f.matches {
		if err := f.sheet.add(r); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// sync writes the end of the file and syncs the file to disk.
func (f *file) sync() error {
	if err := errors.Join(f.sheet.close(), f.buffer.Flush(), f.f.Sync()); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// publish gives the file its final name.
func (f *file) publish() error {
	return errors.Join(f.f.Close(), os.Rename(f.f.Name(), f.path), syncFolder(filepath.Dir(f.path)))
}

// discard removes the file unless it already has its final name.
func (f *file) discard() error {
	_ = f.f.Close() // its content is discarded
	if err := os.Remove(f.f.Name()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// stop ends the writing goroutines, waits for them, and returns their first error.
func (p *partition) stop() error {
	if !p.stopped {
		p.stopped = true
		for _, f := range p.files {
			close(f.matches)
		}
	}
	return p.group.Wait()
}

// finish syncs the files and then renames them. It renames the file of matches
// last, so that every match in that table is complete in all other tables.
func (p *partition) finish() error {
	if err := p.stop(); err != nil {
		return errors.Join(err, p.discard())
	}
	for _, f := range p.files {
		if err := f.sync(); err != nil {
			return errors.Join(err, p.discard())
		}
	}
	for _, f := range p.files {
		if err := f.publish(); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the files of an unfinished partition.
func (p *partition) discard() error {
	errs := []error{p.stop()}
	for _, f := range p.files {
		errs = append(errs, f.discard())
	}
	return errors.Join(errs...)
}

// table describes one table of the export.
type table struct {
	name string
	open func(format string, w io.Writer) sheet
}

// seatsTable is the only table that names owners.
var seatsTable = tableOf("seats", func(r *rows) []Seat { return r.seats })

// The variable tables lists all tables, in the order in which the method finish()
// renames their files.
var tables = []table{
	seatsTable,
	tableOf("events", func(r *rows) []Event { return r.events }),
	tableOf("decisions", func(r *rows) []Decision { return r.decisions }),
	tableOf("trades", func(r *rows) []Trade { return r.trades }),
	tableOf("rating_changes", func(r *rows) []RatingChange { return r.ratingChanges }),
	tableOf("matches", func(r *rows) []Match { return r.matches }),
}

func tableOf[R any](name string, pick func(*rows) []R) table {
	return table{name, func(format string, w io.Writer) sheet {
		if format == JSONL {
			return jsonLines(w, pick)
		}
		return parquetFile(w, pick)
	}}
}
