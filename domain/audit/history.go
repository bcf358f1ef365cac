package audit

import (
	"bytes"
	"encoding/json"
	"time"

	"hexarena/domain/match"
	"hexarena/domain/rating"
)

// History returns the events of the match, as a fold of domain/match reads them, and the
// times of all events after the start. Call it only if Match has found no difference,
// and if the record has a proof. A record does not contain the deadlines, the ratings
// and the private events of a match, so the history does not have them either.
func (r *Record) History() (started match.Started, events []match.Event, times []time.Time) {
	p := r.proof
	started = match.Started{
		MatchID: r.ID, Mode: r.Mode, Rules: match.RulesVersion, Commitment: *r.commitment, Nonces: p.Nonces, Beacon: p.Beacon,
		Table: match.Table{Bots: p.Table, Revision: p.Revision, Index: p.Index, SeedKey: p.SeedKey},
	}
	unrated := rating.New()
	for _, player := range r.players {
		started.Seats = append(started.Seats, match.Seat{BotID: player.botID, BotName: player.botName, Mu: unrated.Mu, Sigma: unrated.Sigma})
	}
	for i := range r.events {
		e := &r.events[i]
		at, _ := time.Parse(match.TimeFormat, e.at) // readEvent has checked the format
		events, times = append(events, r.matchEvent(e)), append(times, at)
	}
	return started, events, times
}

func (r *Record) matchEvent(e *event) match.Event {
	switch data := e.data.(type) {
	case *played:
		var text bytes.Buffer
		_ = json.Compact(&text, data.Action) // readAction has read it
		data.Action = text.Bytes()
		return data.ActionPlayed
	case match.GameEnded:
		data.Seed, data.Proof = r.seed, *r.proof
		return data
	}
	return e.data
}

// Proof returns the proof of the seed, or nil if no arena seated the match.
func (r *Record) Proof() *match.Proof { return r.proof }

// Aborted reports whether the match was aborted.
func (r *Record) Aborted() bool { return r.Status == aborted }
