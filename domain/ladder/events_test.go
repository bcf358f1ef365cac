package ladder

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/beacon"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore/logtest"
)

const golden = "testdata/events.golden"

// samples holds one event of each type, with every field set.
func samples() []Event {
	return []Event{
		TablesSeated{
			Tick: noon.Add(123 * time.Millisecond), SeedKey: "k1",
			Tables: []Table{{
				MatchID:    "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90",
				Bots:       []string{"a", "b", "c"},
				Commitment: seed.Commitment(seed.Seed{1}),
			}},
		},
		RatingsChanged{
			MatchID: "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90",
			Seats: []RatedSeat{{
				BotID: "a", Placement: 2, Missed: true,
				Before: rating.New(), After: rating.Rating{Mu: 24.5, Sigma: 8.1},
			}},
		},
		MatchVoided{MatchID: "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90", Why: WhyWallClock},
		TablesSeated{
			Tick: noon.Add(123 * time.Millisecond), SeedKey: "k1", RestMs: 300_000,
			Tables: []Table{{
				MatchID:    "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90",
				Bots:       []string{"a", "b", "c"},
				Commitment: seed.Commitment(seed.Seed{1}),
			}},
			Candidates: []Candidate{
				{BotID: "a", Registered: noon.Add(-time.Hour), StatusChanged: noon.Add(-time.Hour)},
				{BotID: "b", Registered: noon.Add(-time.Minute), StatusChanged: noon.Add(-time.Second)},
				{BotID: "c", Registered: noon.Add(-500 * time.Millisecond), StatusChanged: noon.Add(-500 * time.Millisecond)},
			},
			Beacon: &beacon.Named{Chain: beacon.Quicknet().Hash, Round: 32_650_000},
		},
	}
}

// A stored shape never changes. If a line of the golden file changes, old logs can no
// longer be read.
func TestStoredShapes(t *testing.T) {
	var b bytes.Buffer
	for _, e := range samples() {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		b.WriteString(e.EventType() + " " + string(data) + "\n")
	}
	logtest.RequireGolden(t, golden, b.Bytes())
}

func TestDecodeReadsStoredEvents(t *testing.T) {
	stored, err := os.ReadFile(golden)
	require.NoError(t, err)
	var decoded []Event
	for line := range strings.Lines(string(stored)) {
		name, data, _ := strings.Cut(line, " ")
		e, err := Decode(name, []byte(data))
		require.NoError(t, err)
		decoded = append(decoded, e)
	}
	require.Equal(t, samples(), decoded)
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ eventType, data string }{
		"an unknown type":     {"BotRegistered", `{}`},
		"no type":             {"", `{}`},
		"invalid JSON":        {"TablesSeated", `{`},
		"an array":            {"RatingsChanged", `[]`},
		"a wrong field":       {"MatchVoided", `{"match":1}`},
		"a short commitment":  {"TablesSeated", `{"tables":[{"commitment":"00"}]}`},
		"a number too large":  {"RatingsChanged", `{"seats":[{"before":{"mu":1e999}}]}`},
		"no time for a tick":  {"TablesSeated", `{"tick":"noon"}`},
		"text after the JSON": {"MatchVoided", `{} {}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(c.eventType, []byte(c.data))
			require.Error(t, err)
		})
	}
}

// FuzzDecode checks that every event that can be decoded has exactly one stored form
// and can be folded.
func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		data, err := json.Marshal(e)
		require.NoError(f, err)
		f.Add(e.EventType(), data)
	}
	f.Add("TablesSeated", []byte(`{"tables":[{"matchId":"m","bots":["a","a"]},{"matchId":"m"}]}`))
	f.Add("RatingsChanged", []byte(`{"match":"m","seats":[{},{"botId":"a"},{"botId":"a"}]}`))
	f.Add("MatchVoided", []byte(`{"match":null}`))
	f.Add("Unknown", []byte(`{}`))
	f.Fuzz(func(t *testing.T, eventType string, data []byte) {
		e, err := Decode(eventType, data)
		if err != nil {
			return
		}
		require.Equal(t, eventType, e.EventType())
		first, err := json.Marshal(e)
		if err != nil {
			require.ErrorContains(t, err, "year outside of range")
			return
		}
		again, err := Decode(eventType, first)
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		l := Evolve(given(seated("m", "a", "b", "c")), e, noon)
		require.EqualValues(t, 2, l.Version())
		for _, s := range l.Unfinished() {
			_, err := l.Void(s.MatchID, WhyOperator)
			require.NoError(t, err)
		}
	})
}
