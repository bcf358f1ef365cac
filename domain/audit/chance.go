package audit

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// The method chance() recomputes the seed and the seats.
func (a *audit) chance() {
	r := a.record
	if r.proof == nil {
		a.withoutProof()
		return
	}
	if !a.proofFits() {
		return
	}
	p := r.proof
	a.id(p)
	a.seating(p)
	a.compare(CheckCommitment, r.commitment.String(), seed.Commitment(p.ServerSeed).String())
	a.seedKey(p)
	a.beacon(p)
	a.compare(CheckSeed, r.seed.String(), match.SeedOf(p.ServerSeed, p.Nonces, p.Beacon).String())
	for i, at := range r.seed.Seating(len(p.Table)) {
		a.compare(CheckSeats, fmt.Sprintf("bot %s at seat %d", r.players[i].botID, i), fmt.Sprintf("bot %s at seat %d", p.Table[at], i))
	}
}

// withoutProof handles a match that no arena seated. The seed of such a match was
// chosen, not derived.
func (a *audit) withoutProof() {
	if a.evidence.Required {
		a.differs(CheckCommitment, 0, "neither commitment nor proof", "both, as in every match of an arena")
		return
	}
	const because = "the record has no proof: no arena seated this match, and its seed was chosen"
	for _, check := range []string{CheckID, CheckSeating, CheckCommitment, CheckBeacon, CheckSeed, CheckSeats} {
		a.skipped(check, because)
	}
}

// proofFits reports whether the proof's table and nonces cover every seat.
func (a *audit) proofFits() bool {
	r := a.record
	p := r.proof
	n := len(r.players)
	a.compare(CheckRecord, fmt.Sprintf("a proof with %d bots and %d nonces", len(p.Table), len(p.Nonces)), fmt.Sprintf("a proof with %d bots and %d nonces", n, n))
	for i, bot := range p.Table {
		if slices.Contains(p.Table[:i], bot) {
			a.differs(CheckRecord, 0, "a table with the bot "+bot+" twice", "a table of different bots")
		}
	}
	for _, nonce := range p.Nonces {
		if !validNonce(nonce) {
			a.differs(CheckRecord, 0, fmt.Sprintf("the nonce %q", nonce), "up to 64 characters of 0x21 to 0x7E")
		}
	}
	return a.difference == nil
}

// maxNonce is the maximum length of a nonce.
const maxNonce = 64

func validNonce(nonce string) bool {
	for i := range len(nonce) {
		if nonce[i] < 0x21 || nonce[i] > 0x7e {
			return false
		}
	}
	return len(nonce) <= maxNonce
}

func (a *audit) id(p *match.Proof) {
	if a.evidence.PlatformKey == "" {
		a.skipped(CheckID, "the platform key was not given")
		return
	}
	a.compare(CheckID, a.record.ID, ladder.MatchID(a.evidence.PlatformKey, a.record.Mode, p.Revision, p.Index))
}

func (a *audit) seedKey(p *match.Proof) {
	if a.evidence.SeedKeys == nil {
		a.skipped(CheckSeedKey, "the arena's keys were not given")
		return
	}
	key, known := a.evidence.SeedKeys[p.SeedKey]
	switch {
	case !known:
		a.differs(CheckSeedKey, 0, fmt.Sprintf("the seed key %q", p.SeedKey), "a seed key that arena-keys names")
	case key.Key == nil:
		a.skipped(CheckSeedKey, "the key is not published yet: it is in use or has unfinished matches")
	default:
		a.compare(CheckSeedKey, "a published seed key with the hash "+key.Hash.String(), "a published seed key with the hash "+seed.Seed(sha256.Sum256(key.Key)).String())
		a.compare(CheckSeedKey, p.ServerSeed.String(), seed.Server(key.Key, a.record.ID).String())
	}
}
