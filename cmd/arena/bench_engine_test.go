package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBenchEnginePrintsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, BenchEngine(&out, benchEngine{Games: 50, JSON: true}, func() float64 { return 4.5 }))

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

func TestBenchEnginePrintsForPeople(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, BenchEngine(&out, benchEngine{Games: 5}, nil))
	require.Contains(t, out.String(), "games/s")
	require.NotContains(t, out.String(), "view")
}

func TestBenchEngineRefusesNothingToPlay(t *testing.T) {
	require.Error(t, BenchEngine(&bytes.Buffer{}, benchEngine{}, nil))
	require.Error(t, BenchEngine(&bytes.Buffer{}, benchEngine{Games: -1, Seconds: 1}, nil))
}
