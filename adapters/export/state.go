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

// stateFile is the name of the file that records the progress in a folder.
const stateFile = "export.json"

// schema is the version of the state file. In a folder of version 1, complete files
// may name owners whose accounts were deleted at any time.
const schema = 2

// state contains the progress and the options of the export in a folder. A run saves
// the state before it creates the first file, and after each partition.
type state struct {
	Schema int                 `json:"schema"`
	Format string              `json:"format"`
	Mode   string              `json:"mode"` // empty if all ladders are exported
	Since  eventstore.Position `json:"since"`
	progress
	Matches int `json:"matches"`

	options Options
	next    progress // what the progress will be when the open partition is complete
}

// progress describes how much has been exported.
type progress struct {
	Position eventstore.Position `json:"position"` // log position of the last ending that was exported
	Last     *anchor             `json:"last"`     // the event of that ending; null before the first ending
}

// anchor is an event by which a run recognizes the log.
type anchor struct {
	Stream   eventstore.StreamID `json:"stream"`
	Revision eventstore.Revision `json:"revision"`
	ID       uuid.UUID           `json:"id"`
}

// begin loads the state and checks that the log and the options match it. It also
// removes the unfinished files of a run that was killed.
func begin(ctx context.Context, log eventstore.Log, o Options) (*state, error) {
	s, err := load(o)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Format != o.Format || s.Mode != o.Mode:
		return nil, fmt.Errorf("%s contains an export of %s as %s: use the same options or another folder", o.Dir, modeText(s.Mode), s.Format)
	case o.Since != 0 && o.Since != s.Since:
		return nil, fmt.Errorf("the export in %s started after position %d and has reached position %d: leave out --since, or use another folder", o.Dir, s.Since, s.Position)
	}
	if err := s.sameLog(ctx, log); err != nil {
		return nil, err
	}
	s.options, s.next = o, s.progress
	return s, s.sweep()
}

func modeText(mode string) string {
	if mode == "" {
		return "both modes"
	}
	return "mode " + mode
}

// load reads the state. If the folder contains neither a state nor tables, load creates
// a new state.
func load(o Options) (*state, error) {
	path := filepath.Join(o.Dir, stateFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		for _, t := range tables {
			if files, _ := filepath.Glob(filepath.Join(o.Dir, t.name, "*")); len(files) > 0 {
				return nil, fmt.Errorf("%s contains files of an export, but the file %s, which records the progress, is missing: use another folder", o.Dir, stateFile)
			}
		}
		s := &state{Schema: schema, Format: o.Format, Mode: o.Mode, Since: o.Since, progress: progress{Position: o.Since}, options: o}
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
	if s.Schema < 1 || s.Schema > schema {
		return nil, fmt.Errorf("%s has schema version %d: this program reads versions 1 to %d", path, s.Schema, schema)
	}
	return s, nil
}

// sameLog checks that the log contains the last ending that was exported.
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
	return errors.Join(ctx.Err(), errors.New("the folder contains an export of another log: use another folder"))
}

// pass records that the run has processed an ending: the match is in the open
// partition, or it has no rows.
func (s *state) pass(e ending) {
	s.next = progress{e.event.Position, &anchor{e.event.Stream, e.event.Revision, e.event.ID}}
}

// finish completes a partition and saves the state.
func (s *state) finish(p **partition) error {
	done := *p
	*p = nil
	if err := done.finish(); err != nil {
		return err
	}
	s.progress = s.next
	s.Matches += done.matches
	return s.save()
}

// save writes the state durably and atomically.
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

// sweep removes the files of partitions after the state's position, and files with
// temporary names. Only a run that was killed leaves such files behind.
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
			if s.unfinished(e.Name()) {
				if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// The method unfinished() reports whether a file is incomplete or belongs to an
// incomplete partition.
func (s *state) unfinished(name string) bool {
	name, part := strings.CutSuffix(strings.TrimPrefix(name, "."), ".part")
	digits, ours := strings.CutSuffix(name, "."+s.options.Format)
	from, err := strconv.ParseUint(digits, 10, 64)
	return ours && err == nil && (part || eventstore.Position(from) >= s.Position)
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
