package live

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// The type running holds the state of one running match.
type running struct {
	// Only the goroutine that feeds the match uses these fields.
	id        string
	next      eventstore.Revision // the first revision that is not folded
	spectator match.Spectator
	size      int // of the last encoded frame

	// The hub's lock guards these fields.
	summary matches.Summary
	commits seed.Seed // the commitment to the match's server seed
	began   eventstore.Position
	frames  history       // the match's own records, by seq
	latest  *encodedFrame // nil before the first frame
	end     []byte        // the last record; nil until the match has ended
	closed  bool          // no more records will come
	moved   signal        // signals each record and the end
}

// signal wakes the readers that are waiting for a change. The hub's lock guards it.
type signal struct{ next chan struct{} }

func (s *signal) wake() {
	close(s.next)
	s.next = make(chan struct{})
}

func newRunning(id string) *running {
	return &running{id: id, moved: signal{make(chan struct{})}}
}

type encodedFrame struct {
	record []byte // a server-sent event
	json   []byte // the data of the record
	turn   int
	scores []int
}

// fold folds the next event and returns the event's frame. If the event is not
// public, it returns nil.
func (m *running) fold(r eventstore.Recorded) (*encodedFrame, error) {
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return nil, fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	meta, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return nil, err
	}
	started, ok := e.(match.Started)
	if r.Revision != m.next || ok != (r.Revision == 0) {
		return nil, fmt.Errorf("%s@%d is out of order: expected revision %d", r.Type, r.Revision, m.next)
	}
	m.next++
	if ok {
		return nil, m.begin(started, r.Position, meta.At)
	}
	var public bool
	if m.spectator, public = m.spectator.Fold(e); !public {
		return nil, nil
	}
	f := m.spectator.Frame(e, meta.At, false)
	record := begin("frame", f.Seq, m.size+128)
	from := len(record)
	record = append(f.AppendJSON(record), separator...)
	end := len(record) - len(separator)
	data := record[from:end:end]
	m.size = len(data)
	return &encodedFrame{record, data, f.Turn, f.Scores}, nil
}

// begin sets the fields that the MatchStarted event determines. The match is
// not visible yet.
func (m *running) begin(e match.Started, at eventstore.Position, when time.Time) error {
	if !ladder.IsMode(e.Mode) {
		return fmt.Errorf("mode %q does not exist", e.Mode)
	}
	m.spectator, _ = m.spectator.Fold(e)
	m.began, m.commits = at, e.Commitment
	m.summary = matches.Summary{ID: m.id, Mode: e.Mode, Status: matches.Running, StartedAt: when.UTC().Format(match.TimeFormat)}
	for i, s := range e.Seats {
		m.summary.Players = append(m.summary.Players, matches.Player{Seat: i, BotID: s.BotID, BotName: s.BotName})
	}
	return nil
}

// show adds a frame as the newest frame. If the match is already visible, the
// caller must hold the hub's lock.
func (m *running) show(f *encodedFrame) {
	m.frames.add(f.record)
	m.latest = f
	m.moved.wake()
}

// Record encodes a server-sent event. If id is 0, the event has no id. data must be
// JSON on one line.
func Record(event string, id int, data []byte) []byte {
	return append(append(begin(event, id, len(data)), data...), "\n\n"...)
}

// The function begin() returns the record of an event up to its data. size is the size
// of the data.
func begin(event string, id, size int) []byte {
	b := make([]byte, 0, size+48)
	b = append(append(append(b, "event: "...), event...), '\n')
	if id > 0 {
		b = append(strconv.AppendInt(append(b, "id: "...), int64(id), 10), '\n')
	}
	return append(b, "data: "...)
}

func endRecord(m matches.Summary) ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the end of match %s: %w", m.ID, err)
	}
	return Record("end", 0, data), nil
}

// recordWithMatchID encodes a frame to which the id of the match is added.
func recordWithMatchID(matchID string, frame []byte) []byte {
	b := begin("frame", 0, len(frame)+len(matchID)+16)
	b = fmt.Appendf(b, `{"matchId":%q,`, matchID)
	return append(append(b, frame[1:]...), "\n\n"...)
}
