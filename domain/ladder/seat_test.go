package ladder

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/beacon"
	"hexarena/domain/rating"
)

// tablesIn lists the tables of one seating.
func tablesIn(events []Event) [][]string {
	var tables [][]string
	for _, e := range events {
		for _, table := range e.(TablesSeated).Tables {
			tables = append(tables, table.Bots)
		}
	}
	return tables
}

// The function aged() makes candidates from pairs of an id and a registration time.
func aged(pairs ...any) []Candidate {
	var all []Candidate
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, Candidate{BotID: pairs[i].(string), Registered: pairs[i+1].(time.Time)})
	}
	return all
}

func TestWaitingCountsBotsThatCouldBeSeated(t *testing.T) {
	l := given(seated("m", "a", "b", "c"), rated("m", "a", "b", "c"), seated("n", "d", "e", "f"))
	bots := registered("a", "b", "c", "d", "e", "f", "g", "h")
	require.Equal(t, 2, l.Waiting(bots, tick(noon.Add(time.Minute))), "bots that rest or play do not wait")
	require.Equal(t, 5, l.Waiting(bots, tick(noon.Add(time.Minute+restOfTests))))
	require.Zero(t, given().Waiting(nil, tick(noon)))
}

func TestSeatFillsTablesFromTheTop(t *testing.T) {
	later := tick(noon.Add(time.Hour))
	for name, c := range map[string]struct {
		given      []Event
		candidates []Candidate
		tick       Tick
		want       [][]string
	}{
		"nobody":                            {nil, nil, later, nil},
		"two wait":                          {nil, registered("a", "b"), later, nil},
		"three are a table":                 {nil, registered("a", "b", "c"), later, [][]string{{"a", "b", "c"}}},
		"four are a table":                  {nil, registered("a", "b", "c", "d"), later, [][]string{{"a", "b", "c", "d"}}},
		"five, and one waits":               {nil, registered("a", "b", "c", "d", "e"), later, [][]string{{"a", "b", "c", "d"}}},
		"six, and two wait":                 {nil, registered("a", "b", "c", "d", "e", "f"), later, [][]string{{"a", "b", "c", "d"}}},
		"seven, and nobody waits":           {nil, registered("a", "b", "c", "d", "e", "f", "g"), later, [][]string{{"a", "b", "c", "d"}, {"e", "f", "g"}}},
		"by rating, best first":             {[]Event{seated("m", "a", "b", "c"), rated("m", "c", "a", "b")}, registered("b", "a", "n", "c"), later, [][]string{{"c", "a", "b", "n"}}},
		"by age among equals":               {nil, aged("a", noon, "b", noon.Add(-time.Second), "c", noon.Add(time.Second)), later, [][]string{{"b", "a", "c"}}},
		"by id at the same age":             {nil, aged("c", noon, "a", noon, "b", noon), later, [][]string{{"a", "b", "c"}}},
		"named twice":                       {nil, append(registered("a", "b", "c"), registered("a", "b")...), later, [][]string{{"a", "b", "c"}}},
		"named twice, two ages":             {nil, aged("a", noon, "b", noon.Add(time.Second), "a", noon.Add(time.Minute)), later, nil},
		"bots in a match are left out":      {[]Event{seated("m", "a", "b", "c")}, registered("a", "b", "c", "d", "e"), later, nil},
		"one millisecond short of the rest": {[]Event{seated("m", "a", "b", "c"), rated("m", "a", "b", "c")}, registered("a", "b", "c"), tick(noon.Add(time.Minute + restOfTests - time.Millisecond)), nil},
		"rested exactly long enough":        {[]Event{seated("m", "a", "b", "c"), rated("m", "a", "b", "c")}, registered("a", "b", "c"), tick(noon.Add(time.Minute + restOfTests)), [][]string{{"a", "b", "c"}}},
		"rest after a voided match":         {[]Event{seated("m", "a", "b", "c"), MatchVoided{"m", WhyOperator}}, registered("a", "b", "c"), tick(noon.Add(2 * time.Minute)), nil},
		"new bots need no rest":             {nil, registered("a", "b", "c"), tick(noon), [][]string{{"a", "b", "c"}}},
		"bots of one owner together":        {nil, registered("own-1", "own-2", "own-3"), later, [][]string{{"own-1", "own-2", "own-3"}}},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := given(c.given...).Seat(c.candidates, c.tick)
			require.NoError(t, err)
			require.Equal(t, c.want, tablesIn(events))
		})
	}
}

// The unrounded rating decides the order of bots whose displayed ratings are
// equal.
func TestSeatSortsByTheUnroundedRating(t *testing.T) {
	e := rated("m", "a", "b", "c")
	for i, mu := range []float64{30.01, 30.02, 30.03} {
		e.Seats[i].After = rating.Rating{Mu: mu, Sigma: 5}
	}
	events, err := given(seated("m", "a", "b", "c"), e).Seat(registered("a", "b", "c"), tick(noon.Add(time.Hour)))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"c", "b", "a"}}, tablesIn(events))
}

func TestSeatDoesNotDependOnTheOrderOfCandidates(t *testing.T) {
	candidates := registered(numbered(23)...)
	want, err := New(Standard).Seat(candidates, tick(noon))
	require.NoError(t, err)
	for s := range uint64(20) {
		rand.New(rand.NewPCG(s, s)).Shuffle(len(candidates), func(i, j int) {
			candidates[i], candidates[j] = candidates[j], candidates[i]
		})
		got, err := New(Standard).Seat(candidates, tick(noon))
		require.NoError(t, err)
		require.Equal(t, want, got, "shuffle %d", s)
	}
}

func TestSeatNeedsItsKeys(t *testing.T) {
	for name, spoil := range map[string]func(*Tick){
		"platform key": func(t *Tick) { t.PlatformKey = "" },
		"seed key id":  func(t *Tick) { t.SeedKeyID = "" },
		"seed key":     func(t *Tick) { t.SeedKey = nil },
	} {
		t.Run(name, func(t *testing.T) {
			without := tick(noon)
			spoil(&without)
			_, err := New(Standard).Seat(registered("a", "b", "c"), without)
			require.ErrorIs(t, err, ErrNoKeys)
		})
	}
}

// This test computes the id, the server seed and the commitment independently,
// as the architecture page describes them.
func TestSeatDerivesIdsAndCommitments(t *testing.T) {
	l := given(seated("m", "x", "y", "z"))
	now := tick(noon.Add(time.Hour + 123_456*time.Microsecond))
	events, err := l.Seat(registered(numbered(7)...), now)
	require.NoError(t, err)
	require.Len(t, events, 1)
	e := events[0].(TablesSeated)
	require.Equal(t, "k1", e.SeedKey)
	require.Equal(t, noon.Add(time.Hour+123*time.Millisecond), e.Tick)
	for index, table := range e.Tables {
		name := fmt.Sprintf("hexarena:cGxhdGZvcm0=:standard:1:%d", index)
		id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
		require.Equal(t, id, table.MatchID)
		mac := hmac.New(sha256.New, now.SeedKey)
		mac.Write([]byte(id))
		commitment := sha256.Sum256(mac.Sum(nil))
		require.Equal(t, hex.EncodeToString(commitment[:]), table.Commitment.String())
	}
}

func TestMatchIDIsAVersion5UUID(t *testing.T) {
	for _, mode := range Modes {
		for revision := range uint64(20) {
			for index := range 20 {
				got := MatchID("cGxhdGZvcm0=", mode, revision, index)
				name := fmt.Sprintf("hexarena:cGxhdGZvcm0=:%s:%d:%d", mode, revision, index)
				require.Equal(t, uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(), got)
				require.EqualValues(t, 5, uuid.MustParse(got).Version())
			}
		}
	}
}

func TestSeatSplitsTablesOverEvents(t *testing.T) {
	for _, c := range []struct{ bots, events, last int }{
		{4 * MaxTables, 1, MaxTables},
		{4*MaxTables + 2, 1, MaxTables},
		{4*MaxTables + 3, 2, 1},
		{8*MaxTables + 4, 3, 1},
	} {
		l := given(seated("m", "x", "y", "z"))
		events, err := l.Seat(registered(numbered(c.bots)...), tick(noon))
		require.NoError(t, err)
		require.Len(t, events, c.events)
		require.Len(t, events[c.events-1].(TablesSeated).Tables, c.last)
		for i, e := range events {
			revision := l.Version()
			first := e.(TablesSeated).Tables[0]
			require.Equal(t, MatchID("cGxhdGZvcm0=", Standard, revision, 0), first.MatchID)
			l = Evolve(l, e, noon)
			s, ok := l.Seating(first.MatchID)
			require.True(t, ok)
			require.EqualValues(t, i+1, s.Revision)
		}
	}
}

func BenchmarkSeat(b *testing.B) {
	candidates := registered(numbered(4000)...)
	for b.Loop() {
		_, err := New(Standard).Seat(candidates, tick(noon))
		require.NoError(b, err)
	}
}

// If Seat is called with the candidates, tick and rest time of an event, it returns
// the same event. The event does not list the candidates that were resting or in a
// match.
func TestAnEventRepeatsItsSeating(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := given(seated("m1", "bot-0000", "bot-0001", "bot-0002"), seated("m2", "bot-0003", "bot-0004", "bot-0005"),
			rated("m2", "bot-0005", "bot-0004", "bot-0003"))
		candidates := registered(numbered(rapid.IntRange(0, 40).Draw(rt, "candidates"))...)
		for i := range candidates {
			candidates[i].Registered = candidates[i].Registered.Add(time.Duration(rapid.Int64Range(0, 3e9).Draw(rt, "age")))
		}
		at := tick(noon.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(rt, "now"))))
		at.Beacon = &beacon.Named{Chain: beacon.Quicknet().Hash, Round: 7}
		at.Tables = rapid.IntRange(0, 10).Draw(rt, "tables")
		events, err := l.Seat(candidates, at)
		require.NoError(rt, err)
		for _, e := range events {
			stored := e.(TablesSeated)
			require.Equal(rt, at.Beacon, stored.Beacon)
			again := at
			again.Tables = 0 // the event does not show the limit
			again.Now, again.Rest = stored.Tick, time.Duration(stored.RestMs)*time.Millisecond
			repeated, err := l.Seat(stored.Candidates, again)
			require.NoError(rt, err)
			require.Equal(rt, []Event{e}, repeated)
			l = Evolve(l, e, noon)
		}
	})
}

// If not all bots can be seated, those that have waited longest get the tables, and
// their ratings decide who plays with whom.
func TestLimitedSeatingPrefersTheLongestWaits(t *testing.T) {
	l := given(seated("m1", "a", "b", "c", "d"), rated("m1", "a", "b", "c", "d"), seated("m2", "e", "f", "g", "h"), rated("m2", "e", "f", "g", "h"))
	later := tick(noon.Add(time.Hour))
	all := registered("a", "b", "c", "d", "e", "f", "g", "h", "new")
	for limit, want := range map[int][][]string{
		0: {{"a", "e", "b", "f"}, {"c", "g", "d", "h"}},
		1: {{"a", "b", "c", "new"}},
		2: {{"a", "e", "b", "f"}, {"c", "g", "d", "new"}},
		3: {{"a", "e", "b", "f"}, {"c", "g", "d", "h"}},
	} {
		later.Tables = limit
		events, err := l.Seat(all, later)
		require.NoError(t, err)
		require.Equal(t, want, tablesIn(events), limit)
		listed := len(events[0].(TablesSeated).Candidates)
		require.Equal(t, map[int]int{0: 9, 1: 4, 2: 8, 3: 9}[limit], listed, limit)
	}
}

// Candidates that get no table are the last ones in an event's list.
func TestAnEventListsTheBotsThatWait(t *testing.T) {
	l := given(seated("m", "bot-0001", "x", "y"))
	events, err := l.Seat(registered(numbered(7)...), tick(noon))
	require.NoError(t, err)
	var listed []string
	for _, c := range events[0].(TablesSeated).Candidates {
		listed = append(listed, c.BotID)
	}
	require.Equal(t, []string{"bot-0000", "bot-0002", "bot-0003", "bot-0004", "bot-0005", "bot-0006"}, listed)
	require.Equal(t, [][]string{listed[:4]}, tablesIn(events))
}

func TestRestsUntil(t *testing.T) {
	ended := time.Date(2026, 11, 24, 14, 0, 0, 0, time.UTC)
	require.Zero(t, Bot{}.RestsUntil(Candidate{}, time.Minute), "a bot that has not played")
	require.Equal(t, ended.Add(time.Minute), Bot{Ended: ended}.RestsUntil(Candidate{}, time.Minute))
	missed := Bot{Ended: ended, Misses: manyMisses, MissedSince: ended}
	require.Equal(t, ended.Add(missedRest), missed.RestsUntil(Candidate{}, time.Minute))
	require.Equal(t, ended.Add(time.Minute), missed.RestsUntil(Candidate{StatusChanged: ended}, time.Minute), "earlier misses do not count")
}
