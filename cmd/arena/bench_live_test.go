package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every reader sees every event of its match, and its end; the figures of many
// readers are in docs/operations.md.
func TestBenchLive(t *testing.T) {
	t.Setenv(asArena, "plain")
	var out bytes.Buffer
	require.NoError(t, BenchLive(t.Context(), &out, benchLive{Readers: 60, Matches: 3, Rate: 20, Seconds: 1, JSON: true}))
	var report liveReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Equal(t, 60, report.Ends)
	require.Zero(t, report.Missed)
	require.Positive(t, report.Events)
	require.Equal(t, report.Events*report.Readers/report.Matches, report.Frames)
	require.Positive(t, report.P99Ms)
	out.Reset()
	require.NoError(t, report.print(&out))
	t.Logf("%s", out.String())
}

func TestBenchLiveRefusesNothing(t *testing.T) {
	require.ErrorContains(t, BenchLive(t.Context(), io.Discard, benchLive{Readers: 1, Matches: 0, Rate: 1, Seconds: 1}), "above zero")
}
