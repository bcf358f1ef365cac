package signedlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// Record is what a leaf is made of: the specification's Match, with commitment
// and proof.
type Record struct {
	matches.Summary
	Seed       *seed.Seed          `json:"seed"`
	Replay     []match.PublicEvent `json:"replay"`
	Commitment seed.Seed           `json:"commitment"`
	Proof      *match.Proof        `json:"proof"`
}

// fields are the names that a leaf has.
var fields = []string{"id", "mode", "status", "players", "startedAt", "endedAt", "seed", "replay", "commitment", "proof"}

var errNoEnd = errors.New("its ladder has closed it, and its stream has no end")

// RecordOf is that of a match that its ladder has closed; rated are the seats of
// one that is completed.
func RecordOf(h *frames.History, status string, rated []ladder.RatedSeat) (Record, error) {
	r := Record{Seed: h.Seed, Proof: h.Proof, Commitment: h.Started.Commitment, Replay: h.Replay()}
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

func leafOf(h *frames.History, status string, rated []ladder.RatedSeat) ([]byte, error) {
	r, err := RecordOf(h, status, rated)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}

// Leaf makes the bytes of a leaf from the JSON of a match's record as anyone
// can read it: what a leaf does not have is dropped.
func Leaf(record []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(record, &all); err != nil {
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
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}
