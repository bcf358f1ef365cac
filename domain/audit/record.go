package audit

import (
	"fmt"
	"strings"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/domain/strictjson"
)

// The statuses of a match.
const (
	completed = "completed"
	aborted   = "aborted"
	running   = "running"
)

// Record is a match in the shape of GET /matches/{id}. Parse checks only the
// shape. Match checks the contents.
type Record struct {
	ID, Mode, Status string

	players    []player
	startedAt  string
	endedAt    string // empty if null
	reason     string // why the match was aborted; empty if the record does not say
	seed       seed.Seed
	seeded     bool // whether the seed is published
	commitment *seed.Seed
	proof      *match.Proof // nil if no arena seated the match; the commitment is then empty
	thinking   []int        // nil if the record has no thinking times
	events     []event
	flaw       *Difference // the first event of the replay that could not be read, or nil
}

// player is one entry in the list of players of a record.
type player struct {
	seat      int
	botID     string
	botName   string
	placement int // 0 if null
	delta     *float64
}

// Running reports whether the match is still running. The seed of a running
// match is not public.
func (r *Record) Running() bool { return r.Status == running }

// SeatedAt returns the revision of the TablesSeated that seated the match,
// according to the record. ok is false if no arena seated the match.
func (r *Record) SeatedAt() (revision uint64, ok bool) {
	if r.proof == nil {
		return 0, false
	}
	return r.proof.Revision, true
}

// NoncedBots lists the bots whose nonces went into the seed, according to the record.
func (r *Record) NoncedBots() (bots []string) {
	if r.proof == nil || r.proof.Beacon != nil {
		return nil
	}
	for i, bot := range r.proof.Table[:min(len(r.proof.Table), len(r.proof.Nonces))] {
		if r.proof.Nonces[i] != "" {
			bots = append(bots, bot)
		}
	}
	return bots
}

// Events returns the length of the replay.
func (r *Record) Events() int { return len(r.events) }

// Parser reads records. It remembers actions, because most of them occur in many
// records. The zero Parser is ready to use.
type Parser struct{ known knownActions }

// Parse reads a record with a new Parser.
func Parse(text []byte) (*Record, error) { return new(Parser).Parse(text) }

// Parse reads a record. It returns an error if the text is not the record of a match.
// An invalid event in the replay is not an error: Match reports the first such event.
func (p *Parser) Parse(text []byte) (*Record, error) {
	rec := new(Record)
	r := strictjson.New(text)
	rec.read(r, &p.known)
	if r.Err() != nil {
		return nil, fmt.Errorf("not a record of a match: %w", r.Err())
	}
	return rec, rec.consistent()
}

// The method consistent() rejects a record that cannot be recomputed at all.
func (r *Record) consistent() error {
	switch {
	case r.Status != completed && r.Status != aborted && r.Status != running:
		return fmt.Errorf("not a record of a match: there is no status %q", r.Status)
	case len(r.players) < 3 || len(r.players) > game.MaxSeats:
		return fmt.Errorf("not a record of a match: it has %d players, not 3 or 4", len(r.players))
	case !r.Running() && !r.seeded:
		return fmt.Errorf("not a record of a match: it is %s, and its seed is not public", r.Status)
	case (r.proof == nil) != (r.commitment == nil) && !r.Running():
		return fmt.Errorf("not a record of a match: it has only one of commitment and proof")
	}
	return nil
}

func (r *Record) read(in *strictjson.Reader, known *knownActions) {
	in.OpenObject(
		need("id", &r.ID), need("mode", &r.Mode), need("status", &r.Status),
		need("players", func() { r.players = strictjson.List(in, func() player { return readPlayer(in) }) }),
		need("startedAt", &r.startedAt), may("endedAt", &r.endedAt).OrNull(),
		may("reason", &r.reason).OrNull(),
		need("seed", func() { r.seed, r.seeded = readSeed(in), true }).OrNull(),
		may("commitment", func() {
			c := readSeed(in)
			r.commitment = &c
		}).OrNull(),
		may("proof", func() { r.proof = readProof(in) }).OrNull(),
		may("thinkingMs", &r.thinking).OrNull(),
		need("replay", func() { r.readReplay(in, known) }),
	)
}

func readSeed(r *strictjson.Reader) seed.Seed {
	s, err := seed.Parse(r.Text())
	if err != nil {
		r.Fail("%w", err)
	}
	return s
}

func readPlayer(r *strictjson.Reader) (p player) {
	r.OpenObject(need("seat", &p.seat), need("botId", &p.botID), may("botName", &p.botName), may("placement", &p.placement).OrNull(),
		may("ratingDelta", func() {
			delta := r.Number()
			p.delta = &delta
		}).OrNull())
	return p
}

func readProof(r *strictjson.Reader) *match.Proof {
	p := new(match.Proof)
	r.OpenObject(need("serverSeed", func() { p.ServerSeed = readSeed(r) }), need("nonces", &p.Nonces), need("table", &p.Table),
		need("revision", &p.Revision), need("index", &p.Index), need("seedKey", &p.SeedKey),
		may("beacon", func() { p.Beacon = readRound(r) }))
	return p
}

func readRound(r *strictjson.Reader) *beacon.Round {
	b := new(beacon.Round)
	r.OpenObject(need("chain", &b.Chain), need("round", &b.Round), need("randomness", &b.Randomness), need("signature", &b.Signature))
	return b
}

// readReplay reads the events up to the first invalid one. It describes the invalid
// event in r.flaw, and skips the rest.
func (r *Record) readReplay(in *strictjson.Reader, known *knownActions) {
	in.Array(func() {
		if r.flaw != nil {
			in.Raw()
			return
		}
		before := ""
		if n := len(r.events); n > 0 {
			before = r.events[n-1].at
		}
		e := event{seat: nobody}
		var err error
		if e.raw, err = in.Try(func() { e.read(in, before, known) }); err != nil {
			r.flaw = &Difference{Check: CheckRecord, Seq: len(r.events) + 1, Log: shorten(e.raw), Follows: "an event as docs/audit.md defines it: " + err.Error()}
			return
		}
		r.events = append(r.events, e)
	})
}

// validAfter reports whether a time has the format match.TimeFormat. The parameter
// before is a valid time or empty. If both are in the same second, only the milliseconds
// have to be checked, which is fast.
func validAfter(before, text string) bool {
	const second = len("2006-01-02T15:04:05.")
	if before != "" && len(text) == len(before) && text[:second] == before[:second] {
		return text[len(text)-1] == 'Z' && strings.Trim(text[second:len(text)-1], "0123456789") == ""
	}
	return validTime(text)
}

// validTime reports whether a time has exactly the format match.TimeFormat.
func validTime(text string) bool {
	if len(text) != len(match.TimeFormat) || text[19] != '.' { // time.Parse also accepts a one-digit hour, and a comma instead of the dot
		return false
	}
	_, err := time.Parse(match.TimeFormat, text)
	return err == nil
}
