package audit_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
)

// verify recomputes a record with all the evidence that its sample arena has.
func verify(t testing.TB, record []byte, e audit.Evidence) audit.Report {
	t.Helper()
	r, err := audit.Parse(record)
	require.NoError(t, err)
	return audit.Match(r, e)
}

// ladderOf folds an arena's ladder and watches the given matches.
func ladderOf(t testing.TB, a *sample.Arena, watch ...string) *audit.Ladder {
	t.Helper()
	l := audit.NewLadder("standard", sample.PlatformKey, watch...)
	for i, e := range a.Events {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.NoError(t, l.Add(uint64(i), a.Times[i], e.EventType(), data))
	}
	return l
}

func idOf(t testing.TB, record []byte) string {
	t.Helper()
	r, err := audit.Parse(record)
	require.NoError(t, err)
	return r.ID
}

// Matches between random and mischievous bots pass every check. Only the soak
// test plays a thousand matches.
func TestMatchesVerify(t *testing.T) {
	testMatches(t, 60)
}

func TestSoakAThousandMatchesVerify(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	testMatches(t, 1000)
}

func testMatches(t *testing.T, n int) {
	t.Helper()
	made, reasons := map[string]int{}, map[string]int{}
	for chance := uint64(1); n > 0; chance++ {
		a := sample.New(sample.Options{Chance: chance, Bots: 15, Mischief: int(chance%4) * 2, Build: chance%2 == 0, Abort: 9})
		var records [][]byte
		for range min(5, (n+3)/4) {
			records = append(records, a.Tick()...)
		}
		n -= len(records)
		var ids []string
		for _, r := range records {
			ids = append(ids, idOf(t, r))
		}
		e := audit.Evidence{
			PlatformKey: sample.PlatformKey, Ladder: ladderOf(t, a, ids...), Required: true,
			SeedKeys: map[string]audit.SeedKey{sample.SeedKeyID: {Hash: sample.SeedKeyHash(), Key: sample.SeedKey}},
		}
		for _, record := range records {
			report := verify(t, record, e)
			require.Nil(t, report.Difference, "chance %d: %v", chance, report.Difference)
			for _, c := range report.Checks {
				made[c.Name] += c.Count
			}
			count(t, record, reasons)
		}
	}
	t.Log(made, reasons)
	for _, name := range []string{
		audit.CheckRecord, audit.CheckID, audit.CheckCommitment, audit.CheckSeedKey, audit.CheckSeed, audit.CheckSeats, audit.CheckBoard,
		audit.CheckDice, audit.CheckAnswers, audit.CheckRefusals, audit.CheckDefaults, audit.CheckStrikes, audit.CheckSteals,
		audit.CheckTrades, audit.CheckAwards, audit.CheckEnd, audit.CheckPlacements, audit.CheckThinking, audit.CheckRating,
	} {
		require.NotZero(t, made[name], name)
	}
	require.Greater(t, len(reasons), 20, "too few kinds of refusals: %v", reasons)
}

func count(t testing.TB, record []byte, reasons map[string]int) {
	t.Helper()
	var r struct {
		Replay []struct {
			Kind string
			Data struct{ Reason string }
		}
	}
	require.NoError(t, json.Unmarshal(record, &r))
	for _, e := range r.Replay {
		if e.Kind == "illegal" {
			reasons[e.Data.Reason]++
		}
	}
}
