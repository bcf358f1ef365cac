package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/logs"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
)

// matchHistory is the content of a stopped arena's log, read with the official
// client.
type matchHistory struct {
	matches    map[string][]match.Event
	order      []string // match ids, in the order of seating
	rated      map[string]ladder.RatingsChanged
	unfinished []string
	lossy      bool // the log has lost events that bots have seen
}

// readHistory reads the log and checks the guarantees of every ladder. No bot may
// play in two matches at the same time. Each match must be rated once, based on the
// ratings before it.
func readHistory(t testing.TB, data string) *matchHistory {
	t.Helper()
	log, closeLog := openLog(t, data)
	defer closeLog()
	c := &matchHistory{matches: map[string][]match.Event{}, rated: map[string]ladder.RatingsChanged{}}
	seated := map[string][]string{}
	playing := map[string]string{}
	ratings := map[string]rating.Rating{}
	for _, e := range readStream(t, log, ladder.Stream(ladder.Standard), ladder.Decode) {
		switch e := e.(type) {
		case ladder.TablesSeated:
			for _, table := range e.Tables {
				for _, bot := range table.Bots {
					require.Empty(t, playing[bot], "bot %s is seated in %s while it is playing", bot, table.MatchID)
					playing[bot] = table.MatchID
				}
				seated[table.MatchID] = table.Bots
				c.order = append(c.order, table.MatchID)
			}
		case ladder.RatingsChanged:
			require.NotContains(t, c.rated, e.MatchID, "rated twice")
			c.rated[e.MatchID] = e
			require.Len(t, e.Seats, len(seated[e.MatchID]))
			for i, s := range e.Seats {
				require.Equal(t, seated[e.MatchID][i], s.BotID)
				require.Equal(t, e.MatchID, playing[s.BotID])
				delete(playing, s.BotID)
				if before, known := ratings[s.BotID]; known {
					require.Equal(t, before, s.Before)
				}
				ratings[s.BotID] = s.After
			}
		default:
			require.Fail(t, "unexpected on the ladder", "%#v", e)
		}
	}
	for _, id := range c.order {
		if _, ok := c.rated[id]; !ok {
			c.unfinished = append(c.unfinished, id)
		}
		c.matches[id] = readStream(t, log, match.Stream(id), match.Decode)
	}
	return c
}

// openLog opens a stopped arena's log. The caller must call closeLog.
func openLog(t testing.TB, data string) (log eventstore.Log, closeLog func()) {
	t.Helper()
	embedded, err := logs.OpenEmbedded(t.Context(), filepath.Join(data, "node"))
	require.NoError(t, err)
	return embedded.Log, func() { _ = embedded.Close() }
}

func readStream[E any](t testing.TB, log eventstore.Log, stream string, decode func(string, []byte) (E, error)) []E {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var events []E
	for r, err := range log.Read(ctx, eventstore.StreamID(stream), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		require.Equal(t, len(events), int(r.Revision), "a gap in %s", stream)
		e, err := decode(r.Type, r.Data)
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}
