package live

import (
	"encoding/json"
	"fmt"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// running is one match that runs. The first group belongs to whoever feeds the
// hub, what follows is guarded by the hub's lock.
type running struct {
	id        string
	next      eventstore.Revision // of its stream's first event that is not folded
	spectator match.Spectator

	summary matches.Summary
	began   eventstore.Position
	frames  feed   // its records, by seq
	latest  []byte // the newest frame
	shown   []byte // the same as a record of a channel
	at      place  // of shown
	turn    int
	scores  []int
	end     []byte        // the last record, once it has ended
	closed  bool          // nothing more will come
	moved   chan struct{} // closed, and replaced, when something comes
}

// place is where a record stands in the channel of its mode, and in that of
// all.
type place struct{ own, all uint64 }

func newRunning(id string) *running {
	return &running{id: id, frames: feed{start: 1, keepAll: true}, moved: make(chan struct{})}
}

// moment is a frame that has been encoded, not shown yet.
type moment struct {
	seq    int
	frame  []byte // as JSON
	turn   int
	scores []int
}

// fold folds the event of a revision, and returns the frame that it makes, nil
// where it makes none.
func (m *running) fold(r eventstore.Recorded) (*moment, error) {
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
		return nil, fmt.Errorf("%s@%d is out of order: revision %d is to come", r.Type, r.Revision, m.next)
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
	encoded, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode frame %d: %w", f.Seq, err)
	}
	return &moment{f.Seq, encoded, f.Turn, f.Scores}, nil
}

// begin is called before others see m.
func (m *running) begin(e match.Started, at eventstore.Position, when time.Time) error {
	if !ladder.IsMode(e.Mode) {
		return fmt.Errorf("there is no mode %q", e.Mode)
	}
	m.spectator, _ = m.spectator.Fold(e)
	m.began = at
	m.summary = matches.Summary{ID: m.id, Mode: e.Mode, Status: matches.Running, StartedAt: when.UTC().Format(match.TimeFormat)}
	for i, s := range e.Seats {
		m.summary.Players = append(m.summary.Players, matches.Player{Seat: i, BotID: s.BotID, BotName: s.BotName})
	}
	return nil
}

// show makes a frame the newest. The hub's lock is held, or nobody sees m yet.
func (m *running) show(f *moment) {
	m.frames.add(record("frame", f.seq, f.frame))
	m.latest, m.turn, m.scores = f.frame, f.turn, f.scores
	m.shown = record("frame", 0, named(m.id, f.frame))
	m.wake()
}

func (m *running) wake() {
	close(m.moved)
	m.moved = make(chan struct{})
}

// record encodes a server-sent event; without an id where that is 0. Data is
// JSON in one line.
func record(event string, id int, data []byte) []byte {
	b := make([]byte, 0, len(data)+48)
	b = append(append(append(b, "event: "...), event...), '\n')
	if id > 0 {
		b = fmt.Appendf(b, "id: %d\n", id)
	}
	return append(append(append(b, "data: "...), data...), "\n\n"...)
}

func endRecord(m matches.Summary) ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the end of match %s: %w", m.ID, err)
	}
	return record("end", 0, data), nil
}

// named is a frame with the id of its match.
func named(matchID string, frame []byte) []byte {
	return append(fmt.Appendf(nil, `{"matchId":%q,`, matchID), frame[1:]...)
}
