package bench

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test covers only the output. The command needs the arena's executable, so a
// test in cmd/arena runs the command itself.
func TestArenaBenchPrintsForPeople(t *testing.T) {
	r := playReport{
		Matches: 998, Arenas: 2, Cores: 2, DecisionsPerSecond: 3987.4, Share: latency{P50Ms: 1.24, P99Ms: 9.81, MaxMs: 40.2},
		AppendsPerSecond: 4012.6, CPUMsPerDecision: 0.351, MatchKB: 84.6,
	}
	var out bytes.Buffer
	r.print(&out)
	require.Equal(t, `998 matches at once, 2 arenas on one node, 2 cores: 3987 decisions/s in the log, 0 timeouts
the arena's share of a decision  p50 1.2 ms  p99 9.8 ms  max 40.2 ms
4013 appends/s, 0.35 ms of CPU time per decision, 85 KB of memory per match
`, out.String())
	r.Arenas = 1
	out.Reset()
	r.print(&out)
	require.Contains(t, out.String(), ", 1 arena on one node")
}

func TestArenaBenchRejectsBadFlags(t *testing.T) {
	for _, c := range []playCmd{
		{Matches: 0, Arenas: 1, Seconds: 1},
		{Matches: 1, Arenas: 0, Seconds: 1},
		{Matches: 1, Arenas: 5, Seconds: 1},
		{Matches: 1, Arenas: 1, Seconds: 1, Rate: -1},
		{Matches: 1, Arenas: 1},
	} {
		require.ErrorContains(t, asText(c).Run(t.Context(), printingTo(io.Discard)), "must")
	}
}

// A request ends the measurement of the answers before it. Several bots may answer in
// one batch.
func TestBotsMeasureTheTimeFromTheLastAnswerToTheNextRequest(t *testing.T) {
	b := &bots{matches: map[string]*botsMatch{}}
	m := b.join("one")
	require.Same(t, m, b.join("one"))

	b.asked(m)
	require.Equal(t, botsFigures{Running: 1}, b.figures(), "the first request follows no answer")
	b.answered(m)
	b.answered(m)
	require.Zero(t, b.figures().Decisions, "an answer counts when a request has followed")
	b.asked(m)
	b.asked(m)
	f := b.figures()
	require.Equal(t, 2, f.Decisions)
	require.Positive(t, f.Share.MaxMs)

	b.leave("one")
	require.Equal(t, 1, b.figures().Running)
	b.leave("one")
	require.Zero(t, b.figures())
}

func TestWarningsDropLinesThatOnlyInform(t *testing.T) {
	var out bytes.Buffer
	l := warnings{w: &out}
	for _, part := range []string{"time=1 level=INFO msg=a\ntime=2 lev", "el=WARN msg=b\ntime=3 level=INFO", " msg=c\n"} {
		n, err := l.Write([]byte(part))
		require.NoError(t, err)
		require.Len(t, part, n)
	}
	require.Equal(t, "time=2 level=WARN msg=b\n", out.String())
}
