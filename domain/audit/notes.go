package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"hexarena/domain/seed"
	"hexarena/domain/strictjson"
)

// Note is an owner's note about one bot at the start of a match. It contains
// the nonce that the bot sent, and the commitment of the upgrade request.
type Note struct {
	Bot        string
	Nonce      *string
	Commitment *seed.Seed
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
		may("commitment", func() { c := readSeed(r); n.Commitment = &c }))
	switch {
	case r.Err() != nil:
		return "", Note{}, r.Err()
	case match == "" || n.Bot == "":
		return "", Note{}, errors.New("match or bot is missing")
	case n.Nonce == nil && n.Commitment == nil:
		return "", Note{}, errors.New("nonce and commitment are both missing")
	}
	return match, n, nil
}

// notes compares the record with an owner's notes of this match.
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
		a.differs(CheckNonces, 0, "a table without bot "+n.Bot, "a table with it: its owner has a note of this match")
		return
	}
	if n.Nonce != nil {
		a.compare(CheckNonces, fmt.Sprintf("the nonce %q of bot %s", p.Nonces[at], n.Bot), fmt.Sprintf("the nonce %q of bot %s", *n.Nonce, n.Bot))
	}
	if n.Commitment != nil {
		shown := "that bot " + n.Bot + " was shown the commitment "
		a.compare(CheckNonces, shown+a.record.commitment.String(), shown+n.Commitment.String())
	}
}
