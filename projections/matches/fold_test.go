package matches_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/projections/arenatest"
	"hexarena/projections/matches"
)

func TestInvalidEventStopsTheListWithoutAChange(t *testing.T) {
	recorded := func(stream string, e eventstore.Typed) eventstore.Recorded {
		encoded, err := eventstore.Encode(e, eventstore.Metadata{})
		require.NoError(t, err)
		return eventstore.Recorded{Event: encoded, Stream: eventstore.StreamID(stream)}
	}
	bad := func(r eventstore.Recorded, change func(*eventstore.Recorded)) eventstore.Recorded {
		change(&r)
		return r
	}
	w := newFixture(t)
	g := w.Complete(ladder.Standard, w.bots[:4]...)
	w.all(matches.Query{})
	rated := ladder.RatingsChanged{MatchID: g.MatchID, Seats: []ladder.RatedSeat{{BotID: w.bots[0], Placement: 1}, {BotID: "stranger", Placement: 2}}}
	for name, c := range map[string]struct {
		event eventstore.Recorded
		want  string
	}{
		"the start of an unseated match":           {recorded("match-x", match.Started{MatchID: "x"}), "match x was never seated"},
		"ratings of an unseated match":             {recorded("ladder-standard", ladder.RatingsChanged{MatchID: "x"}), "match x was never seated"},
		"the void of an unseated match":            {recorded("ladder-standard", ladder.MatchVoided{MatchID: "x"}), "match x was never seated"},
		"ratings of a bot that did not play":       {recorded("ladder-standard", rated), "bot stranger is rated, but did not play"},
		"ratings in invalid JSON":                  {bad(recorded("ladder-standard", rated), func(r *eventstore.Recorded) { r.Data = []byte("{") }), "RatingsChanged"},
		"a start in invalid JSON":                  {bad(recorded("match-"+g.MatchID, match.Started{}), func(r *eventstore.Recorded) { r.Data = nil }), "MatchStarted"},
		"metadata of a later program, in a match":  {bad(recorded("match-"+g.MatchID, match.GameEnded{}), func(r *eventstore.Recorded) { r.Metadata = []byte(`{"schema":2}`) }), "schema version 2"},
		"metadata of a later program, in a ladder": {bad(recorded("ladder-standard", rated), func(r *eventstore.Recorded) { r.Metadata = []byte(`{"schema":2}`) }), "schema version 2"},
		"an abort without a match id":              {recorded("match-", match.Aborted{}), "never seated"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			g := w.Complete(ladder.Standard, w.bots[:4]...)
			before := w.get(g.MatchID)
			stored, err := w.log.Append(t.Context(), c.event.Stream, eventstore.Any, c.event.Event)
			require.NoError(t, err)
			err = w.sync.Sync(t.Context())
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, fmt.Sprintf("projection matches at %s@%d: ", c.event.Stream, stored.Revision))
			after, found, err := w.list.Get(g.MatchID)
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, before, after)
		})
	}
}

// Other goroutines read the live list while it folds events. The rows of a rebuild
// must be byte for byte the same as those of the live list.
func TestRebuildEqualsTheLiveList(t *testing.T) {
	w := newFixture(t)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				page, _, _, err := w.list.List(matches.Query{BotID: w.bots[0], Limit: 3})
				assert.NoError(t, err) //nolint:testifylint // not the test's goroutine
				for _, m := range page {
					again, ok, err := w.list.Get(m.ID)
					assert.NoError(t, err) //nolint:testifylint // not the test's goroutine
					assert.True(t, ok)
					assert.Len(t, again.Players, 4)
					for _, p := range m.Players {
						assert.Equal(t, m.Status == matches.Completed, p.Placement != nil)
						assert.Equal(t, m.Status == matches.Completed, p.RatingDelta != nil && *p.RatingDelta < 100)
					}
				}
			}
		})
	}
	for i := range 6 {
		for _, g := range w.Seat(ladder.Standard, w.bots...) {
			g.Start()
			w.all(matches.Query{})
			if g.Play(2); i%3 == 2 {
				g.Abort(match.Operator)
			}
			g.PlayOut()
			w.all(matches.Query{})
			g.Conclude()
			w.all(matches.Query{})
		}
	}
	close(stop)
	readers.Wait()
	require.Len(t, w.all(matches.Query{Status: matches.Completed}), 8)

	rebuilt := matches.New()
	runner := arenatest.Follow(t, w.log, rebuilt)
	require.NoError(t, runner.Sync(t.Context()))
	want := arenatest.Dump(t, w.sync)
	require.Contains(t, want, "completed")
	logtest.RequireSameText(t, want, arenatest.Dump(t, runner))
}

// Matches of one tick start in any order. A list that folds their events one by one has the
// same rows as a rebuild, which folds all events in one batch.
func TestRebuildEqualsTheListWhenMatchesStartInAnyOrder(t *testing.T) {
	w := newFixture(t)
	games := w.Seat(ladder.Standard, w.bots...)
	require.Len(t, games, 2)
	for _, g := range []*arenatest.Game{games[1], games[0]} {
		g.Start()
		require.NoError(t, w.sync.Sync(t.Context()))
	}
	runner := arenatest.Follow(t, w.log, matches.New())
	require.NoError(t, runner.Sync(t.Context()))
	logtest.RequireSameText(t, arenatest.Dump(t, runner), arenatest.Dump(t, w.sync))
}
