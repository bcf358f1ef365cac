package view

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"hexarena/adapters/rest"
)

// maxNote is the maximum length of a line of notes, in bytes.
const maxNote = 16 << 20

// note is one line of a file of notes.
type note struct {
	Match    string          `json:"match"`
	Decision int             `json:"decision"`
	Note     json.RawMessage `json:"note"`
}

// readNotes reads what a bot noted about its decisions. If several lines are about the
// same decision, the last one counts, because a match that was interrupted is played
// again. For the same reason, there may be notes about matches without a record.
// readNotes returns a warning about them.
func (a *api) readNotes(file string) (warning string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("--notes: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxNote)
	used, unknown, first := 0, 0, ""
	matches := map[string]bool{}
	for _, id := range a.set.IDs {
		matches[id] = true
	}
	decisions := map[string]map[int]bool{} // by match
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		one, err := readNote(line)
		switch {
		case err != nil:
			return "", fmt.Errorf("--notes %s, line %d: %w", file, n, err)
		case !matches[one.Match]:
			if unknown++; unknown == 1 {
				first = fmt.Sprintf("line %d, match %q", n, one.Match)
			}
			continue
		}
		if err := a.addNote(one, decisions); err != nil {
			return "", fmt.Errorf("--notes %s, line %d: %w", file, n, err)
		}
		used++
	}
	switch {
	case lines.Err() != nil:
		return "", fmt.Errorf("--notes %s: %w", file, lines.Err())
	case used == 0 && unknown > 0:
		return "", fmt.Errorf("--notes %s: no line is about a match of %s (%s)", file, a.set.Name, first)
	case unknown > 0:
		return fmt.Sprintf("--notes %s: ignored lines about matches without a record here: %d, beginning with %s", file, unknown, first), nil
	}
	return "", nil
}

// readNote reads one line.
func readNote(line []byte) (one note, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&one); err != nil {
		return one, fmt.Errorf("want {\"match\":ID,\"decision\":NUMBER,\"note\":TEXT OR JSON}: %w", err)
	}
	_, err = d.Token()
	switch {
	case !errors.Is(err, io.EOF):
		return one, errors.New("a line must contain only one JSON object")
	case one.Match == "" || one.Decision == 0 || len(one.Note) == 0:
		return one, errors.New("match, decision or note is missing")
	}
	return one, nil
}

// addNote adds a note. Its match is in the set.
func (a *api) addNote(one note, decisions map[string]map[int]bool) (err error) {
	ids, known := decisions[one.Match]
	if !known {
		if ids, err = a.set.Decisions(one.Match); err != nil {
			return err
		}
		decisions[one.Match] = ids
		a.notes[one.Match] = rest.Notes{Notes: map[int]json.RawMessage{}}
	}
	if !ids[one.Decision] {
		return fmt.Errorf("match %s has no decision %d", one.Match, one.Decision)
	}
	a.notes[one.Match].Notes[one.Decision] = bytes.Clone(one.Note)
	return nil
}
