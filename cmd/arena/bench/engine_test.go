package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnginePrintsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, asJSON(engineCmd{Games: 50}).Run(t.Context(), printingTo(&out)))

	var report map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	for _, key := range []string{
		"gamesPerSecond", "actionsPerSecond", "turnsPerGame", "endReasons", "allocsPerAction", "viewMicros", "stepsPerGame", "searchPerSecond",
	} {
		require.Contains(t, report, key)
	}
	require.InDelta(t, 50, report["games"], 0)
	require.Positive(t, report["viewMicros"])
	require.Positive(t, report["searchPerSecond"])
}

func TestEnginePrintsForPeople(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, asText(engineCmd{Games: 5}).Run(t.Context(), printingTo(&out)))
	require.Contains(t, out.String(), "games/s")
	require.Contains(t, out.String(), "to build and encode")
}

func TestEngineRejectsNothingToPlay(t *testing.T) {
	require.Error(t, asText(engineCmd{}).Run(t.Context(), printingTo(io.Discard)))
	require.Error(t, asText(engineCmd{Games: -1, Seconds: 1}).Run(t.Context(), printingTo(io.Discard)))
}
