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

// partition is one more file for each table, named by the position that it
// begins behind. Till all are finished they have other names.
type partition struct {
	matches int
	files   []*file
	group   *errgroup.Group
	failed  context.Context
	stopped bool
}

// file is a table's.
type file struct {
	f       *os.File
	buffer  *bufio.Writer
	sheet   sheet
	matches chan *rows // to be written
	path    string     // once it is finished
}

// ahead is how many matches wait for a table's writer.
const ahead = 8

// openPartition begins a partition behind the state. Each table has a writer of
// its own.
func (s *state) openPartition(ctx context.Context) (*partition, error) {
	p := &partition{}
	p.group, p.failed = errgroup.WithContext(ctx)
	for _, t := range tables {
		name := fmt.Sprintf("%020d.%s", s.Position, s.options.Format)
		dir := filepath.Join(s.options.Dir, t.name)
		f, err := os.Create(filepath.Join(dir, "."+name+".part"))
		if err != nil {
			return nil, errors.Join(err, p.drop())
		}
		file := &file{f: f, buffer: bufio.NewWriterSize(f, 1<<18), matches: make(chan *rows, ahead), path: filepath.Join(dir, name)}
		file.sheet = t.open(s.options.Format, file.buffer)
		p.files = append(p.files, file)
		p.group.Go(file.write)
	}
	return p, nil
}

// add adds a match to every table.
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

// write writes what comes.
func (f *file) write() error {
	for r := range f.matches {
		if err := f.sheet.add(r); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// stop waits for the writers, and says what failed.
func (p *partition) stop() error {
	if !p.stopped {
		p.stopped = true
		for _, f := range p.files {
			close(f.matches)
		}
	}
	return p.group.Wait()
}

// finish makes the files durable, and then gives them their names: that of
// matches last, so that a match that is found there is whole in every table.
func (p *partition) finish() error {
	if err := p.stop(); err != nil {
		return errors.Join(err, p.drop())
	}
	for _, f := range p.files {
		if err := errors.Join(f.sheet.close(), f.buffer.Flush(), f.f.Sync()); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", f.path, err), p.drop())
		}
	}
	for _, f := range p.files {
		if err := errors.Join(f.f.Close(), os.Rename(f.f.Name(), f.path), syncFolder(filepath.Dir(f.path))); err != nil {
			return err
		}
	}
	return nil
}

// drop removes the files of a partition that is given up.
func (p *partition) drop() error {
	errs := []error{p.stop()}
	for _, f := range p.files {
		_ = f.f.Close() // what it holds is given up
		if err := os.Remove(f.f.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sheet encodes one table's rows.
type sheet interface {
	add(r *rows) error
	close() error
}

// table is a kind of rows.
type table struct {
	name string
	open func(format string, w io.Writer) sheet
}

// tables are all, in the order in which their files get their names.
var tables = []table{
	tableOf("seats", func(r *rows) []Seat { return r.seats }),
	tableOf("events", func(r *rows) []Event { return r.events }),
	tableOf("decisions", func(r *rows) []Decision { return r.decisions }),
	tableOf("trades", func(r *rows) []Trade { return r.trades }),
	tableOf("rating_changes", func(r *rows) []RatingChange { return r.ratingChanges }),
	tableOf("matches", func(r *rows) []Match { return r.matches }),
}

func tableOf[R any](name string, pick func(*rows) []R) table {
	return table{name, func(format string, w io.Writer) sheet {
		if format == JSONL {
			return newJSONLines(w, pick)
		}
		return newParquet(w, pick)
	}}
}
