package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBenchLogPrintsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, BenchLog(t.Context(), &out, benchLog{Seconds: 0.05, Dir: t.TempDir(), JSON: true}))
	var report struct {
		Streams []map[string]float64 `json:"streams"`
		Pebble  []map[string]float64 `json:"pebble"`
		ReadAll float64              `json:"readAllPerSecond"`
		Live    float64              `json:"subscribeP99Ms"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Len(t, report.Streams, len(writersAtOnce))
	require.Len(t, report.Pebble, len(writersAtOnce))
	for i, n := range writersAtOnce {
		require.EqualValues(t, n, report.Streams[i]["n"])
		for _, key := range []string{"appendsPerSecond", "p50Ms", "p99Ms", "appendsPerSync"} {
			require.Positive(t, report.Streams[i][key], key)
		}
		require.EqualValues(t, n, report.Pebble[i]["n"])
		require.Positive(t, report.Pebble[i]["writesPerSecond"])
	}
	require.Positive(t, report.ReadAll)
	require.Positive(t, report.Live)
}

func TestBenchLogPrintsForPeople(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, BenchLog(t.Context(), &out, benchLog{Seconds: 0.02, Dir: t.TempDir()}))
	require.Contains(t, out.String(), "64 streams")
}

func TestBenchLogRefusesNoTime(t *testing.T) {
	require.Error(t, BenchLog(t.Context(), &bytes.Buffer{}, benchLog{}))
}

func TestBenchEventsAreAboutTheirSize(t *testing.T) {
	require.Equal(t, benchEventBytes, len(benchData)+len(benchMetadata))
	require.True(t, json.Valid(benchData))
}
