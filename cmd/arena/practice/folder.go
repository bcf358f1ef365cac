package practice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hexarena/cmd/arena/records"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/tournament"
	"hexarena/projections"
)

// The contents of a folder that --out names, besides the records.
const (
	settingsFile = "series.json" // the settings of the series
	outputFolder = "output"      // the output of the programs of bots
)

// settings determine the matches of a series. The number of matches is not a setting,
// so a later run may play more of them.
type settings struct {
	Bots     []string `json:"bots"`
	Mode     string   `json:"mode"`
	Decision string   `json:"decision"`
	Wall     string   `json:"wall"`
	Seats    string   `json:"seats"`
	Seed     string   `json:"seed,omitempty"`
	Seeds    []string `json:"seeds,omitempty"`
}

// differs returns the name of the first setting that differs, and both values.
func (s settings) differs(other settings) (name, value, otherValue string) {
	pairs := [...][3]string{
		{"the bots", strings.Join(s.Bots, " "), strings.Join(other.Bots, " ")},
		{"--mode", s.Mode, other.Mode},
		{"--decision", s.Decision, other.Decision},
		{"--wall", s.Wall, other.Wall},
		{"--seats", s.Seats, other.Seats},
		{"--seed", s.Seed, other.Seed},
		{"--seeds", strings.Join(s.Seeds, " "), strings.Join(other.Seeds, " ")},
	}
	for _, p := range pairs {
		if p[1] != p[2] {
			return p[0], p[1], p[2]
		}
	}
	return "", "", ""
}

// folder stores the records and the results of a series. A match counts once its line is
// complete, so an interrupted run continues after the last complete line. The folder is
// locked, so that two runs cannot mix their matches.
type folder struct {
	path    string
	release func() error // unlocks the folder

	mu      sync.Mutex // guards the field below
	results *os.File
}

// readSettings returns the settings in a folder, or nil if the folder has none.
func readSettings(path string) (*settings, error) {
	text, err := os.ReadFile(filepath.Join(path, settingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // the folder is new
	}
	s := new(settings)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("--out: read the settings of the series: %w", err)
	}
	return s, nil
}

// openFolder creates a folder, or opens the folder of an earlier run with the same
// settings. It returns the results that the folder contains.
func openFolder(path string, s settings) (_ *folder, _ []tournament.Outcome, err error) {
	release, err := projections.Lock(path)
	if errors.Is(err, projections.ErrInUse) {
		return nil, nil, fmt.Errorf("--out %s: another run is writing to this folder; wait until it ends, or choose another folder", path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	defer func() {
		if err != nil {
			_ = release()
		}
	}()
	before, err := readSettings(path)
	if err != nil {
		return nil, nil, err
	}
	if before != nil {
		if name, now, then := s.differs(*before); name != "" {
			return nil, nil, fmt.Errorf("--out %s: the folder belongs to another series: %s was %q and is now %q; repeat the earlier command to continue it, or choose another folder", path, name, then, now)
		}
	}
	for _, name := range []string{records.MatchFolder, outputFolder} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			return nil, nil, fmt.Errorf("--out: %w", err)
		}
	}
	if before == nil {
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return nil, nil, err
		}
		if err := remote.ReplaceFile(filepath.Join(path, settingsFile), append(text, '\n')); err != nil {
			return nil, nil, fmt.Errorf("--out: %w", err)
		}
	}
	f := &folder{path: path, release: release}
	outcomes, err := f.open()
	if err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	return f, outcomes, nil
}

// open reads the results, and cuts off an incomplete line at the end.
func (f *folder) open() (outcomes []tournament.Outcome, err error) {
	if f.results, err = os.OpenFile(filepath.Join(f.path, records.ResultsFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(f.results.Name())
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if err := f.results.Truncate(int64(len(text))); err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for line := range bytes.Lines(text) {
		var o tournament.Outcome
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", f.results.Name(), len(outcomes)+1, err)
		}
		if !seen[o.Match] {
			outcomes = append(outcomes, o)
		}
		seen[o.Match] = true
	}
	return slices.Clip(outcomes), nil
}

// add stores the record of a match, and then its result.
func (f *folder) add(p played, o tournament.Outcome) error {
	record, err := newRecord(p)
	if err != nil {
		return err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := remote.ReplaceFile(filepath.Join(f.path, records.MatchFolder, o.ID+".json"), append(text, '\n')); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.results.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// close unlocks the folder. Every line has been written before.
func (f *folder) close() {
	_ = f.results.Close()
	_ = f.release()
}
