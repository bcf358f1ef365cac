package ladder

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"hexarena/domain/event"
)

// SnapshotPrefix begins the name of every snapshot stream.
const SnapshotPrefix = "snapshot-"

// SnapshotStream names the stream that holds the snapshots of a mode's ladder. The
// stream keeps only its last event. Deleting the stream is safe: the arena only takes
// longer to start the next time.
func SnapshotStream(mode string) string { return SnapshotPrefix + mode }

// snapshotSchema is the version of State's shape and of the fold that made it.
// Raise it whenever Evolve changes, so that the arena ignores older snapshots.
const snapshotSchema = 2

// ErrNoUse means that a snapshot cannot replace the events of its ladder. The caller
// must fold the ladder from its first event.
var ErrNoUse = errors.New("the snapshot cannot be used")

// LadderSnapshotTaken holds a ladder's state after one of its events. An arena that
// starts from it has to read only the later events.
type LadderSnapshotTaken struct {
	Schema   int    `json:"schema"`
	Mode     string `json:"mode"`
	Revision uint64 `json:"revision"` // revision of the last event that the snapshot includes
	EventID  string `json:"eventId"`  // the id of that event; the snapshot is valid only if the event at this revision has this id
	State    []byte `json:"state"`    // gzip of a State in JSON
}

// EventType implements Event.
func (LadderSnapshotTaken) EventType() string { return "LadderSnapshotTaken" }

// DecodeSnapshot reads a stored event of a snapshot stream. An unknown type is
// an error.
func DecodeSnapshot(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "LadderSnapshotTaken":
		return event.Decode[LadderSnapshotTaken](data)
	default:
		return nil, event.UnknownType(eventType, "a snapshot stream")
	}
}

// State is the complete state of a ladder. Equal ladders have equal sorted
// States, even if one of them was restored from a snapshot.
type State struct {
	Bots   []BotState   `json:"bots"`   // after Sort: by id
	Open   []MatchState `json:"open"`   // after Sort: by seating
	Closed []string     `json:"closed"` // ids of the latest finished matches, oldest first
}

// BotState is a Bot in a State.
type BotState struct {
	ID string `json:"id"`
	Bot
}

// MatchState is an unfinished match in a State.
type MatchState struct {
	ID string `json:"id"`
	match
}

// State returns an unsorted copy of l's state. The caller may continue to evolve l.
func (l Ladder) State() State {
	s := State{Bots: make([]BotState, 0, len(l.bots)), Open: make([]MatchState, 0, len(l.open)), Closed: l.closed.list()}
	for id, b := range l.bots {
		s.Bots = append(s.Bots, BotState{id, *b})
	}
	for id, m := range l.open {
		s.Open = append(s.Open, MatchState{id, m})
	}
	return s
}

// Sort sorts bots by id and open matches by seating.
func (s State) Sort() {
	slices.SortFunc(s.Bots, func(a, b BotState) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Open, func(a, b MatchState) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Index, b.Index))
	})
}

// Snapshot sorts s and packs it into a snapshot. s is the State of the mode's
// ladder after the event with the given revision and id.
func (s State) Snapshot(mode string, revision uint64, eventID string) (LadderSnapshotTaken, error) {
	s.Sort()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(w).Encode(s), w.Close()); err != nil {
		return LadderSnapshotTaken{}, fmt.Errorf("snapshot of %s@%d: %w", Stream(mode), revision, err)
	}
	return LadderSnapshotTaken{
		Schema: snapshotSchema, Mode: mode, Revision: revision, EventID: eventID, State: packed.Bytes(),
	}, nil
}

// Restore returns the ladder of a mode at the time of the snapshot. Every error
// wraps ErrNoUse. The caller must check that the event at e.Revision in the
// ladder's stream has the id e.EventID.
func (e LadderSnapshotTaken) Restore(mode string) (Ladder, error) {
	switch {
	case e.Schema != snapshotSchema:
		return Ladder{}, fmt.Errorf("%w: its version is %d, not %d", ErrNoUse, e.Schema, snapshotSchema)
	case e.Mode != mode:
		return Ladder{}, fmt.Errorf("%w: it belongs to the mode %q", ErrNoUse, e.Mode)
	case e.Revision >= math.MaxInt64:
		return Ladder{}, fmt.Errorf("%w: no stream has a revision %d", ErrNoUse, e.Revision)
	}
	s, err := e.unpack()
	if err != nil {
		return Ladder{}, fmt.Errorf("%w: %w", ErrNoUse, err)
	}
	return s.ladder(mode, e.Revision+1), nil
}

// unpack decodes the packed state. It reads to the end of the data, where gzip
// verifies the checksum.
func (e LadderSnapshotTaken) unpack() (State, error) {
	r, err := gzip.NewReader(bytes.NewReader(e.State))
	if err != nil {
		return State{}, err
	}
	var unpacked bytes.Buffer
	if _, err := unpacked.ReadFrom(r); err != nil {
		return State{}, err
	}
	var s State
	return s, json.Unmarshal(unpacked.Bytes(), &s)
}

func (s State) ladder(mode string, version uint64) Ladder {
	l := Ladder{
		mode: mode, version: version, closed: &recent{known: map[string]bool{}},
		bots: make(map[string]*Bot, len(s.Bots)), open: make(map[string]match, len(s.Open)),
	}
	for _, b := range s.Bots {
		l.bots[b.ID] = &b.Bot
	}
	for _, m := range s.Open {
		l.open[m.ID] = m.match
	}
	for _, id := range s.Closed {
		l.closed.add(id)
	}
	return l
}
