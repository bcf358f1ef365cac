package ladder

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/seed"
)

// The sizes of a table (docs/rules.md).
const (
	fullTable  = 4
	SmallTable = 3 // fewer bots wait
)

// ErrNoKeys means that a Tick lacks the platform key or the seed key. Match ids
// and commitments are derived from these keys.
var ErrNoKeys = errors.New("seating needs the platform key and a seed key")

// Candidate is an active bot. TablesSeated stores this shape. Both times are in UTC,
// in whole milliseconds.
type Candidate struct {
	BotID         string    `json:"botId"`
	Registered    time.Time `json:"registered"`
	StatusChanged time.Time `json:"statusChanged"` // time of its latest change of status; earlier misses do not count
}

// Tick holds the inputs of Seat besides the candidates.
type Tick struct {
	Now         time.Time
	Rest        time.Duration // how long a bot usually rests between the end of a match and its next seating
	PlatformKey string        // the public key, in base64
	SeedKeyID   string
	SeedKey     []byte
	Beacon      *beacon.Named // the round that the seeds use; nil without a beacon
	Tables      int           // seat at most this many tables; 0: no limit
}

// Seat returns the tables of one tick, in as many TablesSeated events as needed. It
// considers only candidates that are in no match and have rested, and it ignores
// duplicates. It sorts the candidates by mu − 3·sigma (highest first), then by
// registration (oldest first), then by id. It fills tables of 4 from the top. If 3
// candidates are left over, they form a table too. If fewer are left over, they wait.
// If Seat seats nobody, it returns no event. If t.Tables does not suffice for all
// candidates, Seat considers only those that have waited longest.
//
// Each event lists the candidates that Seat considered, so that anyone can repeat the
// decision. If Seat is called with these candidates and the event's Tick and RestMs,
// it returns the same tables.
func (l Ladder) Seat(candidates []Candidate, t Tick) ([]Event, error) {
	if t.PlatformKey == "" || t.SeedKeyID == "" || len(t.SeedKey) == 0 {
		return nil, ErrNoKeys
	}
	t.Now = t.Now.UTC().Truncate(time.Millisecond)
	t.Rest = t.Rest.Truncate(time.Millisecond)
	ranked := l.longestWaiting(l.ranked(candidates, t), t)
	var events []Event
	for len(ranked) >= SmallTable {
		n := min(len(ranked), MaxTables*fullTable)
		if rest := len(ranked) - n; rest < SmallTable {
			n = len(ranked) // the last event also lists the bots that wait
		}
		events = append(events, l.seat(ranked[:n], l.version+uint64(len(events)), t))
		ranked = ranked[n:]
	}
	return events, nil
}

// seat returns the event that seats ranked candidates. If the last one or two cannot
// form a table, they wait.
func (l Ladder) seat(ranked []Candidate, revision uint64, t Tick) TablesSeated {
	e := TablesSeated{Tick: t.Now, SeedKey: t.SeedKeyID, RestMs: t.Rest.Milliseconds(), Candidates: ranked, Beacon: t.Beacon}
	for index, bots := range tablesOf(ranked) {
		id := MatchID(t.PlatformKey, l.mode, revision, index)
		e.Tables = append(e.Tables, Table{
			MatchID:    id,
			Bots:       bots,
			Commitment: seed.Commitment(seed.Server(t.SeedKey, id)),
		})
	}
	return e
}

// The method ranked() returns the candidates that can be seated, best first. It
// converts their times to UTC and whole milliseconds.
func (l Ladder) ranked(candidates []Candidate, t Tick) []Candidate {
	type entry struct {
		Candidate
		ordinal float64
	}
	var free []entry
	for _, c := range candidates {
		c.Registered = c.Registered.UTC().Truncate(time.Millisecond)
		c.StatusChanged = c.StatusChanged.UTC().Truncate(time.Millisecond)
		if l.MaySeat(c, t) {
			free = append(free, entry{c, l.Bot(c.BotID).Rating.Ordinal()})
		}
	}
	slices.SortFunc(free, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(b.ordinal, a.ordinal),
			a.Registered.Compare(b.Registered),
			cmp.Compare(a.BotID, b.BotID),
		)
	})
	ranked := make([]Candidate, 0, len(free))
	seen := make(map[string]bool, len(free))
	for _, e := range free {
		if !seen[e.BotID] {
			ranked = append(ranked, e.Candidate)
			seen[e.BotID] = true
		}
	}
	return ranked
}

// longestWaiting returns as many ranked candidates as fit at t.Tables tables: those
// whose rest ended first. They stay in the same order.
func (l Ladder) longestWaiting(ranked []Candidate, t Tick) []Candidate {
	seats := t.Tables * fullTable
	if t.Tables == 0 || len(ranked) <= seats {
		return ranked
	}
	waiting := slices.Clone(ranked)
	since := func(c Candidate) time.Time { return l.Bot(c.BotID).RestsUntil(c, t.Rest) }
	slices.SortStableFunc(waiting, func(a, b Candidate) int {
		return cmp.Or(since(a).Compare(since(b)), a.Registered.Compare(b.Registered), cmp.Compare(a.BotID, b.BotID))
	})
	chosen := make(map[string]bool, seats)
	for _, c := range waiting[:seats] {
		chosen[c.BotID] = true
	}
	return slices.DeleteFunc(ranked, func(c Candidate) bool { return !chosen[c.BotID] })
}

// Waiting counts the candidates that are in no match and have rested at a tick, even
// those that would be left without a table. The candidates must be distinct.
func (l Ladder) Waiting(candidates []Candidate, t Tick) (n int) {
	for _, c := range candidates {
		if l.MaySeat(c, t) {
			n++
		}
	}
	return n
}

// MaySeat reports whether a candidate is in no match and has rested at a tick.
func (l Ladder) MaySeat(c Candidate, t Tick) bool {
	b := l.Bot(c.BotID)
	return b.Match == "" && b.rested(c, t)
}

// The method rested() reports whether b's rest after its latest match is over. The
// rest is longer after many misses. A bot that has not played needs no rest.
func (b Bot) rested(c Candidate, t Tick) bool {
	return !t.Now.Before(b.RestsUntil(c, t.Rest))
}

// RestsUntil returns the end of b's rest after its latest match. It returns the zero
// time for a bot that has not played. The parameter usual is the mode's normal rest.
func (b Bot) RestsUntil(c Candidate, usual time.Duration) time.Time {
	if b.Ended.IsZero() {
		return time.Time{}
	}
	return b.Ended.Add(b.Streak(c.StatusChanged).rest(usual))
}

// tablesOf splits the ranked bots into tables, from the best bot down.
func tablesOf(ranked []Candidate) [][]string {
	var tables [][]string
	for table := range slices.Chunk(ranked, fullTable) {
		if len(table) < SmallTable {
			break
		}
		bots := make([]string, len(table))
		for i, c := range table {
			bots[i] = c.BotID
		}
		tables = append(tables, bots)
	}
	return tables
}
