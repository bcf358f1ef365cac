package bench

import (
	"time"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
)

// viewMicros returns the time to build and encode one mid-game request, in
// microseconds. It is the arena's share of a decision in addition to the append.
func viewMicros() float64 {
	m := midGame()
	const rounds = 20_000
	var frame []byte
	began := time.Now()
	for i := range rounds {
		r := m.Request(match.Decision{ID: i, Seat: i % 4})
		frame = r.AppendJSON(frame[:0])
	}
	return float64(time.Since(began).Microseconds()) / rounds
}

// midGame returns a match of four seats at about its 40th turn, after random play.
func midGame() match.Match {
	for n := byte(0); ; n++ {
		server := seed.Seed{n}
		m, _ := matchtest.Start(server, game.MaxSeats)
		rng := game.NewRand(uint64(n))
		for !m.Game.Over && m.Game.Turn < 40 {
			for c, more := m.Game.Next(); more; c, more = m.Game.Next() {
				m.Game.Apply(c)
			}
			if !m.Game.Over {
				seat, a := m.Game.RandomLegal(&rng)
				m.Game.Act(seat, a)
			}
		}
		if !m.Game.Over {
			return m
		}
	}
}
