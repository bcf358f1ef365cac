package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// stateFile says what of a folder is finished.
const stateFile = "export.json"

// state is how far a folder's export is, and what it is one of. It is written
// before the first file, and after each partition.
type state struct {
	Schema   int                 `json:"schema"`
	Format   string              `json:"format"`
	Mode     string              `json:"mode"` // empty: both
	Since    eventstore.Position `json:"since"`
	Position eventstore.Position `json:"position"` // of the last ending that was passed
	Last     *anchor             `json:"last"`     // that ending; null: none yet
	Matches  int                 `json:"matches"`

	options Options
	passed  passed // what becomes of Position and Last once the open partition is finished
}

// passed is how far endings were passed.
type passed struct {
	position eventstore.Position
	last     *anchor
}

// anchor is an event that tells one log from another.
type anchor struct {
	Stream   eventstore.StreamID `json:"stream"`
	Revision eventstore.Revision `json:"revision"`
	ID       uuid.UUID           `json:"id"`
}

// begin reads how far the folder is, and makes sure that this log and these
// options go on with it. What a run that was killed has left is removed.
func begin(ctx context.Context, log eventstore.Log, o Options) (*state, error) {
	s, err := load(o)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Format != o.Format || s.Mode != o.Mode:
		return nil, fmt.Errorf("%s holds an export of %s as %s: name another folder, or the same again", o.Dir, named(s.Mode), s.Format)
	case o.Since != 0 && o.Since != s.Since:
		return nil, fmt.Errorf("%s begins behind %d and goes on behind %d by itself: leave --since out, or name another folder", o.Dir, s.Since, s.Position)
	}
	if err := s.sameLog(ctx, log); err != nil {
		return nil, err
	}
	s.options, s.passed = o, passed{s.Position, s.Last}
	return s, s.sweep()
}

func named(mode string) string {
	if mode == "" {
		return "both modes"
	}
	return "mode " + mode
}

// load reads the state; a folder without one gets a new one, if it holds no
// tables.
func load(o Options) (*state, error) {
	path := filepath.Join(o.Dir, stateFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		for _, t := range tables {
			if files, _ := filepath.Glob(filepath.Join(o.Dir, t.name, "*")); len(files) > 0 {
				return nil, fmt.Errorf("%s holds files of an export, and no %s that says how far it is: name another folder", o.Dir, stateFile)
			}
		}
		s := &state{Schema: 1, Format: o.Format, Mode: o.Mode, Since: o.Since, Position: o.Since, options: o}
		return s, s.save()
	}
	if err != nil {
		return nil, err
	}
	s := &state{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if s.Schema != 1 {
		return nil, fmt.Errorf("%s has schema %d: this program reads 1", path, s.Schema)
	}
	return s, nil
}

// sameLog looks for the last event that was exported.
func (s *state) sameLog(ctx context.Context, log eventstore.Log) error {
	if s.Last == nil {
		return nil
	}
	for r, err := range log.Read(ctx, s.Last.Stream, s.Last.Revision, eventstore.ReadOptions{Limit: 1}) {
		if err != nil {
			return err
		}
		if r.Revision == s.Last.Revision && r.ID == s.Last.ID {
			return nil
		}
	}
	return errors.Join(ctx.Err(), errors.New("the folder holds an export of another log: name another folder"))
}

// pass notes that an ending needs no more than the open partition.
func (s *state) pass(e ending) {
	s.passed = passed{e.event.Position, &anchor{e.event.Stream, e.event.Revision, e.event.ID}}
}

// finish makes a partition part of the export.
func (s *state) finish(p **partition) error {
	done := *p
	*p = nil
	if err := done.finish(); err != nil {
		return err
	}
	s.Position, s.Last = s.passed.position, s.passed.last
	s.Matches += done.matches
	return s.save()
}

// save writes the state durably, whole or not at all.
func (s *state) save() error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := filepath.Join(s.options.Dir, stateFile)
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(path+".part", path), syncFolder(s.options.Dir))
}

// sweep removes files behind the state, which a run has left that was killed.
func (s *state) sweep() error {
	for _, t := range tables {
		dir := filepath.Join(s.options.Dir, t.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !s.left(e.Name()) {
				continue
			}
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// left says whether a file is of a partition that was not finished.
func (s *state) left(name string) bool {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "."), ".part")
	digits, ours := strings.CutSuffix(name, "."+s.options.Format)
	from, err := strconv.ParseUint(digits, 10, 64)
	return ours && err == nil && eventstore.Position(from) >= s.Position
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
