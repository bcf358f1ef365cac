package practice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/records"
	"hexarena/cmd/arena/verify"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// past is an ended match, read from its record. The record is verified, so a fold of the
// events gives the states of the match.
type past struct {
	base    string // the URL of the arena that provided the record; empty for a file
	started match.Started
	proof   match.Proof
	events  []match.Event // all public events; events[i] has the seq i+1
	times   []time.Time   // of events
	aborted bool
	logs    []decisionLog
	decided [game.MaxSeats][]frames.Decision // by seat; the method decisions() fills it
}

// decisionLog is a seat's decision log, with the requests as the bot received them.
type decisionLog struct {
	Seat      int `json:"seat"`
	Decisions []struct {
		ID      int             `json:"id"`
		Request json.RawMessage `json:"request"` // null if the arena did not know the seed
	} `json:"decisions"`
}

// readPast reads the record of an ended match, and verifies it.
func readPast(text []byte) (*past, error) {
	r, err := records.Parse(text)
	if err != nil {
		return nil, err
	}
	h := r.History
	p := &past{started: h.Started, proof: *h.Proof, events: h.Events, times: h.Times}
	if p.aborted = r.Match.Status == matches.Aborted; p.aborted {
		last := len(p.events) - 1 // the abort, which is not in the replay
		p.events, p.times = p.events[:last], p.times[:last]
	}
	var logs struct {
		DecisionLogs []decisionLog `json:"decisionLogs"`
	}
	if err := json.Unmarshal(text, &logs); err != nil {
		return nil, fmt.Errorf("the decision logs of match %s: %w", r.Match.ID, err)
	}
	p.logs = logs.DecisionLogs
	unrated := rating.New() // a record does not contain the ratings and the clocks
	for i := range p.started.Seats {
		p.started.Seats[i].Mu, p.started.Seats[i].Sigma = unrated.Mu, unrated.Sigma
	}
	decision, wall := ladder.Clocks(r.Match.Mode)
	p.started.Deadlines = match.Deadlines{DecisionMs: decision.Milliseconds(), WallMs: wall.Milliseconds()}
	return p, nil
}

// begin returns the match after its start, before the first event.
func (p *past) begin() match.Match {
	return match.Evolve(match.New(p.proof.ServerSeed), p.started)
}

// decisions returns the decisions of a seat. Their requests follow from the replay.
func (p *past) decisions(seat int) []frames.Decision {
	if p.decided[seat] == nil {
		h := frames.History{Started: p.started, Events: p.events, Times: p.times, Clocks: make([]frames.Clock, len(p.events)), Proof: &p.proof}
		p.decided[seat] = h.Decisions(seat, nil, match.NewDetails())
	}
	return p.decided[seat]
}

// names lists the bots of the match for an error message.
func (p *past) names() string {
	var names []string
	for _, s := range p.started.Seats {
		names = append(names, fmt.Sprintf("%q", cmp.Or(s.BotName, s.BotID)))
	}
	return strings.Join(names, ", ")
}

// checkSeat returns an error if the match has no seat with this number.
func (p *past) checkSeat(seat int) error {
	if n := len(p.started.Seats); seat < 0 || seat >= n {
		return fmt.Errorf("match %s has the seats 0 to %d, and no seat %d", p.started.MatchID, n-1, seat)
	}
	return nil
}

// pasts yields the matches that an argument names.
func pasts(ctx context.Context, k *kong.Kong, source records.Source, what string) iter.Seq2[*past, error] {
	return func(yield func(*past, error) bool) {
		found, err := source.Find(ctx, k, what)
		if err != nil {
			yield(nil, err)
			return
		}
		if found.Path == "" {
			p, err := readPast(found.Text)
			if err == nil {
				p.base = found.Base
			}
			yield(p, err)
			return
		}
		files, err := listRecords([]string{found.Path})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, file := range files {
			for text, err := range verify.Records(file) {
				var p *past
				if err == nil {
					if p, err = readPast(text); err != nil {
						err = fmt.Errorf("%s: %w", file, err)
					}
				}
				if !yield(p, err) || err != nil {
					return
				}
			}
		}
	}
}

// onePast returns the only match that an argument names.
func onePast(ctx context.Context, k *kong.Kong, source records.Source, what string) (one *past, err error) {
	for p, err := range pasts(ctx, k, source, what) {
		switch {
		case err != nil:
			return nil, err
		case one != nil:
			return nil, fmt.Errorf("%s contains several records; choose a file with one record", what)
		}
		one = p
	}
	if one == nil {
		return nil, fmt.Errorf("%s contains no record", what)
	}
	return one, nil
}
