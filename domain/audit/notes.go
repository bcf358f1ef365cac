package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/seed"
	"hexarena/domain/strictjson"
)

// Note is an owner's note about one bot at the start of a match. It contains the
// nonce that the bot sent and the values that the bot read from the headers of the
// upgrade request.
type Note struct {
	Bot        string
	Nonce      *string
	Commitment *seed.Seed
	Round      *uint64   // the number of the beacon's round
	Index      *uint64   // the index of the seating in the ladder's signed tree
	At         time.Time // the time of the upgrade request, by the owner's clock; zero if unknown
}

// ParseNotes reads an owner's notes, one JSON object per line, and groups them
// by match.
func ParseNotes(text []byte) (map[string][]Note, error) {
	notes := map[string][]Note{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		match, n, err := parseNote(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		notes[match] = append(notes[match], n)
	}
	return notes, nil
}

func parseNote(line []byte) (match string, n Note, err error) {
	r := strictjson.New(line)
	r.Object(may("match", &match), may("bot", &n.Bot),
		may("nonce", func() { nonce := r.Text(); n.Nonce = &nonce }),
		may("commitment", func() { c := readSeed(r); n.Commitment = &c }),
		may("round", func() { n.Round = readNumber(r) }), may("index", func() { n.Index = readNumber(r) }),
		may("at", func() { n.At = readTime(r, r.Text()) }))
	switch {
	case r.Err() != nil:
		return "", Note{}, r.Err()
	case match == "" || n.Bot == "":
		return "", Note{}, errors.New("match or bot is missing")
	case n.Nonce == nil && n.Commitment == nil && n.Round == nil && n.Index == nil:
		return "", Note{}, errors.New("nonce, commitment, round and index are all missing")
	}
	return match, n, nil
}

func readNumber(r *strictjson.Reader) *uint64 {
	n := uint64(r.Integer())
	return &n
}

// The method notes() compares the record with an owner's notes of this match.
func (a *audit) notes() {
	if a.evidence.Notes == nil {
		a.skipped(CheckNonces, "no owner's notes were given")
		return
	}
	list := a.evidence.Notes[a.record.ID]
	if len(list) == 0 || a.record.proof == nil {
		a.skipped(CheckNonces, "the notes contain nothing about this match")
		return
	}
	for _, n := range list {
		a.note(n)
	}
}

func (a *audit) note(n Note) {
	p := a.record.proof
	at := slices.Index(p.Table, n.Bot)
	if at < 0 {
		a.differs(CheckNonces, 0, "a table without bot "+n.Bot, "a table with this bot: the bot's owner has a note of this match")
		return
	}
	if n.Nonce != nil {
		a.compare(CheckNonces, fmt.Sprintf("the nonce %q of bot %s", p.Nonces[at], n.Bot), fmt.Sprintf("the nonce %q of bot %s", *n.Nonce, n.Bot))
	}
	if n.Commitment != nil {
		shown := "that bot " + n.Bot + " was shown the commitment "
		a.compare(CheckNonces, shown+a.record.commitment.String(), shown+n.Commitment.String())
	}
	if n.Round != nil {
		shown := "that bot " + n.Bot + " was shown "
		a.compare(CheckNonces, shown+numberOf(p.Beacon), shown+fmt.Sprintf("round %d", *n.Round))
		a.lateDial(n)
	}
	if n.Index != nil {
		shown := "that bot " + n.Bot + " was shown the log index "
		a.compare(CheckNonces, shown+fmt.Sprint(p.Revision), shown+fmt.Sprint(*n.Index))
	}
}

func numberOf(r *beacon.Round) string {
	if r == nil {
		return "no round"
	}
	return fmt.Sprintf("round %d", r.Round)
}

// lateDial reports that the arena dialed a bot after the round had appeared. At that
// time, the arena already knew the seed. Late dials also happen after an outage or a
// crash, so a late dial is not a difference.
func (a *audit) lateDial(n Note) {
	r := a.record.proof.Beacon
	if a.difference != nil || n.At.IsZero() {
		return
	}
	i := slices.IndexFunc(a.evidence.Beacons, func(b Beacon) bool { return b.Hash == r.Chain })
	if i < 0 || a.evidence.Beacons[i].Period == 0 {
		return
	}
	if appeared := a.evidence.Beacons[i].Time(r.Round); n.At.After(appeared) {
		a.check(CheckNonces).Because = fmt.Sprintf("bot %s was dialed at %s, after its round had appeared at %s", n.Bot, clock(n.At), clock(appeared))
	}
}
