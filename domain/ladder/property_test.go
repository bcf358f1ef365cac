package ladder

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/rating"
)

// history holds a ladder that receives random events, the log of these events, and what
// the ladder should know about the bots.
type history struct {
	ladder Ladder
	log    []stored
	now    time.Time
	ended  map[string]bool      // match ids
	missed map[string]int       // how many rated matches in a row each bot has missed
	rest   map[string]time.Time // when each bot's latest rest began
}

func newHistory() *history {
	return &history{
		ladder: New(Standard), now: noon,
		ended: map[string]bool{}, missed: map[string]int{}, rest: map[string]time.Time{},
	}
}

type stored struct {
	eventType string
	data      []byte
	at        time.Time
}

func (h *history) append(t *rapid.T, events []Event) {
	for _, e := range events {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		h.log = append(h.log, stored{e.EventType(), data, h.now})
		h.ladder = Evolve(h.ladder, e, h.now)
	}
}

// seatSome calls Seat with some of 14 bots. A bot may occur twice.
func (h *history) seatSome(t *rapid.T) {
	chosen := rapid.SliceOfN(rapid.SampledFrom(registered(numbered(14)...)), 0, 20).Draw(t, "candidates")
	before := h.ladder.Unfinished()
	events, err := h.ladder.Seat(chosen, tick(h.now))
	require.NoError(t, err)
	h.checkSeating(t, events, chosen)
	h.append(t, events)
	require.Len(t, h.ladder.Unfinished(), len(before)+len(tablesIn(events)))
}

func (h *history) checkSeating(t *rapid.T, events []Event, chosen []Candidate) {
	asked := map[string]bool{}
	for _, c := range chosen {
		asked[c.BotID] = true
	}
	tables := tablesIn(events)
	seen := map[string]bool{}
	for i, table := range tables {
		require.Contains(t, []int{3, 4}, len(table))
		require.True(t, len(table) == 4 || i == len(tables)-1, "only the last table is small")
		for _, bot := range table {
			require.False(t, seen[bot], "%s is seated twice in one tick", bot)
			require.True(t, asked[bot], "%s was not a candidate", bot)
			b := h.ladder.Bot(bot)
			require.Empty(t, b.Match)
			require.True(t, h.rested(bot), "%s has not rested", bot)
			seen[bot] = true
		}
	}
	require.Less(t, h.waiting(asked, seen), 3, "three more bots could be seated")
}

func (h *history) waiting(asked, seated map[string]bool) int {
	n := 0
	for bot := range asked {
		if !seated[bot] && h.ladder.Bot(bot).Match == "" && h.rested(bot) {
			n++
		}
	}
	return n
}

// rested reports whether a bot has rested. From the tenth miss in a row, it rests for 3
// hours (docs/rules.md).
func (h *history) rested(bot string) bool {
	rest := restOfTests
	if h.missed[bot] >= 10 {
		rest = 3 * time.Hour
	}
	began, ok := h.rest[bot]
	return !ok || h.now.Sub(began) >= rest
}

// missNine makes four bots miss nine matches in a row. This hardly ever happens in a random
// history.
func (h *history) missNine(t *rapid.T) {
	for range 9 {
		events, err := h.ladder.Seat(registered(numbered(4)...), tick(h.now))
		require.NoError(t, err)
		h.append(t, events)
		open := h.ladder.Unfinished()
		require.Len(t, open, 1)
		h.finish(t, open[0], rapid.Just(true))
		h.now = h.now.Add(restOfTests)
	}
}

// endOne finishes or voids an unfinished match.
func (h *history) endOne(t *rapid.T) {
	open := h.ladder.Unfinished()
	if len(open) == 0 {
		t.Skip("nothing is open")
	}
	s := rapid.SampledFrom(open).Draw(t, "match")
	why := rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", WhyWallClock, WhyOperator, WhyBeacon}).Draw(t, "why void")
	if why == "" {
		h.finish(t, s, rapid.Bool())
		return
	}
	events, err := h.ladder.Void(s.MatchID, why)
	require.NoError(t, err)
	h.end(t, s, events, why != WhyBeacon)
}

// end stores the events that end a match. The bots rest afterward only if rests is true.
func (h *history) end(t *rapid.T, s Seating, events []Event, rests bool) {
	require.Len(t, events, 1)
	h.append(t, events)
	h.ended[s.MatchID] = true
	for _, bot := range s.Bots {
		if rests {
			h.rest[bot.BotID] = h.now
		}
	}
}

// finish finishes a match. The generator missed says for each bot whether it missed the
// match.
func (h *history) finish(t *rapid.T, s Seating, missed *rapid.Generator[bool]) {
	points := rapid.SliceOfN(rapid.IntRange(2, 10), len(s.Bots), len(s.Bots)).Draw(t, "points")
	var outcome []Result
	for i, bot := range s.Bots {
		place := 1
		for _, p := range points {
			if p > points[i] {
				place++
			}
		}
		r := Result{bot.BotID, place, missed.Draw(t, "missed")}
		outcome = append(outcome, r)
		h.missed[bot.BotID]++
		if !r.Missed {
			h.missed[bot.BotID] = 0
		}
	}
	events, err := h.ladder.Finish(s.MatchID, rapid.Permutation(outcome).Draw(t, "order"))
	require.NoError(t, err)
	h.end(t, s, events, true)
}

func (h *history) check(t *rapid.T) {
	in := map[string]string{}
	for _, s := range h.ladder.Unfinished() {
		require.False(t, h.ended[s.MatchID])
		for _, bot := range s.Bots {
			require.NotContains(t, in, bot.BotID, "in two unfinished matches")
			in[bot.BotID] = s.MatchID
		}
	}
	for _, bot := range numbered(14) {
		require.Equal(t, in[bot], h.ladder.Bot(bot).Match)
	}
	for id := range h.ended {
		_, err := h.ladder.Finish(id, nil)
		require.ErrorIs(t, err, ErrAlreadyFinished)
	}
}

// recompute recomputes all ratings from the placements in the log.
func (h *history) recompute(t *rapid.T) map[string]rating.Rating {
	ratings, matches := map[string]rating.Rating{}, map[string]bool{}
	for _, s := range h.log {
		e, err := Decode(s.eventType, s.data)
		require.NoError(t, err)
		changed, ok := e.(RatingsChanged)
		if !ok {
			continue
		}
		require.False(t, matches[changed.MatchID], "rated twice")
		matches[changed.MatchID] = true
		var before []rating.Rating
		var placements []int
		for _, seat := range changed.Seats {
			if _, ok := ratings[seat.BotID]; !ok {
				ratings[seat.BotID] = rating.New()
			}
			before = append(before, ratings[seat.BotID])
			placements = append(placements, seat.Placement)
		}
		for i, after := range rating.Rate(before, placements) {
			require.Equal(t, before[i], changed.Seats[i].Before)
			require.Equal(t, after, changed.Seats[i].After, "to the last bit")
			ratings[changed.Seats[i].BotID] = after
		}
	}
	return ratings
}

// The variable waits lists how long a wait can take. After some waits, a rest has just ended
// or needs one more second.
var waits = []time.Duration{
	time.Second, time.Minute, restOfTests - time.Second, restOfTests,
	3*time.Hour - restOfTests, 3*time.Hour - time.Second, 3 * time.Hour,
}

func TestAnyLadderKeepsTheInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		if rapid.Bool().Draw(t, "nine misses") {
			h.missNine(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"seat": h.seatSome,
			"end":  h.endOne,
			"wait": func(t *rapid.T) {
				h.now = h.now.Add(rapid.SampledFrom(waits).Draw(t, "time"))
			},
			"": h.check,
		})
		for bot, r := range h.recompute(t) {
			require.Equal(t, r, h.ladder.Bot(bot).Rating)
		}
		h.checkRefold(t)
	})
}

// checkRefold checks that folding the log again gives the same ladder.
func (h *history) checkRefold(t *rapid.T) {
	again := New(Standard)
	for _, s := range h.log {
		e, err := Decode(s.eventType, s.data)
		require.NoError(t, err)
		again = Evolve(again, e, s.at)
	}
	require.Equal(t, h.ladder, again)
	require.EqualValues(t, len(h.log), again.Version())
	h.checkSnapshots(t)
}

// checkSnapshots takes a snapshot after each event. Each snapshot and the events
// after it must give the same ladder as the whole log. Taking a snapshot must change
// nothing.
func (h *history) checkSnapshots(t *rapid.T) {
	whole := New(Standard)
	for i, s := range h.log {
		e, err := Decode(s.eventType, s.data)
		require.NoError(t, err)
		whole = Evolve(whole, e, s.at)
		taken, err := whole.State().Snapshot(Standard, uint64(i), "id")
		require.NoError(t, err)
		restored, err := throughTheLog(t, taken).Restore(Standard)
		require.NoError(t, err)
		require.Equal(t, whole, restored)
		for _, s := range h.log[i+1:] {
			e, err := Decode(s.eventType, s.data)
			require.NoError(t, err)
			restored = Evolve(restored, e, s.at)
		}
		require.Equal(t, h.ladder, restored)
	}
}
