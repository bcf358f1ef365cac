package audit_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/match"
)

// A fold of the history publishes the replay of the record again, and ends with the seed
// and the proof of the record.
func TestHistory(t *testing.T) {
	arena := sample.New(sample.Options{Chance: 2, Bots: 4, Mischief: 10, Build: true, Abort: 3})
	for range 6 {
		text := arena.Tick()[0]
		r, err := audit.Parse(text)
		require.NoError(t, err)
		require.Nil(t, audit.Match(r, audit.Evidence{}).Difference)
		var record struct {
			ID, Status string
			Seed       string
			Replay     json.RawMessage
			Proof      match.Proof
			Players    []struct{ BotID, BotName string }
		}
		require.NoError(t, json.Unmarshal(text, &record))
		started, events, times := r.History()
		m := match.Evolve(match.New(r.Proof().ServerSeed), started)
		require.Equal(t, record.Seed, m.Seed.String())
		require.Equal(t, record.Proof, m.Proof())
		for i, p := range record.Players {
			require.Equal(t, []string{p.BotID, p.BotName}, []string{started.Seats[i].BotID, started.Seats[i].BotName})
		}
		replay := match.Replay{Events: []match.PublicEvent{}}
		for i, e := range events {
			m = match.Evolve(m, e)
			replay.Add(e, times[i].In(time.UTC))
		}
		got, err := json.Marshal(replay.Events)
		require.NoError(t, err)
		require.JSONEq(t, string(record.Replay), string(got))
		require.Equal(t, record.Status == "aborted", r.Aborted())
		require.Equal(t, record.Status == "completed", m.End != nil)
		if m.End != nil {
			require.Equal(t, []any{m.Seed, m.Proof()}, []any{m.End.Seed, m.End.Proof})
		}
	}
}
