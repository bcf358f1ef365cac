package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGrowth(t *testing.T) { grow(t, 5000) }

// The test stores ten million events in one node. docs/operations.md has the
// figures.
func TestSoakGrowth(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	grow(t, 10_000_000)
}

// grow measures a log with the given number of events. It requires that all events
// can be read, and that the memory of the process does not grow with the log.
func grow(t *testing.T, events int) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, asJSON(growthCmd{Events: events, Dir: t.TempDir()}).Run(t.Context(), printingTo(&out)))
	var report growthReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Equal(t, events, report.Events)
	require.Zero(t, report.CheckedDamages)
	require.EqualValues(t, (report.Streams+9)/10*growthPerStream*9/10, report.Scavenged)
	require.Less(t, report.ReadMB, 1000.0)
	for name, figure := range map[string]float64{
		"fill": report.FillPerSecond, "open": report.OpenMs, "first": report.FirstStreamMs, "last": report.LastStreamMs,
		"head": report.HeadOfAllMs, "end": report.EndOfAllMs, "append": report.AppendMs, "all": report.ReadAllPerSec,
	} {
		require.Positive(t, figure, name)
	}
	out.Reset()
	report.print(&out)
	t.Logf("%s", out.String())
}

func TestGrowthRejectsTooFewEvents(t *testing.T) {
	require.ErrorContains(t, asText(growthCmd{Events: 1}).Run(t.Context(), printingTo(io.Discard)), "at least 1000")
}
