package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each reader receives every event of its match, or skips some because it is slow. Each reader
// receives the end. docs/operations.md has the figures for many readers. The test binary also runs as the arena's process.
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
	require.Positive(t, report.Events)
	require.Equal(t, report.Events*report.Readers/report.Matches, report.Frames+report.Missed)
	require.Less(t, report.Missed, report.Frames)
	require.Positive(t, report.P99Ms)
	t.Logf("%s", out.String())
}

// The bots, the arena and its node run as they do in service. docs/operations.md has the
// figures for many matches.
func TestBenchArena(t *testing.T) {
	t.Setenv(asArena, "plain")
	var out, errOut bytes.Buffer
	status := run([]string{"bench", "arena", "--matches", "4", "--rate", "100", "--seconds", "1", "--json"}, &out, &errOut)
	require.Zero(t, status, errOut.String())
	var report struct {
		Matches, Arenas, Timeouts                                       int
		DecisionsPerSecond, AppendsPerSecond, CPUMsPerDecision, MatchKB float64
		Share                                                           struct{ P50Ms, P99Ms float64 }
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Positive(t, report.Matches)
	require.Equal(t, 1, report.Arenas)
	require.Zero(t, report.Timeouts)
	require.Positive(t, report.DecisionsPerSecond)
	require.Positive(t, report.AppendsPerSecond)
	require.Positive(t, report.CPUMsPerDecision)
	require.Positive(t, report.Share.P50Ms)
	t.Logf("%s", out.String())
}

// Every operation of the OpenAPI document is measured. docs/operations.md has the
// figures for a large arena.
func TestBenchCalls(t *testing.T) {
	t.Setenv(asArena, "plain")
	var out, errOut bytes.Buffer
	flags := []string{"--bots", "8", "--matches", "40", "--veteran", "20", "--games", "4", "--running", "2", "--calls", "4", "--seconds", "0.5"}
	status := run(append([]string{"bench", "calls"}, flags...), &out, &errOut)
	require.Zero(t, status, errOut.String())
	for _, line := range []string{
		`GET /watch/{id}/preview.png, drawn +200 .* 15 all`, `GET /health, over the limit +429`, `POST /bots, a wrong signature +401`, `GET /me/events, a wrong signature +401`,
		`GET /bots/{id}, with its health +200 .* 1 all +600 `, `GET /me/events, opening it +200 .* 1 all +600 `, `GET /me/events, from the oldest event +200 .* 1 all +600 `,
		`POST /bots/{id}/trial +202 .* 1 all, 1 writes, 1 registrations +10 `, `GET /bots/{id}/decisions, of one match +200 .* 1 all, 1 match-reads`, `GET /queue +200 `,
		`while 8 addresses make that mix: p50 .* p99`, `the 20 streams that one address may open`,
	} {
		require.Regexp(t, line, out.String())
	}
	t.Logf("%s", out.String())
}

// The benchmark moves the rows away and later restores them. All calls of each step
// succeed.
func TestBenchReads(t *testing.T) {
	t.Setenv(asArena, "plain")
	var out, errOut bytes.Buffer
	status := run([]string{"bench", "reads", "--matches", "30,60", "--bots", "8", "--seconds", "0.2", "--json"}, &out, &errOut)
	require.Zero(t, status, errOut.String())
	var report struct {
		Sizes []struct {
			Matches       int
			RebuildS      float64 `json:"rebuildSeconds"`
			StartS        float64 `json:"startSeconds"`
			RowsMB, LogMB float64
			Steps         []struct{ P99Ms, Fresh float64 }
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Len(t, report.Sizes, 2)
	for i, size := range report.Sizes {
		require.Equal(t, 30*(i+1), size.Matches)
		for _, figure := range []float64{size.RebuildS, size.StartS, size.RowsMB, size.LogMB} {
			require.Positive(t, figure)
		}
		require.Len(t, size.Steps, 17)
		for _, step := range size.Steps {
			require.Positive(t, step.P99Ms)
		}
	}
}

// An arena starts in a new folder, and with complete matches in its log.
func TestBenchStart(t *testing.T) {
	t.Setenv(asArena, "plain")
	var out, errOut bytes.Buffer
	status := run([]string{"bench", "start", "--matches", "4", "--starts", "1", "--json"}, &out, &errOut)
	require.Zero(t, status, errOut.String())
	var report struct {
		Matches                          int
		EmptySeconds, FullSeconds, LogMB float64
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Equal(t, 4, report.Matches)
	for _, figure := range []float64{report.EmptySeconds, report.FullSeconds, report.LogMB} {
		require.Positive(t, figure)
	}
}
