// Package audit recomputes an ended match from public data. This data is the record
// that GET /matches/{id} returns and, if the caller has them, the ladder, the arena's
// keys and an owner's notes. Like the checkers in other languages, the package
// follows docs/audit.md. It trusts nothing that it reads. It does no I/O: callers
// pass in the data.
//
// Parse reads a record. Match recomputes the match up to the first difference.
// Ladder recomputes a whole ladder.
package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hexarena/domain/beacon"
	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// The checks, in the order in which a Report lists them. Match skips the checks
// for which it has no evidence.
const (
	CheckRecord     = "record"     // the shape, times and numbers of the record and its events
	CheckID         = "id"         // the id is derived from the position of the match's table on the ladder
	CheckSeating    = "seating"    // the table that the ladder's signed tree contains
	CheckCommitment = "commitment" // the commitment is the hash of the server seed
	CheckSeedKey    = "seed key"   // the server seed is derived from the published key
	CheckBeacon     = "beacon"     // the beacon round that the seating names, with its time and signature
	CheckSeed       = "seed"       // the seed is derived from the server seed and either the beacon or the nonces
	CheckSeats      = "seats"      // the seed determines the seat of each bot
	CheckBoard      = "board"      // hexes, tokens, ports, bandit
	CheckDice       = "dice"       // every roll, and the seat that rolled
	CheckAnswers    = "answers"    // every answer is legal, and each development card came from the deck
	CheckRefusals   = "refusals"   // every refused answer breaks the rule that the log names
	CheckDefaults   = "defaults"   // every default follows from the rules
	CheckStrikes    = "strikes"    // every strike, and every resignation
	CheckSteals     = "steals"     // every robbery
	CheckTrades     = "trades"     // every trade between seats
	CheckAwards     = "awards"     // every change of an award's holder
	CheckEnd        = "end"        // the end of the match: reason, scores, placements
	CheckPlacements = "placements" // the placements of the record
	CheckThinking   = "thinking"   // the thinking times in the record
	CheckNonces     = "nonces"     // the nonces, commitments and rounds in an owner's notes
	CheckRating     = "rating"     // the position of the match on its ladder, and the rating changes
)

var order = [...]string{
	CheckRecord, CheckID, CheckSeating, CheckCommitment, CheckSeedKey, CheckBeacon, CheckSeed, CheckSeats, CheckBoard, CheckDice, CheckAnswers, CheckRefusals,
	CheckDefaults, CheckStrikes, CheckSteals, CheckTrades, CheckAwards, CheckEnd, CheckPlacements, CheckThinking, CheckNonces, CheckRating,
}

// Check is the outcome of one check.
type Check struct {
	Name    string `json:"name"`
	Made    bool   `json:"made"`
	Count   int    `json:"count"`             // number of compared values: rolls, answers, …
	Because string `json:"because,omitempty"` // the reason if all or part of the check was skipped
}

// Difference describes the first place where the log differs from the recomputed
// match.
type Difference struct {
	Check   string `json:"check"`
	Seq     int    `json:"seq"`     // the number of the event; 0 for a difference in the record outside its replay
	Log     string `json:"log"`     // the value in the log
	Follows string `json:"follows"` // the expected value, which follows from the seed and the earlier events
}

// Error describes the difference in one line.
func (d *Difference) Error() string {
	where := "the record"
	if d.Seq > 0 {
		where = fmt.Sprintf("seq %d", d.Seq)
	}
	return fmt.Sprintf("%s, %s: the log has %s; expected %s", where, d.Check, d.Log, d.Follows)
}

// Report is the result of auditing a match.
type Report struct {
	Match      string      `json:"match"`
	Mode       string      `json:"mode"`
	Status     string      `json:"status"`
	Events     int         `json:"events"`
	Checks     []Check     `json:"checks"`
	SeedFrom   string      `json:"seedFrom,omitempty"`   // who contributed to the seed; empty if no arena seated the match
	Difference *Difference `json:"difference,omitempty"` // nil if everything matches
}

// Evidence is the data that the caller has in addition to the record. The zero
// value holds no evidence.
type Evidence struct {
	PlatformKey string             // base64; empty if unknown
	SeedKeys    map[string]SeedKey // by id; nil if unknown
	Ladder      *Ladder            // must watch the match (see NewLadder); nil if unknown
	Seatings    map[string]Seating // from the ladder's signed tree, by match; nil if the tree is unknown
	Beacons     []Beacon           // the chains that the caller trusts
	HouseBots   map[string]bool    // by bot: whether the house owns the bot; if a bot is missing, its owner is unknown
	Notes       map[string][]Note  // an owner's notes, by match; nil if unknown
	Required    bool               // whether the record comes from an arena, so that it must have a proof
}

// Beacon is a chain that the caller trusts. Verify checks the signature of a round.
// The domain packages contain no BLS code, so the caller supplies Verify. If the
// chain has no period, the audit does not check the times of its rounds.
type Beacon struct {
	beacon.Chain

	Verify func(beacon.Chain, beacon.Round) error
}

// SeedKey is a seed key as the stream arena-keys records it.
type SeedKey struct {
	Hash seed.Seed // SHA-256 of the key
	Key  []byte    // nil until it is published
}

// Match recomputes an ended match up to the first difference.
func Match(r *Record, e Evidence) Report {
	a := &audit{record: r, evidence: e}
	for _, step := range []func(){a.chance, a.replay, a.totals, a.notes, a.rating} {
		if a.difference == nil {
			step()
		}
	}
	return a.report()
}

// audit recomputes one match.
type audit struct {
	record     *Record
	evidence   Evidence
	checks     [len(order)]Check // in the order of a Report; unused checks have no name
	difference *Difference
	heard      [game.MaxSeats]bool // whether the replay has an answer from the seat, even a nonsensical one
}

func (a *audit) check(name string) *Check {
	c := &a.checks[slices.Index(order[:], name)]
	c.Name = name
	return c
}

// The method made() records that a check compared n more values and found them equal.
func (a *audit) made(name string, n int) {
	c := a.check(name)
	c.Made = true
	c.Count += n
}

func (a *audit) skipped(name, because string) { a.check(name).Because = because }

// The method differs() sets the difference to report, unless one is already set.
func (a *audit) differs(check string, seq int, log, follows string) {
	if a.difference == nil {
		a.difference = &Difference{check, seq, log, follows}
	}
}

// compare compares a value that is in the record but not in its replay.
func (a *audit) compare(check, log, follows string) {
	if a.difference != nil {
		return
	}
	if log != follows {
		a.differs(check, 0, log, follows)
		return
	}
	a.made(check, 1)
}

func (a *audit) report() Report {
	r := a.record
	rep := Report{Match: r.ID, Mode: r.Mode, Status: r.Status, Events: len(r.events), Difference: a.difference}
	if r.proof != nil {
		rep.SeedFrom = a.seedFrom()
	}
	for _, c := range a.checks {
		if c.Name != "" {
			rep.Checks = append(rep.Checks, c)
		}
	}
	return rep
}

// shorten cuts JSON so that it fits into a message.
func shorten(raw string) string {
	const most = 600
	if len(raw) <= most {
		return raw
	}
	return strings.ToValidUTF8(raw[:most], "") + "…"
}

// inJSON returns an expected value in the format of the log.
func inJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
