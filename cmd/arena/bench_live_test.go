package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every reader sees every event of its match, and its end; the figures of many
// readers are in docs/operations.md. The arena is this executable again.
func TestBenchLive(t *testing.T) {
	t.Setenv(asArena, "plain")
	var out, errOut bytes.Buffer
	status := run([]string{"bench", "live", "--readers", "60", "--matches", "3", "--rate", "20", "--seconds", "1", "--json"}, &out, &errOut)
	require.Zero(t, status, errOut.String())
	var report struct {
		Readers, Matches, Events, Frames, Missed, Ends int
		P99Ms                                          float64
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Equal(t, 60, report.Readers)
	require.Equal(t, 3, report.Matches)
	require.Equal(t, 60, report.Ends)
	require.Zero(t, report.Missed)
	require.Positive(t, report.Events)
	require.Equal(t, report.Events*report.Readers/report.Matches, report.Frames)
	require.Positive(t, report.P99Ms)
	t.Logf("%s", out.String())
}
