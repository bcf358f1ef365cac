package bench

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnginePrintsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, engineCmd{Games: 50, JSON: true}.play(&out, func() float64 { return 4.5 }))

	var report map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	for _, key := range []string{
		"gamesPerSecond", "actionsPerSecond", "turnsPerGame", "endReasons", "allocsPerAction", "viewMicros", "stepsPerGame",
	} {
		require.Contains(t, report, key)
	}
	require.InDelta(t, 50, report["games"], 0)
	require.InDelta(t, 4.5, report["viewMicros"], 0)
}

func TestEnginePrintsForPeople(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, engineCmd{Games: 5}.play(&out, nil))
	require.Contains(t, out.String(), "games/s")
	require.NotContains(t, out.String(), "view")
}

func TestEngineRefusesNothingToPlay(t *testing.T) {
	require.Error(t, engineCmd{}.play(&bytes.Buffer{}, nil))
	require.Error(t, engineCmd{Games: -1, Seconds: 1}.play(&bytes.Buffer{}, nil))
}
