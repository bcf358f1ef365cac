package audit

import (
	"fmt"
	"time"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// The statuses of a match that has ended.
const (
	completed = "completed"
	aborted   = "aborted"
	running   = "running"
)

// Record is a match as GET /matches/{id} answers it, read strictly. Its parts
// have the shapes that docs/audit.md gives; whether they are true is Match's
// to say.
type Record struct {
	ID, Mode, Status string

	players    []player
	startedAt  string
	endedAt    string // empty: null
	seed       seed.Seed
	seeded     bool // the seed is published
	commitment *seed.Seed
	proof      *match.Proof // nil beside a nil commitment: a match of no arena
	thinking   []int        // nil where the record does not say
	events     []event
	flaw       *Difference // what of the replay could not be read
}

// player is a MatchPlayer.
type player struct {
	seat      int
	botID     string
	botName   string
	placement int // 0: null
	delta     *float64
}

// Running says whether the match goes on, so that nothing of its chance is
// public yet.
func (r *Record) Running() bool { return r.Status == running }

// Seats is how many play.
func (r *Record) Seats() int { return len(r.players) }

// Events is how long the replay is.
func (r *Record) Events() int { return len(r.events) }

// Parse reads a record. An error says that the text is no record of a match; a
// replay that cannot be read is not one: Match tells where it stops.
func Parse(text []byte) (*Record, error) {
	rec := new(Record)
	r := newReader(text)
	has := map[string]bool{}
	r.object(true, func(key string) bool {
		has[key] = true
		return rec.field(r, key)
	})
	for _, name := range []string{"id", "mode", "status", "players", "startedAt", "seed", "replay"} {
		r.need(has[name], name)
	}
	if r.err != nil {
		return nil, fmt.Errorf("no record of a match: %w", r.err)
	}
	return rec, rec.consistent()
}

// consistent refuses what cannot be recomputed at all.
func (r *Record) consistent() error {
	switch {
	case r.Status != completed && r.Status != aborted && r.Status != running:
		return fmt.Errorf("no record of a match: there is no status %q", r.Status)
	case len(r.players) < 3 || len(r.players) > game.MaxSeats:
		return fmt.Errorf("no record of a match: %d play, not 3 or 4", len(r.players))
	case !r.Running() && !r.seeded:
		return fmt.Errorf("no record of a match: it is %s, and its seed is not public", r.Status)
	case (r.proof == nil) != (r.commitment == nil) && !r.Running():
		return fmt.Errorf("no record of a match: commitment and proof go together")
	}
	return nil
}

func (r *Record) field(in *reader, key string) bool {
	switch key {
	case "id":
		r.ID = in.str()
	case "mode":
		r.Mode = in.str()
	case "status":
		r.Status = in.str()
	case "players":
		in.array(func() { r.players = append(r.players, readPlayer(in)) })
	case "startedAt":
		r.startedAt = in.str()
	case "endedAt":
		if !in.null() {
			r.endedAt = in.str()
		}
	case "seed":
		if !in.null() {
			r.seed, r.seeded = readSeed(in), true
		}
	case "commitment":
		if !in.null() {
			c := readSeed(in)
			r.commitment = &c
		}
	case "proof":
		if !in.null() {
			r.proof = readProof(in)
		}
	case "thinkingMs":
		if !in.null() {
			r.thinking = in.integers()
		}
	case "replay":
		r.readReplay(in)
	default:
		return false
	}
	return true
}

func readSeed(r *reader) seed.Seed {
	s, err := seed.Parse(r.str())
	if err != nil {
		r.fail("%w", err)
	}
	return s
}

func readPlayer(r *reader) player {
	var p player
	has := map[string]bool{}
	r.object(true, func(key string) bool {
		has[key] = true
		switch key {
		case "seat":
			p.seat = r.integer()
		case "botId":
			p.botID = r.str()
		case "botName":
			p.botName = r.str()
		case "placement":
			if !r.null() {
				p.placement = r.integer()
			}
		case "ratingDelta":
			if !r.null() {
				delta := r.number()
				p.delta = &delta
			}
		default:
			return false
		}
		return true
	})
	r.need(has["seat"] && has["botId"], "a player's seat or botId")
	return p
}

func readProof(r *reader) *match.Proof {
	p := new(match.Proof)
	has := map[string]bool{}
	r.object(true, func(key string) bool {
		has[key] = true
		switch key {
		case "serverSeed":
			p.ServerSeed = readSeed(r)
		case "nonces":
			p.Nonces = r.strings()
		case "table":
			p.Table = r.strings()
		case "revision":
			p.Revision = uint64(r.integer())
		case "index":
			p.Index = r.integer()
		case "seedKey":
			p.SeedKey = r.str()
		default:
			return false
		}
		return true
	})
	for _, name := range []string{"serverSeed", "nonces", "table", "revision", "index", "seedKey"} {
		r.need(has[name], "proof."+name)
	}
	return p
}

// readReplay reads events up to the first that cannot be read, which is the
// flaw; what follows it is passed over.
func (r *Record) readReplay(in *reader) {
	in.array(func() {
		raw := in.raw()
		if in.err != nil || r.flaw != nil {
			return
		}
		one := &reader{text: raw}
		before := ""
		if n := len(r.events); n > 0 {
			before = r.events[n-1].at
		}
		e := readEvent(one, before)
		e.raw = raw
		if one.err != nil {
			r.flaw = &Difference{Check: CheckRecord, Seq: len(r.events) + 1, Log: tell(raw), Follows: "an event as docs/audit.md defines it: " + one.err.Error()}
			return
		}
		r.events = append(r.events, e)
	})
}

// validTime says whether a time is written as every time is.
func validTime(text string) bool {
	if len(text) != len(match.TimeFormat) || text[19] != '.' { // Parse takes an hour of one digit, and a comma
		return false
	}
	_, err := time.Parse(match.TimeFormat, text)
	return err == nil
}
