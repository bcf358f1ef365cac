// Package frames reads one match's stream: its record, its replay, and the
// public board after every event. Nothing is kept: the stream is the record.
package frames

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

// ErrNoMatch says that a stream holds no match.
var ErrNoMatch = errors.New("no such match")

// History is what a match's stream holds.
type History struct {
	Started match.Started
	Events  []match.Event // all but Started
	Times   []time.Time   // when each of Events occurred
	Seed    *seed.Seed    // once the stream has ended
	Proof   *match.Proof  // the same
}

// Ended says whether the stream holds the end of the match; its ladder may not
// know yet.
func (h *History) Ended() bool { return h.Proof != nil }

// Read folds a match's stream.
func Read(ctx context.Context, log eventstore.Log, matchID string) (History, error) {
	var h History
	for r, err := range log.Read(ctx, eventstore.StreamID(match.Stream(matchID)), 0, eventstore.ReadOptions{}) {
		if err != nil {
			return History{}, fmt.Errorf("read match %s: %w", matchID, err)
		}
		e, err := match.Decode(r.Type, r.Data)
		if err != nil {
			return History{}, fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
		}
		meta, err := eventstore.DecodeMetadata(r)
		if err != nil {
			return History{}, err
		}
		h.add(e, meta.At)
	}
	if h.Started.MatchID == "" {
		return History{}, ErrNoMatch
	}
	return h, nil
}

func (h *History) add(e match.Event, at time.Time) {
	switch e := e.(type) {
	case match.Started:
		h.Started = e
		return
	case match.GameEnded:
		h.Seed, h.Proof = &e.Seed, &e.Proof
	case match.Aborted:
		h.Seed, h.Proof = &e.Seed, &e.Proof
	}
	h.Events = append(h.Events, e)
	h.Times = append(h.Times, at)
}

// Replay returns the public events, whole. Only an ended match may show them.
func (h *History) Replay() []match.PublicEvent {
	r := match.Replay{Events: []match.PublicEvent{}}
	for i, e := range h.Events {
		r.Add(e, h.Times[i])
	}
	return r.Events
}

// ThinkingMs is the time that each seat took to answer, or failed to, summed
// over its decisions.
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

// Board returns the board of the match, which is laid with its start.
func (h *History) Board() match.BoardData {
	for _, e := range h.Events {
		if b, ok := e.(match.BoardLaid); ok {
			return b.BoardData
		}
	}
	return match.BoardData{}
}

// Window selects frames by their seq: those behind After, at most Limit of
// them where Limit is above zero. The zero Window selects all.
type Window struct{ After, Limit int }

func (w Window) shows(seq int) bool { return seq > w.After && !w.ends(seq) }

// ends says whether a frame lies behind the last that is selected.
func (w Window) ends(seq int) bool { return w.Limit > 0 && seq-w.Limit > w.After }

// Frames returns the public state after each public event of a window. Whole
// shows the events' data, which only an ended match may.
func (h *History) Frames(whole bool, w Window) []match.Frame {
	list := []match.Frame{}
	s, _ := match.Spectator{}.Fold(h.Started)
	for i, e := range h.Events {
		var public bool
		if s, public = s.Fold(e); public && w.shows(s.Seq) {
			list = append(list, s.Frame(e, h.Times[i], whole))
		}
		if w.ends(s.Seq) {
			break
		}
	}
	return list
}

// Last returns the newest frame; ok is false where there is none yet.
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

// OpenFrames returns those of an ended match, with the cards of a seat, or of
// all.
func (h *History) OpenFrames(hands match.HandsOf, w Window) []match.Frame {
	list := []match.Frame{}
	m := match.Evolve(match.New(h.Proof.ServerSeed), h.Started)
	for i, e := range h.Events {
		m = match.Evolve(m, e)
		if kind, _, _ := match.Publish(e); kind != "" && w.shows(m.Seq) {
			list = append(list, m.Frame(e, h.Times[i], hands))
		}
		if w.ends(m.Seq) {
			break
		}
	}
	return list
}
