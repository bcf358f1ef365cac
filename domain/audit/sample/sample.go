// Package sample simulates whole arenas in memory. The same options always give the
// same arena. The package returns the ladder's events and the record of every match,
// as an arena would publish them. The audit's tests and benchmarks use these events
// and records, and so do the vectors in docs/audit. The bots play at random, and some
// are mischievous. The package needs no sockets, log or clock: it makes up its own
// times.
package sample

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
)

// The keys of every arena of this package.
const (
	PlatformKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	SeedKeyID   = "seed-key-1"
)

// SeedKey is the seed key of every arena of this package.
var SeedKey = []byte("the seed key of the samples 32 b")

// Options describe an arena.
type Options struct {
	Chance   uint64 // the random seed for the bots' choices
	Bots     int
	Mischief int  // percentage of failing answers; applies to every second bot
	Build    bool // whether bots build when they can, so that games end with a win
	Abort    int  // one in this many matches is aborted; 0 for none
	Silent   bool // no bot sends a nonce
	Orders   bool // every second abort is an operator's order
	Absent   int  // this many bots, the first ones, never answer
	Activate int  // the owners of the absent bots activate them again after every Activate ticks; 0 for never
	Lost     int  // one in this many matches is voided because its round did not appear; 0 for none

	Rest        time.Duration // the usual rest
	PlatformKey string        // base64; PlatformKey if empty
	Beacon      *Beacon       // nil for an arena without a beacon
}

// Arena plays one mode's ladder. Make one with New.
type Arena struct {
	*Ladder

	options Options
	ticks   int
	seated  int // matches
	played  int // matches
	orders  int // aborts
}

// New returns an arena that has not played any match.
func New(o Options) *Arena {
	a := &Arena{Ladder: newLadder(o.Bots, o.Chance, o.PlatformKey), options: o}
	a.beacon, a.rest = o.Beacon, o.Rest
	return a
}

// Tick seats every bot, plays all matches to their end, and returns the records of
// the matches.
func (a *Arena) Tick() [][]byte {
	if a.ticks++; a.options.Activate > 0 && a.ticks%a.options.Activate == 0 {
		for i := range a.options.Absent {
			a.candidates[i].StatusChanged = a.now
		}
	}
	a.seat()
	var records [][]byte
	for _, s := range a.state.Unfinished() {
		if a.seated++; a.options.Lost > 0 && a.seated%a.options.Lost == 0 {
			a.store(a.state.Void(s.MatchID, ladder.WhyBeacon))
			continue
		}
		records = append(records, a.play(s))
	}
	return records
}

// play plays a match to its end, stores its result on the ladder, and returns its
// record.
func (a *Arena) play(s ladder.Seating) []byte {
	g := a.begin(s)
	aborts := 0
	if a.played++; a.options.Abort > 0 && a.played%a.options.Abort == 0 {
		aborts = 1 + a.below(60) // earlier than the end of any game
	}
	for appends := 1; !g.state.Over(); appends++ {
		if appends == aborts {
			g.abort()
			break
		}
		g.step()
	}
	return a.conclude(g)
}

// abort aborts the match.
func (g *table) abort() {
	if g.arena.orders++; g.arena.options.Orders && g.arena.orders%2 == 0 {
		g.store(g.state.CancelByOrder("the sample's order"))
		return
	}
	g.store(g.state.Cancel(match.WallClock))
}

// conclude stores the result of the match on its ladder, and returns the record
// of the match.
func (a *Arena) conclude(g *table) []byte {
	if g.state.Abort != nil {
		a.store(a.state.Void(g.state.Started.MatchID, g.state.Abort.Why))
		return g.record(nil)
	}
	var results []ladder.Result
	for seat, s := range g.state.Started.Seats {
		results = append(results, ladder.Result{BotID: s.BotID, Placement: g.state.End.Placements[seat], Missed: g.state.Missed(seat)})
	}
	events := a.store(a.state.Finish(g.state.Started.MatchID, results))
	return g.record(events[0].(ladder.RatingsChanged).Seats)
}

// must panics on errors that only a bug in this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// table is a match in progress.
type table struct {
	arena  *Arena
	state  match.Match
	replay match.Replay
	bots   [game.MaxSeats]bot
	began  time.Time
	ended  time.Time
	played [game.MaxSeats]int64 // thinking time
}

func (a *Arena) begin(s ladder.Seating) *table {
	g := &table{arena: a, state: match.New(seed.Server(SeedKey, s.MatchID))}
	in := match.Seating{
		MatchID: s.MatchID, Mode: s.Mode, Commitment: s.Commitment,
		Table:     match.Table{Revision: s.Revision, Index: s.Index, SeedKey: s.SeedKey},
		Deadlines: match.Deadlines{DecisionMs: 5000, WallMs: 600_000},
	}
	if s.Beacon != nil {
		round := beacon.NewRound(*s.Beacon, a.beacon.Sign(s.Beacon.Round))
		in.Beacon = &round
	}
	for i, e := range s.Bots {
		in.Bots = append(in.Bots, match.Seat{BotID: e.BotID, BotName: "Bot " + e.BotID[len(e.BotID)-3:], OwnerID: "owner", Mu: e.Mu, Sigma: e.Sigma})
		in.Table.Bots = append(in.Table.Bots, e.BotID)
		nonce := ""
		if !a.options.Silent && a.below(2) == 0 {
			nonce = fmt.Sprintf("nonce-%d-%d", i, a.below(1000))
		}
		in.Nonces = append(in.Nonces, nonce)
	}
	g.store(g.state.Start(in))
	g.began = a.now
	for seat, b := range g.state.Started.Seats {
		g.bots[seat] = bot{Player: matchtest.Player{Below: a.below, Build: a.options.Build}, absent: slices.ContainsFunc(a.candidates[:a.options.Absent], func(c ladder.Candidate) bool { return c.BotID == b.BotID })}
		if b.BotID[len(b.BotID)-1]%2 == 1 {
			g.bots[seat].mischief = a.options.Mischief
		}
	}
	return g
}

// step settles the owed decisions in one append.
func (g *table) step() {
	var outcomes []match.Outcome
	for _, d := range g.state.Asks() {
		o := g.bots[d.Seat].answer(&g.state, d)
		o.Decision = d.ID
		g.played[d.Seat] += o.ElapsedMs
		outcomes = append(outcomes, o)
	}
	g.store(g.state.Settle(outcomes))
}

// store folds the events of one append into the match.
func (g *table) store(events []match.Event, err error) {
	must(err)
	g.arena.now = g.arena.now.Add(7 * time.Millisecond)
	g.ended = g.arena.now
	g.state = match.EvolveAll(g.state, events)
	for _, e := range events {
		g.replay.Add(e, g.arena.now)
	}
}

type player struct {
	Seat        int      `json:"seat"`
	BotID       string   `json:"botId"`
	BotName     string   `json:"botName"`
	Placement   *int     `json:"placement"`
	RatingDelta *float64 `json:"ratingDelta"`
}

type record struct {
	ID         string              `json:"id"`
	Mode       string              `json:"mode"`
	Status     string              `json:"status"`
	Players    []player            `json:"players"`
	StartedAt  string              `json:"startedAt"`
	EndedAt    string              `json:"endedAt"`
	Seed       seed.Seed           `json:"seed"`
	Replay     []match.PublicEvent `json:"replay"`
	Commitment seed.Seed           `json:"commitment"`
	Proof      match.Proof         `json:"proof"`
	ThinkingMs []int64             `json:"thinkingMs"`
}

// record returns the match in the JSON of GET /matches/{id}.
func (g *table) record(rated []ladder.RatedSeat) []byte {
	s := g.state.Started
	r := record{
		ID: s.MatchID, Mode: s.Mode, Status: "aborted", StartedAt: g.began.Format(match.TimeFormat), EndedAt: g.ended.Format(match.TimeFormat),
		Seed: g.state.Seed, Replay: g.replay.Events, Commitment: s.Commitment, Proof: g.state.Proof(), ThinkingMs: g.played[:len(s.Seats)],
	}
	for seat, b := range s.Seats {
		r.Players = append(r.Players, player{Seat: seat, BotID: b.BotID, BotName: b.BotName})
	}
	if g.state.End != nil {
		r.Status = "completed"
	}
	for _, c := range rated {
		for i := range r.Players {
			if r.Players[i].BotID == c.BotID {
				delta := rating.Delta(c.Before, c.After)
				r.Players[i].Placement, r.Players[i].RatingDelta = &c.Placement, &delta
			}
		}
	}
	b, err := json.Marshal(r)
	must(err)
	return b
}

// SeedKeyHash returns the hash that identifies the seed key in arena-keys.
func SeedKeyHash() seed.Seed { return sha256.Sum256(SeedKey) }
