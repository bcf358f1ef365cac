// Package frames folds the stream of one match on request. It returns the match's
// record, the replay, the public board after each event, and each seat's
// decisions. Call Read first. The package stores no rows, because the stream
// contains everything.
package frames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

// ErrNoMatch means that a match's stream does not exist.
var ErrNoMatch = errors.New("no such match")

// History is the decoded stream of a match.
type History struct {
	Started match.Started
	Events  []match.Event // all events except Started
	Times   []time.Time   // when each of Events occurred
	Clocks  []Clock       // for each of Events, the clocks in its append
	Seed    *seed.Seed    // nil until the match has ended
	Proof   *match.Proof  // nil until the match has ended
}

// Clock holds the clocks in the metadata of one append. The values are in
// milliseconds, by seat.
type Clock struct {
	Used   match.Clocks // time used by each seat up to and including the append; nil if the match has no clocks
	Redial []int64      // time spent redialing before the requests that the append settles; nil if no seat was redialed
}

// Ended reports whether the stream contains the end of the match. The ladder may
// not have closed the match yet.
func (h *History) Ended() bool { return h.Proof != nil }

// Read reads and decodes a match's stream. It returns ErrNoMatch if the stream does
// not exist.
func Read(ctx context.Context, log eventstore.Log, matchID string) (History, error) {
	return readStream(ctx, log, match.Stream(matchID))
}

// ReadTrial reads a trial's stream. It returns ErrNoMatch if the stream does not exist,
// or no longer contains the start of the trial.
func ReadTrial(ctx context.Context, log eventstore.Log, trialID string) (History, error) {
	return readStream(ctx, log, match.TrialStream(trialID))
}

func readStream(ctx context.Context, log eventstore.Log, stream string) (History, error) {
	var d decoder
	for r, err := range log.Read(ctx, eventstore.StreamID(stream), 0, eventstore.ReadOptions{}) {
		if err != nil {
			return History{}, fmt.Errorf("read %s: %w", stream, err)
		}
		if err := d.add(r); err != nil {
			return History{}, err
		}
	}
	if d.Started.MatchID == "" {
		return History{}, ErrNoMatch
	}
	return d.History, nil
}

// ReadStart reads only the first event of a match's stream. It returns ErrNoMatch if
// the stream does not exist.
func ReadStart(ctx context.Context, log eventstore.Log, matchID string) (match.Started, error) {
	for r, err := range log.Read(ctx, eventstore.StreamID(match.Stream(matchID)), 0, eventstore.ReadOptions{Limit: 1}) {
		if err != nil {
			return match.Started{}, fmt.Errorf("read the start of match %s: %w", matchID, err)
		}
		h, err := Decode([]eventstore.Recorded{r})
		return h.Started, err
	}
	return match.Started{}, ErrNoMatch
}

// ReadDetails reads the private details of a match. If the match has no details,
// the result is empty.
func ReadDetails(ctx context.Context, log eventstore.Log, matchID string) (match.Details, error) {
	d := match.NewDetails()
	for r, err := range log.Read(ctx, eventstore.StreamID(match.DetailsStream(matchID)), 0, eventstore.ReadOptions{}) {
		if err != nil {
			return d, fmt.Errorf("read the details of match %s: %w", matchID, err)
		}
		e, err := match.DecodeDetail(r.Type, r.Data)
		if err != nil {
			return d, fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
		}
		d.Evolve(e)
	}
	return d, nil
}

// Decode decodes the recorded events of a match.
func Decode(events []eventstore.Recorded) (History, error) {
	var d decoder
	for _, r := range events {
		if err := d.add(r); err != nil {
			return History{}, err
		}
	}
	return d.History, nil
}

// decoder decodes the events of a match. It decodes the metadata once for each
// append, because all events of an append have the same metadata.
type decoder struct {
	History
	metadata []byte
	at       time.Time
	clock    Clock
}

func (d *decoder) add(r eventstore.Recorded) error {
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	if d.metadata == nil || !bytes.Equal(d.metadata, r.Metadata) {
		meta, err := eventstore.DecodeMetadata(r)
		if err != nil {
			return err
		}
		d.metadata, d.at, d.clock = r.Metadata, meta.At, Clock{meta.UsedMs, meta.RedialMs}
	}
	switch e := e.(type) {
	case match.Started:
		d.Started = e
		return nil
	case match.GameEnded:
		d.Seed, d.Proof = &e.Seed, &e.Proof
	case match.Aborted:
		d.Seed, d.Proof = &e.Seed, &e.Proof
	}
	d.Events, d.Times, d.Clocks = append(d.Events, e), append(d.Times, d.at), append(d.Clocks, d.clock)
	return nil
}

// Replay returns the public events with their data. Callers must not show the data
// before the match has ended.
func (h *History) Replay() []match.PublicEvent {
	r := match.Replay{Events: []match.PublicEvent{}}
	for i, e := range h.Events {
		r.Add(e, h.Times[i])
	}
	return r.Events
}

// ThinkingMs returns the total time that each seat took for its decisions.
func (h *History) ThinkingMs() []int64 {
	total := make([]int64, len(h.Started.Seats))
	for _, e := range h.Events {
		switch e := e.(type) {
		case match.ActionPlayed:
			if e.ElapsedMs != nil {
				total[e.Seat] += *e.ElapsedMs
			}
		case match.DecisionTimedOut:
			total[e.Seat] += e.ElapsedMs
		case match.AnswerRejected:
			total[e.Seat] += e.ElapsedMs
		}
	}
	return total
}

// Board returns the board of the match.
func (h *History) Board() match.BoardData {
	for _, e := range h.Events {
		if b, ok := e.(match.BoardLaid); ok {
			return b.BoardData
		}
	}
	return match.BoardData{}
}

// Window selects the frames whose seq is greater than After. It selects at most
// Limit frames, or all if Limit is 0.
type Window struct{ After, Limit int }

func (w Window) contains(seq int) bool { return seq > w.After && !w.endsBefore(seq) }

// endsBefore reports whether the window ends before the frame with the given seq.
func (w Window) endsBefore(seq int) bool { return w.Limit > 0 && seq-w.Limit > w.After }

// Frames returns the public state after each public event of a window. If the parameter
// whole is true, the frames include the events' data. The parameter must be false until
// the match has ended.
func (h *History) Frames(whole bool, w Window) []match.Frame {
	list := []match.Frame{}
	s, _ := match.Spectator{}.Fold(h.Started)
	for i, e := range h.Events {
		var public bool
		if s, public = s.Fold(e); public && w.contains(s.Seq) {
			list = append(list, s.Frame(e, h.Times[i], whole))
		}
		if w.endsBefore(s.Seq) {
			break
		}
	}
	return list
}

// Last returns the newest frame. If the match has no frame yet, it returns
// false.
func (h *History) Last(whole bool) (last match.Frame, ok bool) {
	s, _ := match.Spectator{}.Fold(h.Started)
	newest := -1
	for i, e := range h.Events {
		var public bool
		if s, public = s.Fold(e); public {
			newest = i
		}
	}
	if newest < 0 {
		return match.Frame{}, false
	}
	return s.Frame(h.Events[newest], h.Times[newest], whole), true
}

// FramesOf returns the frames of a window. The parameter seat selects the cards to show:
// "" (none), "all", or the number of a seat. It must be "" until the match has ended, and
// the parameter whole must be false.
func (h *History) FramesOf(seat string, whole bool, w Window) []match.Frame {
	switch seat {
	case "":
		return h.Frames(whole, w)
	case "all":
		return h.OpenFrames(match.AllHands, w)
	default:
		return h.OpenFrames(match.HandsOf(seat[0]-'0'), w)
	}
}

// OpenFrames returns the frames of an ended match. They show the cards of one seat or
// of all seats. The parameter hands selects the seats.
func (h *History) OpenFrames(hands match.HandsOf, w Window) []match.Frame {
	list := []match.Frame{}
	m := match.Evolve(match.New(h.Proof.ServerSeed), h.Started)
	for i, e := range h.Events {
		m = match.Evolve(m, e)
		if match.KindOf(e) != "" && w.contains(m.Seq) {
			list = append(list, m.Frame(e, h.Times[i], hands))
		}
		if w.endsBefore(m.Seq) {
			break
		}
	}
	return list
}
