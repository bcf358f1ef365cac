// Package records reads the records of matches that files contain, such as those that
// `arena play --out` writes. Open finds the records, and Parse reads and checks one. Source
// finds the records that the argument of a command names, and downloads them if needed.
package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hexarena/adapters/rest"
	"hexarena/cmd/arena/verify"
	"hexarena/domain/audit"
	"hexarena/domain/match"
	"hexarena/projections/frames"
)

// The contents of a folder that `arena play --out` writes.
const (
	ResultsFile = "results.jsonl" // one line for each ended match
	MatchFolder = "matches"       // the records, by match id
)

// matchID matches the ids of matches, as the names of files have them.
var matchID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Set is a set of records. It does not keep records of a folder in memory.
type Set struct {
	Name string   // of the folder or the file
	IDs  []string // in the order in which the matches ended, if the folder has results; otherwise by name

	files map[string]string // by id
	texts map[string][]byte // by id, for records that are not in a file of their own
}

// Open finds the records in a folder or a file. A folder contains a file ID.json for each
// record, either directly or in its folder "matches". A file contains one record, or one on
// each line.
func Open(path string) (*Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s := &Set{Name: filepath.Base(path), files: map[string]string{}, texts: map[string][]byte{}}
	if absolute, err := filepath.Abs(path); err == nil {
		s.Name = filepath.Base(absolute)
	}
	if info.IsDir() {
		err = s.openFolder(path)
	} else {
		err = s.openFile(path)
	}
	return s, err
}

// Single returns a set with one record.
func Single(name string, text []byte) (*Set, error) {
	s := &Set{Name: name, texts: map[string][]byte{}}
	return s, s.add(text)
}

func (s *Set) add(text []byte) error {
	r, err := audit.Parse(text)
	if err != nil {
		return err
	}
	if !slices.Contains(s.IDs, r.ID) {
		s.IDs = append(s.IDs, r.ID)
	}
	s.texts[r.ID] = bytes.Clone(text)
	return nil
}

func (s *Set) openFile(path string) error {
	n := 0
	for text, err := range verify.Records(path) {
		n++
		if err == nil {
			err = s.add(text)
		}
		if err != nil {
			return fmt.Errorf("%s, record %d: %w", path, n, err)
		}
	}
	if n == 0 {
		return fmt.Errorf("%s contains no matches", path)
	}
	return nil
}

func (s *Set) openFolder(path string) error {
	for _, folder := range []string{filepath.Join(path, MatchFolder), path} {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if id, isJSON := strings.CutSuffix(e.Name(), ".json"); isJSON && matchID.MatchString(id) {
				s.files[id] = filepath.Join(folder, e.Name())
			}
		}
		if len(s.files) > 0 {
			break
		}
	}
	if len(s.files) == 0 {
		if found, _ := fs.Glob(os.DirFS(path), "*/"+MatchFolder); len(found) > 0 {
			return fmt.Errorf("%s contains several series; name one of them, such as %s", path, filepath.Join(path, filepath.Dir(found[0])))
		}
		return fmt.Errorf("%s contains no records of matches", path)
	}
	return s.order(filepath.Join(path, ResultsFile))
}

// order sorts the ids by the results of a series.
func (s *Set) order(results string) error {
	text, err := os.ReadFile(results)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listed := map[string]bool{}
	for text := range bytes.Lines(text) {
		var line struct{ ID string }
		if json.Unmarshal(text, &line) != nil || s.files[line.ID] == "" || listed[line.ID] {
			continue // for example, the incomplete last line of an interrupted run
		}
		listed[line.ID] = true
		s.IDs = append(s.IDs, line.ID)
	}
	var others []string
	for id := range s.files {
		if !listed[id] {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	s.IDs = append(s.IDs, others...)
	return nil
}

// File returns the file of a record in a folder.
func (s *Set) File(id string) string { return s.files[id] }

// Text returns the JSON of a record. It returns fs.ErrNotExist if the set has no record
// with this id.
func (s *Set) Text(id string) ([]byte, error) {
	if text, ok := s.texts[id]; ok {
		return text, nil
	}
	file, ok := s.files[id]
	if !ok {
		return nil, fmt.Errorf("match %s: %w", id, fs.ErrNotExist)
	}
	return os.ReadFile(file)
}

// Summary returns a record's line in a list. It does not check the record.
func (s *Set) Summary(id string) (rest.LocalSummary, error) {
	h, err := s.head(id)
	sum := rest.LocalSummary{MatchSummary: h.MatchSummary}
	for _, e := range h.Replay {
		sum.Turns = max(sum.Turns, e.Data.Turn) // only rolls have turns
	}
	return sum, err
}

// head is a small part of a record.
type head struct {
	rest.MatchSummary
	Proof  match.Proof
	Replay []struct {
		Data struct{ Turn int }
	}
}

func (s *Set) head(id string) (h head, err error) {
	text, err := s.Text(id)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return h, fmt.Errorf("match %s: %w", id, err)
	}
	return h, nil
}

// Decisions returns the ids of the decisions in a record. It does not check the record,
// and reads only the part before the decision logs, so it is fast.
func (s *Set) Decisions(id string) (map[int]bool, error) {
	text, err := s.Text(id)
	if err != nil {
		return nil, err
	}
	ids := map[int]bool{}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err = d.Token()
	for err == nil && d.More() {
		var name json.Token
		if name, err = d.Token(); err != nil {
			break
		}
		if name != "replay" {
			err = d.Decode(new(json.RawMessage))
			continue
		}
		var replay []struct {
			Data struct{ Decision int }
		}
		err = d.Decode(&replay)
		for _, e := range replay {
			ids[e.Data.Decision] = true
		}
		break
	}
	delete(ids, 0) // of events that close no decision
	if err != nil {
		return nil, fmt.Errorf("match %s: %w", id, err)
	}
	return ids, nil
}

// Record is a checked record.
type Record struct {
	Text    []byte
	Match   rest.Match
	History frames.History
}

// DecisionLogs decodes the decision logs. They are most of a record.
func (r *Record) DecisionLogs() ([]rest.DecisionLog, error) {
	var m struct {
		DecisionLogs []rest.DecisionLog `json:"decisionLogs"`
	}
	err := json.Unmarshal(r.Text, &m)
	return m.DecisionLogs, err
}

// Read reads and checks a record.
func (s *Set) Read(id string) (*Record, error) {
	text, err := s.Text(id)
	if err != nil {
		return nil, err
	}
	r, err := Parse(text)
	if err == nil && r.Match.ID != id {
		err = fmt.Errorf("the file is the record of match %s", r.Match.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("match %s: %w", id, err)
	}
	return r, nil
}

// Parse reads a record. It returns an error if the events do not follow from the seed
// and the answers.
func Parse(text []byte) (*Record, error) {
	checked, err := audit.Parse(text)
	if err != nil {
		return nil, err
	}
	if checked.Running() {
		return nil, fmt.Errorf("match %s is still running; its record is complete when it has ended", checked.ID)
	}
	if d := audit.Match(checked, audit.Evidence{}).Difference; d != nil {
		return nil, fmt.Errorf("the record does not verify: %w", d)
	}
	r := &Record{Text: text}
	if err := json.Unmarshal(text, &r.Match); err != nil {
		return nil, err
	}
	r.History, err = r.Match.History()
	return r, err
}
