package signedlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// record is what a leaf is made of: the specification's Match, with commitment
// and proof.
type record struct {
	matches.Summary
	Seed       *seed.Seed          `json:"seed"`
	Replay     []match.PublicEvent `json:"replay"`
	Commitment seed.Seed           `json:"commitment"`
	Proof      *match.Proof        `json:"proof"`
}

// fields are the names that a leaf has.
var fields = []string{"id", "mode", "status", "players", "startedAt", "endedAt", "seed", "replay", "commitment", "proof"}

var errNoEnd = errors.New("its ladder has closed it, and its stream has no end")

// recordOf is that of a match that its ladder has closed; rated are the seats of
// one that is completed.
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

// leafOf makes the leaf of a ladder's event, from the stream of its match; nil
// where the event is of no match that had started.
func leafOf(ctx context.Context, log eventstore.Log, r eventstore.Recorded) (id string, leaf []byte, err error) {
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return "", nil, err
	}
	switch e := e.(type) {
	case ladder.RatingsChanged:
		leaf, err = leafFrom(ctx, log, e.MatchID, matches.Completed, e.Seats)
		return e.MatchID, leaf, err
	case ladder.MatchVoided:
		started, err := startedBefore(ctx, log, e.MatchID, r.Position)
		if err != nil || !started {
			return e.MatchID, nil, err
		}
		leaf, err = leafFrom(ctx, log, e.MatchID, matches.Aborted, nil)
		return e.MatchID, leaf, err
	}
	return "", nil, nil
}

// startedBefore says whether a match had started when its ladder gave it up: a
// start that was stored later changes nothing of the tree.
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
	return jcs.Transform(text)
}

// Leaf makes the bytes of a leaf from the JSON of a match's record as anyone
// can read it: what a leaf does not have is dropped.
func Leaf(text []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	kept := map[string]json.RawMessage{}
	for _, name := range fields {
		value, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("the record has no %s", name)
		}
		kept[name] = value
	}
	picked, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(picked)
}
