package audit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
)

// BenchmarkVerify reads and recomputes matches, as `arena verify FILE` does.
func BenchmarkVerify(b *testing.B) {
	records := sample.New(sample.Options{Chance: 1, Bots: 40, Mischief: 2, Build: true}).Tick()
	bytes := 0
	for _, r := range records {
		bytes += len(r)
	}
	b.SetBytes(int64(bytes / len(records)))
	b.ReportAllocs()
	var p audit.Parser
	for i := 0; b.Loop(); i++ {
		r, err := p.Parse(records[i%len(records)])
		require.NoError(b, err)
		require.Nil(b, audit.Match(r, audit.Evidence{}).Difference)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "matches/s")
}

// BenchmarkRecompute recomputes matches whose records are already parsed.
func BenchmarkRecompute(b *testing.B) {
	var records []*audit.Record
	for _, text := range sample.New(sample.Options{Chance: 1, Bots: 40, Mischief: 2, Build: true}).Tick() {
		r, err := audit.Parse(text)
		require.NoError(b, err)
		records = append(records, r)
	}
	for i := 0; b.Loop(); i++ {
		require.Nil(b, audit.Match(records[i%len(records)], audit.Evidence{}).Difference)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "matches/s")
}

// BenchmarkLadder recomputes ratings from the stored events of a ladder.
func BenchmarkLadder(b *testing.B) {
	a := sample.New(sample.Options{Chance: 1, Bots: 40, Mischief: 40})
	for range 4 {
		a.Tick()
	}
	type stored struct {
		name string
		data []byte
	}
	var events []stored
	for _, e := range a.Events {
		data, err := json.Marshal(e)
		require.NoError(b, err)
		events = append(events, stored{e.EventType(), data})
	}
	changes := 0
	for b.Loop() {
		l := audit.NewLadder("standard", sample.PlatformKey)
		for i, e := range events {
			require.NoError(b, l.Add(uint64(i), a.Times[i], e.name, e.data))
		}
		changes += l.Totals.Changes
	}
	b.ReportMetric(float64(changes)/b.Elapsed().Seconds(), "changes/s")
}
