package ladder

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"hexarena/domain/seed"
)

// The sizes of a table (docs/rules.md).
const (
	fullTable  = 4
	smallTable = 3
)

// ErrNoKeys means that a Tick lacks the platform key or the seed key. Match ids
// and commitments are derived from these keys.
var ErrNoKeys = errors.New("seating needs the platform key and a seed key")

// Candidate is an active bot.
type Candidate struct {
	BotID         string
	Registered    time.Time
	StatusChanged time.Time // time of its latest change of status; earlier misses do not count
}

// Tick holds the inputs of Seat other than the candidates.
type Tick struct {
	Now         time.Time
	Rest        time.Duration // the usual rest from the end of a bot's match to its next seating
	PlatformKey string        // the public key, in base64
	SeedKeyID   string
	SeedKey     []byte
}

// Seat returns the tables of one tick, in as many TablesSeated events as
// needed. It considers only candidates that are in no match and have rested. It
// sorts them by mu − 3·sigma (highest first), then by registration (oldest
// first), then by id. It fills tables of 4 from the top. If 3 candidates are
// left over, they form a table too. If fewer are left over, they wait. Seat
// ignores duplicate candidates. Seat returns no event if it seats nobody.
func (l Ladder) Seat(candidates []Candidate, t Tick) ([]Event, error) {
	if t.PlatformKey == "" || t.SeedKeyID == "" || len(t.SeedKey) == 0 {
		return nil, ErrNoKeys
	}
	t.Now = t.Now.UTC().Truncate(time.Millisecond)
	var events []Event
	for tables := range slices.Chunk(tablesOf(l.ranked(candidates, t)), MaxTables) {
		revision := l.version + uint64(len(events))
		events = append(events, l.seat(tables, revision, t))
	}
	return events, nil
}

func (l Ladder) seat(tables [][]string, revision uint64, t Tick) TablesSeated {
	e := TablesSeated{Tick: t.Now, SeedKey: t.SeedKeyID}
	for index, bots := range tables {
		id := MatchID(t.PlatformKey, l.mode, revision, index)
		e.Tables = append(e.Tables, Table{
			MatchID:    id,
			Bots:       bots,
			Commitment: seed.Commitment(seed.Server(t.SeedKey, id)),
		})
	}
	return e
}

// ranked returns the ids of the bots that can be seated, best first.
func (l Ladder) ranked(candidates []Candidate, t Tick) []string {
	type entry struct {
		Candidate
		ordinal float64
	}
	var free []entry
	for _, c := range candidates {
		if b := l.Bot(c.BotID); b.Match == "" && b.rested(c, t) {
			free = append(free, entry{c, b.Rating.Ordinal()})
		}
	}
	slices.SortFunc(free, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(b.ordinal, a.ordinal),
			a.Registered.Compare(b.Registered),
			cmp.Compare(a.BotID, b.BotID),
		)
	})
	ids := make([]string, 0, len(free))
	seen := make(map[string]bool, len(free))
	for _, e := range free {
		if !seen[e.BotID] {
			ids = append(ids, e.BotID)
			seen[e.BotID] = true
		}
	}
	return ids
}

// rested reports whether b's rest after its latest match is over. The rest is
// longer after many misses. A bot that has not played needs no rest.
func (b Bot) rested(c Candidate, t Tick) bool {
	return b.Ended.IsZero() || !t.Now.Before(b.Ended.Add(b.Streak(c.StatusChanged).rest(t.Rest)))
}

// tablesOf splits the ranked bots into tables, from the best bot down.
func tablesOf(ranked []string) [][]string {
	var tables [][]string
	for table := range slices.Chunk(ranked, fullTable) {
		if len(table) >= smallTable {
			tables = append(tables, table)
		}
	}
	return tables
}
