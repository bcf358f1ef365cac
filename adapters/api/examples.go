package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// The examples of the document are values of the types that are answered, and
// where a match is shown, one that was played by the rules.

const (
	exampleOwner = "0b1c8a3e-5f0e-4c43-8a55-2f6e7f0b9d10"
	exampleBot   = "5d8e2f64-52f4-4c38-9f0c-0a4f0c1f7c11"
	exampleKey   = "9d2b7c1e-8f21-4a7b-b2f3-6f3e5d4c3b12"
)

var exampleTime = time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)

func exampleAccountBody() accountBody {
	return accountBody{ID: exampleOwner, Name: "ada", Email: "ada@example.org"}
}

func exampleBotBody() botBody {
	return botBody{
		ID: exampleBot, OwnerID: exampleOwner, Name: "Lovelace", Mode: ladder.Standard, URL: "https://bots.example/lovelace",
		Status: string(owner.Active), CreatedAt: exampleMoment,
	}
}

func exampleKeyBody() keyBody {
	used := exampleMoment
	public := sha256.Sum256([]byte("example"))
	return keyBody{
		ID: exampleKey, Name: "laptop", PublicKey: base64.StdEncoding.EncodeToString(public[:]), Scopes: owner.DefaultScopes(),
		CreatedAt: exampleMoment, LastUsedAt: &used,
	}
}

func exampleSteps() []stepBody {
	return []stepBody{
		{Name: "resolve", OK: true, Detail: "the host has an address", ElapsedMs: 4},
		{Name: "ping", OK: true, Detail: "pong", ElapsedMs: 21},
		{Name: "upgrade", OK: true, Detail: "the socket opened", ElapsedMs: 30},
	}
}

// exampleMatch is a match of which the first decision has been answered.
type exampleMatch struct {
	state   match.Match
	request match.Request
	history frames.History
	log     []frames.Decision
}

func newExampleMatch() (exampleMatch, error) {
	server := seed.Seed(sha256.Sum256([]byte("example")))
	seating := match.Seating{
		MatchID: exampleID, Mode: ladder.Standard, Commitment: seed.Commitment(server),
		Table:     match.Table{Bots: []string{exampleBot, exampleKey, exampleOwner}, SeedKey: exampleKey},
		Nonces:    []string{"", "", ""},
		Deadlines: match.Deadlines{DecisionMs: 5000, WallMs: 600_000},
	}
	for i, id := range seating.Table.Bots {
		seating.Bots = append(seating.Bots, match.Seat{BotID: id, BotName: []string{"Lovelace", "Babbage", "Menabrea"}[i], OwnerID: exampleOwner})
	}
	e := exampleMatch{state: match.New(server)}
	started, err := e.state.Start(seating)
	if err != nil {
		return e, err
	}
	e.fold(started)
	ask := e.state.Asks()[0]
	e.request = e.state.Request(ask)
	e.request.DeadlineMs = seating.Deadlines.DecisionMs
	best := e.state.Game.Default(uint8(ask.Seat))
	answer := fmt.Appendf(nil, `{"id":%d,"action":{"settlement":%d,"road":%d}}`, ask.ID, best.Vertex, best.Edges[0])
	settled, err := e.state.Settle([]match.Outcome{{Decision: ask.ID, Frame: answer, ElapsedMs: 12}})
	if err != nil {
		return e, err
	}
	e.fold(settled)
	e.log = e.history.Decisions(ask.Seat, &server)
	return e, nil
}

func (e *exampleMatch) fold(events []match.Event) {
	for _, event := range events {
		e.state = match.Evolve(e.state, event)
		if started, ok := event.(match.Started); ok {
			e.history.Started = started
			continue
		}
		e.history.Events = append(e.history.Events, event)
		e.history.Times = append(e.history.Times, exampleTime)
	}
}

func (e *exampleMatch) summary(status string) matches.Summary {
	m := matches.Summary{ID: exampleID, Mode: ladder.Standard, Status: status, StartedAt: exampleMoment}
	for i, s := range e.state.Started.Seats {
		p := matches.Player{Seat: i, BotID: s.BotID, BotName: s.BotName}
		if status == matches.Completed {
			placement, delta := i+1, float64(2-2*i)
			p.Placement, p.RatingDelta = &placement, &delta
		}
		m.Players = append(m.Players, p)
	}
	if status == matches.Completed {
		ended := formatTime(exampleTime.Add(4 * time.Minute))
		m.EndedAt = &ended
	}
	return m
}

// record is the match as it would be answered after an end.
func (e *exampleMatch) record() matchBody {
	joint, proof := e.state.Seed, e.state.Proof()
	ended := match.GameEnded{EndData: match.EndData{Reason: "win", Scores: []int{10, 7, 6}, Placements: []int{1, 2, 3}}}
	replay := match.Replay{}
	for _, event := range append(e.history.Events[1:2:2], match.Event(ended)) {
		replay.Add(event, exampleTime)
	}
	return matchBody{
		Summary: e.summary(matches.Completed), Seed: &joint, Proof: &proof, Commitment: e.state.Started.Commitment,
		Replay: replay.Events, ThinkingMs: []int64{51_210, 48_023, 61_877},
	}
}
