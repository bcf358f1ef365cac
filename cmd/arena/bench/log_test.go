package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogPrintsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, asJSON(logCmd{Seconds: 0.05, Dir: t.TempDir()}).Run(t.Context(), printingTo(&out)))
	var report struct {
		Streams []map[string]float64 `json:"streams"`
		Pebble  []map[string]float64 `json:"pebble"`
		ReadAll float64              `json:"readAllPerSecond"`
		Batch   float64              `json:"batchAppendsPerSecond"`
		BareAll float64              `json:"bareReadAllPerSecond"`
		Live    float64              `json:"subscribeP99Ms"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Len(t, report.Streams, len(writersAtOnce))
	require.Len(t, report.Pebble, len(writersAtOnce))
	for i, n := range writersAtOnce {
		require.EqualValues(t, n, report.Streams[i]["n"])
		for _, key := range []string{"appendsPerSecond", "barePerSecond", "p50Ms", "p99Ms", "appendsPerSync"} {
			require.Positive(t, report.Streams[i][key], key)
		}
		require.EqualValues(t, n, report.Pebble[i]["n"])
		require.Positive(t, report.Pebble[i]["writesPerSecond"])
	}
	require.Positive(t, report.ReadAll)
	require.Positive(t, report.Batch)
	require.Positive(t, report.BareAll)
	require.Positive(t, report.Live)
}

func TestLogPrintsForPeople(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, asText(logCmd{Seconds: 0.02, Dir: t.TempDir()}).Run(t.Context(), printingTo(&out)))
	require.Contains(t, out.String(), "64 streams")
}

func TestLogRejectsZeroSeconds(t *testing.T) {
	require.Error(t, asText(logCmd{}).Run(t.Context(), printingTo(io.Discard)))
}

func TestEventsHaveTheirSize(t *testing.T) {
	require.Equal(t, eventBytes, len(eventData)+len(eventMetadata))
	require.True(t, json.Valid(eventData))
}
