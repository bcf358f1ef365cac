package match

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkView builds and encodes a mid-game view. Each decision costs this time
// and a durable append.
func BenchmarkView(b *testing.B) {
	m := midGame(b)
	var buf []byte
	for b.Loop() {
		v := m.View(1)
		buf = v.AppendJSON(buf[:0])
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

func BenchmarkSettle(b *testing.B) {
	m := midGame(b)
	bots := lawful(rand.New(rand.NewPCG(5, 6)))
	d := m.Asks()[0]
	o := bots(&m, d)
	o.Decision = d.ID
	for b.Loop() {
		if _, err := m.Settle([]Outcome{o}); err != nil {
			b.Fatal(err)
		}
	}
}

// midGame returns a match of four seats in its 40th turn.
func midGame(t tester) Match {
	rng := rand.New(rand.NewPCG(1, 2))
	bots := lawful(rng)
	m, _ := begin(t, randomSeed(rng), 4)
	for m.Game.Turn < 40 || len(m.Asks()) != 1 {
		m, _ = step(t, m, bots)
	}
	return m
}
