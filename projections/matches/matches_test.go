package matches_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/matches"
	"hexarena/projections/seats"
)

// fixture is an arena and the list of its matches.
type fixture struct {
	*arenatest.Arena
	t     *testing.T
	log   *memory.Log
	list  *matches.Matches
	sync  *projections.Runner
	bots  []string // of mode standard
	other []string // of mode parley
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	log, list := memory.New(), matches.New()
	w := &fixture{arenatest.New(t, log, 7), t, log, list, arenatest.Follow(t, log, list), nil, nil}
	w.bots = w.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve", "Fay", "Gus", "Hal")
	w.other = w.Register("bob", ladder.Parley, "Ida", "Jon", "Kim")
	return w
}

// The method all() returns all matches that a query selects, on one page.
func (w *fixture) all(q matches.Query) []matches.Summary {
	w.t.Helper()
	require.NoError(w.t, w.sync.Sync(w.t.Context()))
	q.Limit = matches.Reachable
	page, next := list(w.t, w.list, q)
	require.Empty(w.t, next)
	return page
}

func (w *fixture) ids(q matches.Query) []string {
	w.t.Helper()
	ids := []string{}
	for _, m := range w.all(q) {
		ids = append(ids, m.ID)
	}
	return ids
}

// get returns a match, and checks that the list shows the same match.
func (w *fixture) get(id string) matches.Summary {
	w.t.Helper()
	listed := w.all(matches.Query{})
	m, ok, err := w.list.Get(id)
	require.NoError(w.t, err)
	require.True(w.t, ok)
	require.Contains(w.t, listed, m)
	return m
}

func (w *fixture) unlisted(id string) {
	w.t.Helper()
	require.Empty(w.t, w.all(matches.Query{}))
	_, ok, err := w.list.Get(id)
	require.NoError(w.t, err)
	require.False(w.t, ok)
}

// The method voided() checks what the list says about a match that was voided before
// it started. An empty mode means that no such match exists.
func (w *fixture) voided(id, mode, reason string) {
	w.t.Helper()
	require.NoError(w.t, w.sync.Sync(w.t.Context()))
	gotMode, gotReason, found, err := w.list.Voided(id)
	require.NoError(w.t, err)
	require.Equal(w.t, mode != "", found)
	require.Equal(w.t, []string{mode, reason}, []string{gotMode, gotReason})
}

// list returns a page. The Before of the query must be empty or the id of a started
// match.
func list(t require.TestingT, l *matches.Matches, q matches.Query) (page []matches.Summary, next string) {
	page, next, known, err := l.List(q)
	require.NoError(t, err)
	require.True(t, known)
	return page, next
}

const timeFormat = "2006-01-02T15:04:05.000Z"

func TestListFollowsACompletedMatch(t *testing.T) {
	w := newFixture(t)
	g := w.Seat(ladder.Standard, w.bots[:4]...)[0]
	w.unlisted(g.MatchID)

	g.Start()
	running := w.get(g.MatchID)
	want := matches.Summary{ID: g.MatchID, Mode: ladder.Standard, Status: matches.Running, StartedAt: g.Times[0].Format(timeFormat)}
	for i, s := range g.State.Started.Seats {
		want.Players = append(want.Players, matches.Player{Seat: i, BotID: s.BotID, BotName: s.BotName})
	}
	require.Equal(t, want, running)
	g.Play(5)
	require.Equal(t, want, w.get(g.MatchID))
	g.PlayOut()
	require.Equal(t, want, w.get(g.MatchID), "before the ladder rates it")

	g.Conclude()
	completed := w.get(g.MatchID)
	require.Equal(t, matches.Completed, completed.Status)
	require.Equal(t, g.Times[len(g.Times)-1].Format(timeFormat), *completed.EndedAt, "the time when the game ended, not when the ladder rated it")
	require.Equal(t, want.StartedAt, completed.StartedAt)
	for i, p := range completed.Players {
		require.Equal(t, want.Players[i].BotID, p.BotID)
		require.Equal(t, g.State.End.Placements[i], *p.Placement)
		require.NotNil(t, p.RatingDelta)
		s := completed.Seats[i]
		require.Equal(t, g.State.Strikes[i], s.Strikes)
		require.Equal(t, g.State.Resigned[i], s.Resigned)
		require.Equal(t, g.State.Missed(i), s.Missed)
		require.Equal(t, g.Used[i], *s.TimeUsedMs)
		require.Zero(t, *s.RatingBefore)
		require.InDelta(t, *p.RatingDelta, *s.RatingAfter, 1e-9)
	}
	require.True(t, completed.Seats[1].Resigned, "the clumsy player")
	require.Equal(t, "resigned", completed.Mark(1))
	require.Len(t, completed.Seats, 4)
	require.Equal(t, want, running, "a summary that was read earlier does not change")
}

// Before its first match, a bot has the rating 0.0. So the first rating change
// equals the new rating.
func TestRatingDeltaOfAFirstMatch(t *testing.T) {
	w := newFixture(t)
	g := w.Complete(ladder.Standard, w.bots[:4]...)
	first := w.get(g.MatchID)
	w.Complete(ladder.Standard, w.bots[:4]...)
	second := w.all(matches.Query{})[0]
	after := map[string]float64{}
	for r, err := range w.log.Read(t.Context(), "ladder-standard", 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		e, err := ladder.Decode(r.Type, r.Data)
		require.NoError(t, err)
		rated, ok := e.(ladder.RatingsChanged)
		if !ok {
			continue
		}
		m := first
		if rated.MatchID == second.ID {
			m = second
		}
		for _, s := range rated.Seats {
			p := m.Players[slices.IndexFunc(m.Players, func(p matches.Player) bool { return p.BotID == s.BotID })]
			require.Equal(t, s.Placement, *p.Placement)
			require.InDelta(t, s.After.Displayed()-after[s.BotID], *p.RatingDelta, 1e-9)
			require.Equal(t, fmt.Sprintf("%.1f", *p.RatingDelta), fmt.Sprintf("%.1f", s.After.Displayed()-after[s.BotID]))
			after[s.BotID] = s.After.Displayed()
		}
	}
	require.Len(t, after, 4)
}

func TestListFollowsAnAbortedMatch(t *testing.T) {
	w := newFixture(t)
	g := w.Seat(ladder.Parley, w.other...)[0]
	g.Start()
	g.Play(3)
	running := w.get(g.MatchID)
	g.Abort(match.WallClock)
	require.Equal(t, running, w.get(g.MatchID), "before the ladder voids it")
	g.Conclude()
	want := running
	ended := g.Times[len(g.Times)-1].Format(timeFormat)
	want.Status, want.EndedAt, want.Reason, want.Turns = matches.Aborted, &ended, ladder.WhyWallClock, 3
	for i := range g.Used {
		want.Seats = append(want.Seats, seats.Seat{Strikes: g.State.Strikes[i], TimeUsedMs: &g.Used[i], Version: g.State.Started.Seats[i].Version})
	}
	require.Positive(t, want.Seats[1].Strikes, "the clumsy player")
	require.Equal(t, want, w.get(g.MatchID), "an aborted match")
}

// Lists leave out a match that never started, but Voided returns why it was voided.
func TestMatchThatIsVoidedBeforeItStarts(t *testing.T) {
	w := newFixture(t)
	tables, parley := w.Seat(ladder.Standard, w.bots...), w.Seat(ladder.Parley, w.other...)[0]
	tables[0].Void(ladder.WhyBeacon)
	parley.Void(ladder.WhyWallClock)
	w.unlisted(tables[0].MatchID)
	w.voided(tables[0].MatchID, ladder.Standard, ladder.WhyBeacon)
	w.voided(parley.MatchID, ladder.Parley, ladder.WhyWallClock)
	w.voided(tables[1].MatchID, "", "")
	w.voided("of nobody", "", "")
}

// A referee that has not seen MatchVoided may still start the match.
func TestMatchThatStartsAfterItsVoid(t *testing.T) {
	w := newFixture(t)
	g := w.Seat(ladder.Standard, w.bots[:4]...)[0]
	g.Void(ladder.WhyOperator)
	w.unlisted(g.MatchID)
	w.voided(g.MatchID, ladder.Standard, ladder.WhyOperator)
	g.Start()
	m := w.get(g.MatchID)
	w.voided(g.MatchID, "", "")
	require.Equal(t, matches.Aborted, m.Status)
	require.Equal(t, ladder.WhyOperator, m.Reason)
	require.Equal(t, "2026-09-06T12:00:13.000Z", *m.EndedAt, "the time of the ladder's event")
}

func TestListSelectsAndOrders(t *testing.T) {
	w := newFixture(t)
	old := w.Complete(ladder.Standard, w.bots[:4]...)
	tables := w.Seat(ladder.Standard, w.bots...)
	parley := w.Seat(ladder.Parley, w.other...)[0]
	require.Len(t, tables, 2)
	// These matches start in a different order from the one in which they were
	// seated.
	parley.Start()
	tables[1].Start()
	require.Equal(t, []string{parley.MatchID, tables[1].MatchID, old.MatchID}, w.ids(matches.Query{}))
	tables[0].Start()
	tables[1].Abort(match.Operator)
	tables[1].Conclude()

	id := func(games ...*arenatest.Game) []string {
		ids := []string{}
		for _, g := range games {
			ids = append(ids, g.MatchID)
		}
		return ids
	}
	ann := tables[0]
	if !slices.Contains(ann.State.Started.Table.Bots, w.bots[0]) {
		ann = tables[1]
	}
	for name, c := range map[string]struct {
		q    matches.Query
		want []string
	}{
		"all, newest first by seating": {matches.Query{}, id(parley, tables[1], tables[0], old)},
		"a mode":                       {matches.Query{Mode: ladder.Standard}, id(tables[1], tables[0], old)},
		"running":                      {matches.Query{Status: matches.Running}, id(parley, tables[0])},
		"completed":                    {matches.Query{Status: matches.Completed}, id(old)},
		"aborted":                      {matches.Query{Status: matches.Aborted}, id(tables[1])},
		"a bot":                        {matches.Query{BotID: w.bots[0]}, id(ann, old)},
		"a bot that has not played":    {matches.Query{BotID: "nobody"}, id()},
		"all filters":                  {matches.Query{Mode: ladder.Standard, Status: matches.Completed, BotID: w.bots[0]}, id(old)},
		"no match":                     {matches.Query{Mode: ladder.Parley, BotID: w.bots[0]}, id()},
		"after the newest":             {matches.Query{Before: parley.MatchID}, id(tables[1], tables[0], old)},
		"after one of the same tick":   {matches.Query{Before: tables[1].MatchID}, id(tables[0], old)},
		"after one that is left out":   {matches.Query{Before: tables[1].MatchID, Status: matches.Running}, id(tables[0])},
		"after one of another mode":    {matches.Query{Before: parley.MatchID, Mode: ladder.Standard}, id(tables[1], tables[0], old)},
		"after the oldest":             {matches.Query{Before: old.MatchID}, id()},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, w.ids(c.q)) })
	}
}

func TestListReportsAnUnknownBefore(t *testing.T) {
	w := newFixture(t)
	g := w.Seat(ladder.Standard, w.bots[:4]...)[0]
	require.NoError(t, w.sync.Sync(t.Context()))
	for name, before := range map[string]string{"no id": "x", "a bot": w.bots[0], "seated, not started": g.MatchID} {
		_, _, known, err := w.list.List(matches.Query{Before: before, Limit: 1})
		require.NoError(t, err)
		require.False(t, known, name)
	}
	_, next := list(t, w.list, matches.Query{Limit: 1})
	require.Empty(t, next)
}

func TestFromListsTheMatchesOfABotForwards(t *testing.T) {
	w := newFixture(t)
	var ids []string
	for range 3 {
		ids = append(ids, w.Complete(ladder.Standard, w.bots[:4]...).MatchID)
	}
	others := w.Complete(ladder.Standard, w.bots[1:5]...)
	running := w.Seat(ladder.Standard, w.bots[:4]...)[0]
	running.Start()
	ids = append(ids, running.MatchID)
	require.NoError(t, w.sync.Sync(t.Context()))
	from := func(bot, first string, limit int) (list []string, known bool) {
		page, known, err := w.list.From(bot, first, limit)
		require.NoError(t, err)
		for _, m := range page {
			list = append(list, m.ID)
		}
		return list, known
	}
	for i, first := range append([]string{""}, ids...) {
		got, known := from(w.bots[0], first, 2)
		begin := max(0, i-1)
		require.True(t, known)
		require.Equal(t, ids[begin:min(begin+2, len(ids))], got)
	}
	got, known := from("nobody", "", 2)
	require.Empty(t, got)
	require.True(t, known)
	for _, first := range []string{"x", others.MatchID} {
		_, known = from(w.bots[0], first, 2)
		require.False(t, known)
	}
	_, known = from("nobody", ids[0], 2)
	require.False(t, known)
}

func TestPagesOfAnySizeMakeTheWholeList(t *testing.T) {
	s := newSynthetic(t, 60)
	rapid.Check(t, func(t *rapid.T) {
		q := matches.Query{Mode: rapid.SampledFrom([]string{"", ladder.Standard, ladder.Parley}).Draw(t, "mode"), Limit: rapid.IntRange(1, 70).Draw(t, "limit")}
		var want, got []string
		for i, id := range slices.Backward(s.ids) {
			if q.Mode == "" || q.Mode == modeOf(i) {
				want = append(want, id)
			}
		}
		for {
			page, next := list(t, s.list, q)
			require.NotEmpty(t, page)
			for _, m := range page {
				got = append(got, m.ID)
			}
			if next == "" {
				break
			}
			require.Len(t, page, q.Limit)
			require.Equal(t, page[len(page)-1].ID, next)
			q.Before = next
		}
		require.Equal(t, want, got)
	})
}

// The method pages returns the match ids on all pages of a query. Before each page
// except the first, it calls the function between().
func (s *synthetic) pages(q matches.Query, between func()) (ids []string) {
	s.t.Helper()
	for {
		page, next := list(s.t, s.list, q)
		for _, m := range page {
			ids = append(ids, m.ID)
		}
		if q.Before = next; next == "" {
			return ids
		}
		between()
	}
}

// There are 12,000 completed matches. Every query lists its newest 10,000 matches,
// each once. If more matches are seated and completed between two pages, the query
// still lists older matches once each and without a gap. But it lists fewer of
// them, because the new matches now count toward the 10,000.
func TestPagesReachTheNewestMatches(t *testing.T) {
	if raced {
		t.Skip("takes minutes under the race detector: run it without -race")
	}
	const n = 12_000
	s := newSynthetic(t, n)
	s.complete(s.ids...)
	newest := slices.Clone(s.ids[n-matches.Reachable:])
	slices.Reverse(newest)
	for _, q := range []matches.Query{{}, {Status: matches.Completed}, {BotID: "a"}, {BotID: "a", Status: matches.Completed}} {
		q.Limit = 200
		t.Logf("query %+v", q)
		sameIDs(t, newest, s.pages(q, func() {}))
	}
	require.Len(t, s.pages(matches.Query{Mode: ladder.Standard, Limit: 200}, func() {}), n*(tablesATick-1)/tablesATick)

	beyond := s.ids[n-matches.Reachable-1]
	page, next := list(t, s.list, matches.Query{Before: beyond, Limit: 200})
	require.Empty(t, page, "the page after a match that is out of reach is empty")
	require.Empty(t, next)
	_, ok, err := s.list.Get(beyond)
	require.NoError(t, err)
	require.True(t, ok, "Get finds a match that is out of reach")

	seated := 0
	got := s.pages(matches.Query{Limit: 200}, func() {
		s.seat(2 * tablesATick)
		s.complete(s.ids[len(s.ids)-tablesATick:]...)
		seated += 2 * tablesATick
	})
	require.Positive(t, seated)
	sameIDs(t, newest[:matches.Reachable-seated], got)
}

// sameIDs compares lists that are too long to print in full.
func sameIDs(t *testing.T, want, got []string) {
	t.Helper()
	logtest.RequireSameText(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// modeOf returns the mode of synthetic match i.
func modeOf(i int) string {
	if i%tablesATick == 0 {
		return ladder.Parley
	}
	return ladder.Standard
}

const tablesATick = 5

// synthetic is a log of matches without games, and the match list of that log.
type synthetic struct {
	t      testing.TB
	log    *memory.Log
	list   *matches.Matches
	runner *projections.Runner
	ids    []string // oldest first
	stored int      // events
}

// newSynthetic returns n running matches. n must be a multiple of tablesATick.
func newSynthetic(t testing.TB, n int) *synthetic {
	t.Helper()
	s := &synthetic{t: t, log: memory.New(), list: matches.New()}
	s.runner = arenatest.Follow(t, s.log, s.list)
	s.seat(n)
	return s
}

// store appends an event, with the same id in every run.
func (s *synthetic) store(stream string, e eventstore.Typed) {
	encoded, err := eventstore.Encode(e, eventstore.Metadata{})
	if err == nil {
		s.stored++
		encoded.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(strconv.Itoa(s.stored)))
		_, err = s.log.Append(context.Background(), eventstore.StreamID(stream), eventstore.Any, encoded)
	}
	if err != nil {
		panic(err) // an in-memory log does not reject these appends
	}
}

func (s *synthetic) sync() {
	s.t.Helper()
	require.NoError(s.t, s.runner.Sync(context.Background()))
}

// write appends all events of n matches, from seating their tables to storing
// their ratings.
func (s *synthetic) write(n int) {
	first := len(s.ids)
	s.writeSeated(n)
	s.writeCompleted(s.ids[first:]...)
}

// seat seats matches and starts them.
func (s *synthetic) seat(n int) {
	s.t.Helper()
	s.writeSeated(n)
	s.sync()
}

// writeSeated seats and starts matches. It starts the last match first.
func (s *synthetic) writeSeated(n int) {
	first := len(s.ids)
	tables := map[string]ladder.TablesSeated{}
	for i := first; i < first+n; i++ {
		id := ladder.MatchID("key", "any", uint64(i), 0)
		s.ids = append(s.ids, id)
		e := tables[modeOf(i)]
		e.Tables = append(e.Tables, ladder.Table{MatchID: id, Bots: []string{"a", "b", "c"}})
		if tables[modeOf(i)] = e; modeOf(i) == ladder.Parley || (i+1)%tablesATick == 0 {
			s.store(ladder.Stream(modeOf(i)), e)
			delete(tables, modeOf(i))
		}
	}
	for _, id := range slices.Backward(s.ids[first:]) {
		s.store(match.Stream(id), match.Started{MatchID: id, Seats: []match.Seat{{BotID: "a", BotName: "Ann"}, {BotID: "b", BotName: "Bea"}, {BotID: "c", BotName: "Cat"}}})
	}
}

// complete ends and rates matches.
func (s *synthetic) complete(ids ...string) {
	s.t.Helper()
	s.writeCompleted(ids...)
	s.sync()
}

func (s *synthetic) writeCompleted(ids ...string) {
	for _, id := range ids {
		s.store(match.Stream(id), match.GameEnded{})
		s.store(ladder.Stream(ladder.Standard), ladder.RatingsChanged{MatchID: id, Seats: []ladder.RatedSeat{{BotID: "a", Placement: 1}, {BotID: "b", Placement: 2}, {BotID: "c", Placement: 2}}})
	}
}
