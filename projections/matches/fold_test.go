package matches_test

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/matches"
)

// What contradicts itself is refused, and changes no answer.
func TestWhatCannotBeFolded(t *testing.T) {
	w := newWorld(t)
	g := w.Seat(ladder.Standard, w.bots[:4]...)[0]
	g.Start()
	g.PlayOut()
	before := w.get(g.MatchID)
	recorded := func(stream string, e eventstore.Typed) eventstore.Recorded {
		encoded, err := eventstore.Encode(e, eventstore.Metadata{})
		require.NoError(t, err)
		return eventstore.Recorded{Event: encoded, Stream: eventstore.StreamID(stream), Position: 1 << 40}
	}
	bad := func(r eventstore.Recorded, change func(*eventstore.Recorded)) eventstore.Recorded {
		change(&r)
		return r
	}
	rated := ladder.RatingsChanged{MatchID: g.MatchID, Seats: []ladder.RatedSeat{{BotID: w.bots[0], Placement: 1}, {BotID: "stranger", Placement: 2}}}
	for name, c := range map[string]struct {
		event eventstore.Recorded
		want  string
	}{
		"the start of a match that nobody seated":  {recorded("match-x", match.Started{MatchID: "x"}), "match x was never seated"},
		"ratings of a match that nobody seated":    {recorded("ladder-standard", ladder.RatingsChanged{MatchID: "x"}), "match x was never seated"},
		"the void of a match that nobody seated":   {recorded("ladder-standard", ladder.MatchVoided{MatchID: "x"}), "match x was never seated"},
		"ratings of who did not play":              {recorded("ladder-standard", rated), "bot stranger is rated, and did not play"},
		"an event of a ladder that is none":        {bad(recorded("ladder-standard", rated), func(r *eventstore.Recorded) { r.Type = "TablesCleared" }), "TablesCleared"},
		"ratings that are no JSON":                 {bad(recorded("ladder-standard", rated), func(r *eventstore.Recorded) { r.Data = []byte("{") }), "RatingsChanged"},
		"an end that is no JSON":                   {bad(recorded("match-"+g.MatchID, match.GameEnded{}), func(r *eventstore.Recorded) { r.Data = nil }), "GameEnded"},
		"metadata of a later program, in a match":  {bad(recorded("match-"+g.MatchID, match.GameEnded{}), func(r *eventstore.Recorded) { r.Metadata = []byte(`{"schema":2}`) }), "schema version 2"},
		"metadata of a later program, in a ladder": {bad(recorded("ladder-standard", rated), func(r *eventstore.Recorded) { r.Metadata = []byte(`{"schema":2}`) }), "schema version 2"},
		"an abort that claims to be of no match":   {recorded("match-", match.Aborted{}), "never seated"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, w.list.Apply(c.event), c.want)
			require.Equal(t, before, w.get(g.MatchID))
		})
	}
}

// The other events of a match's stream are passed over, read or not.
func TestOtherEventsArePassedOver(t *testing.T) {
	l := matches.New()
	for _, stream := range []eventstore.StreamID{"match-x", "ladder-", "owner-x"} {
		require.NoError(t, l.Apply(eventstore.Recorded{Event: eventstore.Event{Type: "DiceRolled", Data: []byte("{")}, Stream: stream}))
	}
}

// Each event folded twice makes the list that each folded once makes, and so
// does a live one, whose readers meet it half way.
func TestRebuild(t *testing.T) {
	w := newWorld(t)
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
				page, _, _ := w.list.List(matches.Query{BotID: w.bots[0], Limit: 3})
				for _, m := range page {
					again, ok := w.list.Get(m.ID)
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
	require.NoError(t, projections.New(w.log, rebuilt, slog.New(slog.DiscardHandler)).Sync(t.Context()))
	require.Equal(t, w.list, rebuilt)

	twice := matches.New()
	for r, err := range w.log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		if twice.Filter().Selects(r.Stream) {
			require.NoError(t, twice.Apply(r))
			require.NoError(t, twice.Apply(r))
		}
	}
	require.Equal(t, w.list, twice)
}
