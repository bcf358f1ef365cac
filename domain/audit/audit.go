// Package audit recomputes an ended match from public data: the record of
// GET /matches/{id} and, if the caller has them, the ladder, the arena's keys and
// an owner's own notes. It follows docs/audit.md, from which the checkers in other
// languages are written too. It trusts nothing that it reads. It knows no log, no
// file and no network: callers pass the text.
//
// Parse reads a record, and Match recomputes it up to the first difference. Ladder
// recomputes a whole ladder.
package audit

import (
	"encoding/json"
	"fmt"
	"strings"

	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// The checks, in the order of a Report. Match skips the checks for which it has no
// evidence.
const (
	CheckRecord     = "record"     // the shape of the record and of every event, times and numbers
	CheckID         = "id"         // the match's id follows from where it was seated
	CheckCommitment = "commitment" // it hides the server seed
	CheckSeedKey    = "seed key"   // the server seed follows from the published key
	CheckSeed       = "seed"       // it follows from server seed and nonces
	CheckSeats      = "seats"      // who sits where
	CheckBoard      = "board"      // hexes, tokens, ports, bandit
	CheckDice       = "dice"       // every roll, and who rolls
	CheckAnswers    = "answers"    // every answer is legal; a development card is one that the deck gave
	CheckRefusals   = "refusals"   // every refused answer breaks the rule that it was refused for
	CheckDefaults   = "defaults"   // every default is the one that the rules give
	CheckStrikes    = "strikes"    // every strike, and every resignation
	CheckSteals     = "steals"     // every robbery
	CheckTrades     = "trades"     // every trade between seats
	CheckAwards     = "awards"     // every move of an award
	CheckEnd        = "end"        // how the match ended: reason, scores, placements
	CheckPlacements = "placements" // the placements of the record
	CheckThinking   = "thinking"   // the thinking times of the record
	CheckNonces     = "nonces"     // an owner's own nonces and commitments
	CheckRating     = "rating"     // the match's place in its ladder, and the rating change
)

var order = []string{
	CheckRecord, CheckID, CheckCommitment, CheckSeedKey, CheckSeed, CheckSeats, CheckBoard, CheckDice, CheckAnswers, CheckRefusals,
	CheckDefaults, CheckStrikes, CheckSteals, CheckTrades, CheckAwards, CheckEnd, CheckPlacements, CheckThinking, CheckNonces, CheckRating,
}

// Check is the outcome of one check.
type Check struct {
	Name    string `json:"name"`
	Made    bool   `json:"made"`
	Count   int    `json:"count"`             // of compared things: rolls, answers, …
	Because string `json:"because,omitempty"` // why the check, or a part of it, was not made
}

// Difference is the place where the log differs from what follows from the seed.
type Difference struct {
	Check   string `json:"check"`
	Seq     int    `json:"seq"`     // of the event; 0: the record itself, not its replay
	Log     string `json:"log"`     // what the log has
	Follows string `json:"follows"` // what follows from the seed and from the log before it
}

// Error describes the difference in one line.
func (d *Difference) Error() string {
	where := "the record"
	if d.Seq > 0 {
		where = fmt.Sprintf("seq %d", d.Seq)
	}
	return fmt.Sprintf("%s, %s: the log has %s; expected %s", where, d.Check, d.Log, d.Follows)
}

// Report is the result of an audited match.
type Report struct {
	Match      string      `json:"match"`
	Mode       string      `json:"mode"`
	Status     string      `json:"status"`
	Events     int         `json:"events"`
	Checks     []Check     `json:"checks"`
	Difference *Difference `json:"difference,omitempty"` // the first; nil: none
}

// Evidence is the data that the caller has in addition to the record. The zero
// value is none.
type Evidence struct {
	PlatformKey string             // base64; empty: unknown
	SeedKeys    map[string]SeedKey // by id; nil: unknown
	Ladder      *Ladder            // which watched the match; nil: unknown
	Notes       map[string][]Note  // an owner's, by match; nil: none
	Required    bool               // the record comes from an arena, so it must have a proof
}

// SeedKey is a seed key as arena-keys shows it.
type SeedKey struct {
	Hash seed.Seed // SHA-256 of the key
	Key  []byte    // nil until it is published
}

// Match recomputes a match that has ended, up to the first difference.
func Match(r *Record, e Evidence) Report {
	a := &audit{record: r, evidence: e, checks: map[string]*Check{}}
	for _, step := range []func(){a.chance, a.replay, a.totals, a.notes, a.rating} {
		if a.difference == nil {
			step()
		}
	}
	return a.report()
}

// audit is one match being recomputed.
type audit struct {
	record     *Record
	evidence   Evidence
	checks     map[string]*Check
	difference *Difference
	heard      [game.MaxSeats]bool // the replay has an answer of the seat, even nonsense
}

func (a *audit) check(name string) *Check {
	if a.checks[name] == nil {
		a.checks[name] = &Check{Name: name}
	}
	return a.checks[name]
}

// made counts things that were compared and fit.
func (a *audit) made(name string, n int) {
	c := a.check(name)
	c.Made = true
	c.Count += n
}

func (a *audit) skipped(name, because string) { a.check(name).Because = because }

// differs keeps the first difference.
func (a *audit) differs(check string, seq int, log, follows string) {
	if a.difference == nil {
		a.difference = &Difference{check, seq, log, follows}
	}
}

// compare makes one check of the record itself.
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
	for _, name := range order {
		if c := a.checks[name]; c != nil {
			rep.Checks = append(rep.Checks, *c)
		}
	}
	return rep
}

// tell shortens JSON for a line of text.
func tell(raw string) string {
	const most = 600
	if len(raw) <= most {
		return raw
	}
	return strings.ToValidUTF8(raw[:most], "") + "…"
}

// inJSON writes the expected value in the shape of the log.
func inJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
