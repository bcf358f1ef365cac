package describe

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// The examples of the document are values of the types that are answered. The
// match that they show was played by the rules.

const (
	exampleID    = "73f4345f-3dbd-40fb-9dc5-459eaec013d9"
	exampleOwner = "0b1c8a3e-5f0e-4c43-8a55-2f6e7f0b9d10"
	exampleBot   = "5d8e2f64-52f4-4c38-9f0c-0a4f0c1f7c11"
	exampleKey   = "9d2b7c1e-8f21-4a7b-b2f3-6f3e5d4c3b12"
)

var (
	exampleTime  = time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)
	exampleStart = rest.FormatTime(exampleTime)
	exampleEnd   = rest.FormatTime(exampleTime.Add(4 * time.Minute))
)

func exampleAccount() rest.Account {
	return rest.Account{ID: exampleOwner, Name: "ada", Email: "ada@example.org"}
}

func exampleBotBody() rest.Bot {
	return rest.Bot{
		ID: exampleBot, OwnerID: exampleOwner, Name: "Lovelace", Mode: ladder.Standard, URL: "https://bots.example/lovelace",
		Status: string(owner.Active), CreatedAt: exampleStart,
	}
}

func exampleKeyBody() rest.Key {
	public := sha256.Sum256([]byte("example"))
	return rest.Key{
		ID: exampleKey, Name: "laptop", PublicKey: base64.StdEncoding.EncodeToString(public[:]), Scopes: owner.DefaultScopes(),
		CreatedAt: exampleStart, LastUsedAt: &exampleStart,
	}
}

func exampleSteps() []rest.Step {
	return []rest.Step{
		{Name: "resolve", OK: true, Detail: "the host has an address", ElapsedMs: 4},
		{Name: "ping", OK: true, Detail: "pong", ElapsedMs: 21},
		{Name: "upgrade", OK: true, Detail: "the socket opened", ElapsedMs: 30},
	}
}

// exampleHistory is the history of the example bot after one match.
func exampleHistory() rest.BotHistory {
	placement, displayed, mu, sigma := 1, 3.1, 27.63, 8.18
	return rest.BotHistory{
		BotID: exampleBot, Name: "Lovelace", Owner: "ada", Mode: ladder.Standard, AbortedMatches: 1,
		Points: []rest.HistoryPoint{{
			MatchID: exampleID, EndedAt: exampleEnd, Placement: &placement, Seat: 2, Rating: &displayed, Mu: &mu, Sigma: &sigma,
		}},
	}
}

// exampleMatch is a match whose first decision has been answered.
type exampleMatch struct {
	state   match.Match
	history frames.History
	log     []rest.Decision
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

func (e *exampleMatch) summary(status string) rest.MatchSummary {
	m := rest.MatchSummary{ID: exampleID, Mode: ladder.Standard, Status: status, StartedAt: exampleStart}
	for i, s := range e.state.Started.Seats {
		p := rest.MatchPlayer{Seat: i, BotID: s.BotID, BotName: s.BotName}
		if status == matches.Completed {
			placement, delta := i+1, float64(2-2*i)
			p.Placement, p.RatingDelta = &placement, &delta
		}
		m.Players = append(m.Players, p)
	}
	if status == matches.Completed {
		m.EndedAt = &exampleEnd
	}
	return m
}

// record returns the match as it would be answered after its end.
func (e *exampleMatch) record() rest.Match {
	joint, proof := e.state.Seed, e.state.Proof()
	ended := match.GameEnded{EndData: match.EndData{Reason: "win", Scores: []int{10, 7, 6}, Placements: []int{1, 2, 3}}}
	replay := match.Replay{}
	for _, event := range append(e.history.Events[1:2:2], match.Event(ended)) {
		replay.Add(event, exampleTime)
	}
	return rest.Match{
		MatchSummary: e.summary(matches.Completed), Seed: &joint, Proof: &proof, Commitment: e.state.Started.Commitment,
		Replay: replay.Events, ThinkingMs: []int64{51_210, 48_023, 61_877},
	}
}
