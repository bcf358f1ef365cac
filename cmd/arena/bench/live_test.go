package bench

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test covers only the output. The command needs the arena's executable, so a
// test in cmd/arena runs the command itself.
func TestLivePrintsForPeople(t *testing.T) {
	var out bytes.Buffer
	report := liveReport{
		Readers: 60, Matches: 3, ConnectMs: 41.6, Events: 50, EventsPerSecond: 49.7, Frames: 1000, FramesPerSecond: 994.2,
		AppendP99Ms: 2.04, latency: latency{P50Ms: 1.5, P99Ms: 4.25, MaxMs: 7}, Missed: 2, Ends: 60, MemoryMB: 80, MemoryPerReaderKB: 12.34,
	}
	report.print(&out)
	require.Equal(t, `60 readers of 3 matches: all connected, each with its first frame, in 42 ms
50 events at 50/s, 1000 frames read at 994/s, 2 missed; 60 readers received the end
append → reader's socket  p50 1.5 ms  p99 4.2 ms  max 7.0 ms  (append only: p99 2.0 ms)
memory of the arena 80 MB, 12.3 KB a reader
`, out.String())
}

func TestLiveRejectsZero(t *testing.T) {
	require.ErrorContains(t, asText(liveCmd{Readers: 1, Matches: 0, Rate: 1, Seconds: 1}).Run(t.Context(), printingTo(io.Discard)), "must be above zero")
}
