package practice

import (
	"syscall"
	"time"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/housebot"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/domain/tournament"
)

// BenchmarkHouse plays matches of three house bots on one core.
func BenchmarkHouse(b *testing.B) {
	p := tournament.Plan{Bots: 3, Blocks: 1 << 30, Seed: "bench", Rotate: true}
	names := []string{"greedy", "greedy", "random"}
	decisions := 0
	for n := 0; b.Loop(); n++ {
		m := p.Match(n)
		s := match.Seating{MatchID: m.ID, Mode: "standard", Commitment: seed.Commitment(m.Server), Nonces: make([]string, 3), Deadlines: match.Deadlines{DecisionMs: 5000, WallMs: 600000}}
		var players []*housebot.Player
		for i, bot := range m.Table {
			s.Table.Bots = append(s.Table.Bots, string(rune('a'+bot)))
			s.Bots = append(s.Bots, match.Seat{BotID: string(rune('a' + bot))})
			p, err := housebot.NewPlayer(names[m.Seats[i]], m.BotSeed(i), m.ID)
			require.NoError(b, err)
			players = append(players, p)
		}
		h, err := playHouse(b.Context(), m.Server, s, players)
		require.NoError(b, err)
		decisions += len(h.Events)
	}
	var u syscall.Rusage
	syscall.Getrusage(0,&u)
	b.Logf("cpu %v total, n %d", time.Duration(u.Utime.Nano()+u.Stime.Nano()), b.N)
	b.ReportMetric(float64(decisions)/float64(b.N), "events/match")
}
