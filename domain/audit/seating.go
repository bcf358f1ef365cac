package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// Seating is the table of a match as its ladder seated it.
type Seating struct {
	ladder.Table

	Revision uint64        // the revision of its TablesSeated
	Index    int           // the index of its table in that event
	SeedKey  string        // id of the seed key
	Tick     time.Time     // the time of the seating, according to the arena
	Beacon   *beacon.Named // the round that the seed uses; nil without a beacon
}

// ParseSeatings reads the data of the TablesSeated event at the given revision. It
// returns the tables by match id.
func ParseSeatings(revision uint64, data []byte) (map[string]Seating, error) {
	e, err := decodeLadder(ladder.TablesSeated{}.EventType(), data)
	if err != nil {
		return nil, err
	}
	tables := map[string]Seating{}
	for i, t := range e.(ladder.TablesSeated).Tables {
		tables[t.MatchID] = seatingOf(e.(ladder.TablesSeated), revision, i)
	}
	return tables, nil
}

func seatingOf(e ladder.TablesSeated, revision uint64, index int) Seating {
	return Seating{Table: e.Tables[index], Revision: revision, Index: index, SeedKey: e.SeedKey, Tick: e.Tick, Beacon: e.Beacon}
}

// The method seated() returns the seating of the match in the evidence, or nil if it
// is unknown.
func (a *audit) seated() *Seating {
	if s, ok := a.evidence.Seatings[a.record.ID]; ok {
		return &s
	}
	if l := a.evidence.Ladder; l != nil {
		if m := l.watched[a.record.ID]; m != nil {
			return &m.Seating
		}
	}
	return nil
}

// The method seating() compares the record with the table in the ladder's signed tree.
// The arena published that table before it dialed the bots.
func (a *audit) seating(p *match.Proof) {
	if a.evidence.Seatings == nil {
		a.skipped(CheckSeating, "the ladder's signed tree was not given")
		return
	}
	s, found := a.evidence.Seatings[a.record.ID]
	if !found {
		a.differs(CheckSeating, 0, fmt.Sprintf("a match seated at revision %d", p.Revision), "a match that the ladder seated at this revision: the ladder's signed tree has no such table there")
		return
	}
	a.table(CheckSeating, p, &s)
}

// The method table() compares the record with its table on the ladder.
func (a *audit) table(check string, p *match.Proof, s *Seating) {
	a.compare(check, fmt.Sprintf("seated at revision %d, table %d", p.Revision, p.Index), fmt.Sprintf("seated at revision %d, table %d", s.Revision, s.Index))
	a.compare(check, "the table "+strings.Join(p.Table, ", "), "the table "+strings.Join(s.Bots, ", "))
	a.compare(check, "the commitment "+a.record.commitment.String(), "the commitment "+s.Commitment.String())
	a.compare(check, "the seed key "+p.SeedKey, "the seed key "+s.SeedKey)
}

// The method beacon() checks the round of the beacon that the seed uses. The seating
// names the round before it exists.
func (a *audit) beacon(p *match.Proof) {
	s := a.seated()
	if s != nil {
		a.compare(CheckBeacon, describeRound(p.Beacon), describeNamed(s.Beacon))
	}
	switch {
	case a.difference != nil:
		return
	case p.Beacon == nil && s == nil:
		a.skipped(CheckBeacon, "the seed uses no beacon, and the seating is unknown")
		return
	case p.Beacon == nil:
		a.skipped(CheckBeacon, "the arena had no beacon")
		return
	}
	if _, _, err := p.Beacon.Decode(); err != nil {
		a.differs(CheckBeacon, 0, "a round that is not valid: "+err.Error(), "a round as drand publishes it")
		return
	}
	a.round(p.Beacon, s)
}

// The method round() checks that a beacon round belongs to a trusted chain, that the
// chain signed it, and that it did not exist at the tick.
func (a *audit) round(r *beacon.Round, s *Seating) {
	if len(a.evidence.Beacons) == 0 {
		a.skipped(CheckBeacon, "no chain was given, so the round's signature was not checked")
		return
	}
	b, d := trusted(a.evidence.Beacons, beacon.Named{Chain: r.Chain, Round: r.Round})
	if d != nil {
		a.differs(CheckBeacon, 0, d.Log, d.Follows)
		return
	}
	if err := b.Verify(b.Chain, *r); err != nil {
		a.differs(CheckBeacon, 0, fmt.Sprintf("round %d with the signature %s", r.Round, r.Signature), "a signature of this round by the chain: "+err.Error())
		return
	}
	a.made(CheckBeacon, 1)
	switch {
	case s == nil:
		a.skipped(CheckBeacon, "the seating is unknown, so the round's time was not checked")
		return
	case b.Period == 0:
		a.skipped(CheckBeacon, "the chain's period is unknown, so the round's time was not checked")
		return
	}
	if d := early(b.Chain, r.Round, s.Tick); d != nil {
		a.differs(CheckBeacon, 0, d.Log, d.Follows)
		return
	}
	a.made(CheckBeacon, 1)
}

// The function trusted() returns the trusted chain to which a named round belongs.
func trusted(chains []Beacon, n beacon.Named) (*Beacon, *Difference) {
	i := slices.IndexFunc(chains, func(b Beacon) bool { return b.Hash == n.Chain })
	if i >= 0 {
		return &chains[i], nil
	}
	var names []string
	for _, b := range chains {
		names = append(names, strings.TrimSpace(b.ID+" "+b.Hash))
	}
	return nil, &Difference{Check: CheckBeacon, Log: "the beacon chain " + n.Chain, Follows: "a chain that you trust: " + strings.Join(names, ", ")}
}

// The function early() returns a difference if a seating at tick names a round that
// appears less than beacon.Margin periods later. It compares round numbers instead
// of times, because the time of a round with a very large number overflows.
func early(c beacon.Chain, round uint64, tick time.Time) *Difference {
	first := c.After(tick)
	if round >= first {
		return nil
	}
	at := func(t time.Time) string { return t.UTC().Format(match.TimeFormat) }
	return &Difference{
		Check: CheckBeacon, Log: fmt.Sprintf("round %d, which appears at %s", round, at(c.Time(round))),
		Follows: fmt.Sprintf("round %d or later: a round that appears at least %d periods after the tick at %s", first, beacon.Margin, at(tick)),
	}
}

func describeRound(r *beacon.Round) string {
	if r == nil {
		return describeNamed(nil)
	}
	return describeNamed(&beacon.Named{Chain: r.Chain, Round: r.Round})
}

func describeNamed(n *beacon.Named) string {
	if n == nil {
		return "no beacon"
	}
	return fmt.Sprintf("round %d of the chain %s", n.Round, n.Chain)
}

// seedFrom says who contributed to the seed. It counts only bots that sent a
// nonce and do not belong to the house. The record alone does not say who owns a
// bot.
func (a *audit) seedFrom() string {
	if a.record.proof.Beacon != nil {
		return "the beacon"
	}
	bots, unknown := 0, false
	for _, bot := range a.record.NoncedBots() {
		house, known := a.evidence.HouseBots[bot]
		unknown = unknown || !known
		if !house {
			bots++
		}
	}
	switch {
	case bots == 0:
		return "the arena only"
	case unknown && bots == 1:
		return "the arena and at most 1 bot (it may be a house bot)"
	case unknown:
		return fmt.Sprintf("the arena and at most %d bots (some may be house bots)", bots)
	case bots == 1:
		return "the arena and 1 bot"
	}
	return fmt.Sprintf("the arena and %d bots", bots)
}
