package signedlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// record contains the fields of a leaf. They also appear in an ended match's record
// in the API (docs/audit.md, "The signed log").
type record struct {
	matches.Summary
	Seed       *seed.Seed          `json:"seed"`
	Replay     []match.PublicEvent `json:"replay"`
	Commitment seed.Seed           `json:"commitment"`
	Proof      *match.Proof        `json:"proof"`
}

// The variable fields lists the names of a leaf's fields.
var fields = []string{"id", "mode", "status", "players", "startedAt", "endedAt", "seed", "replay", "commitment", "proof"}

var errNoEnd = errors.New("the ladder has closed the match, but the match's stream has no end event")

// recordOf returns the record of a match that its ladder has closed. The parameter rated
// contains the seats of a completed match. It is nil for an aborted match.
func recordOf(h *frames.History, status string, rated []ladder.RatedSeat) (record, error) {
	r := record{Seed: h.Seed, Proof: h.Proof, Commitment: h.Started.Commitment, Replay: h.Replay()}
	if !h.Ended() || len(r.Replay) == 0 {
		return r, errNoEnd
	}
	ended := h.Times[len(h.Times)-1].UTC().Format(match.TimeFormat)
	r.Summary = matches.Summary{ID: h.Started.MatchID, Mode: h.Started.Mode, Status: status, StartedAt: r.Replay[0].At, EndedAt: &ended}
	for seat, s := range h.Started.Seats {
		p := matches.Player{Seat: seat, BotID: s.BotID, BotName: s.BotName}
		if i := slices.IndexFunc(rated, func(c ladder.RatedSeat) bool { return c.BotID == s.BotID }); i >= 0 {
			delta := rating.Delta(rated[i].Before, rated[i].After)
			p.Placement, p.RatingDelta = &rated[i].Placement, &delta
		}
		r.Players = append(r.Players, p)
	}
	return r, nil
}

// leafOf builds the leaf for a ladder's event from the stream of the match that the
// event closes. It returns nil if the event closes no match, or a match that had
// not started.
func leafOf(ctx context.Context, log eventstore.Log, r eventstore.Recorded) (id string, leaf []byte, err error) {
	if r.Type == (ladder.TablesSeated{}).EventType() {
		return "", nil, nil // returns without decoding the event, because it may be large
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return "", nil, err
	}
	switch e := e.(type) {
	case ladder.RatingsChanged:
		leaf, err = leafFrom(ctx, log, e.MatchID, matches.Completed, e.Seats)
		return e.MatchID, leaf, err
	case ladder.MatchVoided:
		if e.Why == ladder.WhyBeacon {
			return e.MatchID, nil, nil // no leaf, even if another process starts the match at the same time
		}
		started, err := startedBefore(ctx, log, e.MatchID, r.Position)
		if err != nil || !started {
			return e.MatchID, nil, err
		}
		leaf, err = leafFrom(ctx, log, e.MatchID, matches.Aborted, nil)
		return e.MatchID, leaf, err
	}
	return "", nil, nil
}

// startedBefore reports whether a match had started when its ladder voided it. A start
// that is stored after the void does not count, because it must not change the tree.
func startedBefore(ctx context.Context, log eventstore.Log, id string, at eventstore.Position) (bool, error) {
	for r, err := range log.Read(ctx, eventstore.StreamID(match.Stream(id)), 0, eventstore.ReadOptions{Limit: 1}) {
		return err == nil && r.Position < at, err
	}
	return false, ctx.Err()
}

func leafFrom(ctx context.Context, log eventstore.Log, id, status string, rated []ladder.RatedSeat) ([]byte, error) {
	h, err := frames.Read(ctx, log, id)
	if err != nil {
		return nil, err
	}
	r, err := recordOf(&h, status, rated)
	if err != nil {
		return nil, fmt.Errorf("match %s: %w", id, err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return canonical(text)
}

// Leaf builds a leaf from the public JSON of a match's record, and returns the
// leaf's bytes. It drops the fields that do not belong to a leaf.
func Leaf(text []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	selected := map[string]json.RawMessage{}
	for _, name := range fields {
		value, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("the record has no %s", name)
		}
		selected[name] = value
	}
	picked, err := json.Marshal(selected)
	if err != nil {
		return nil, err
	}
	return canonical(picked)
}

// canonical returns the canonical form (RFC 8785) of a JSON text. It may overwrite the
// text.
func canonical(text []byte) ([]byte, error) {
	v := jsontext.Value(text)
	err := v.Canonicalize()
	return v, err
}
