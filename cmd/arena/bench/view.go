package bench

import (
	"time"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
)

// viewMicros is how long building and encoding one mid-game request takes, in
// microseconds: the arena's own share of a decision beside its append.
func viewMicros() float64 {
	m, err := midGame()
	if err != nil {
		panic(err) // the table below is a whole one
	}
	const rounds = 20_000
	var frame []byte
	began := time.Now()
	for i := range rounds {
		r := m.Request(match.Decision{ID: i, Seat: i % 4})
		frame = r.AppendJSON(frame[:0])
	}
	return float64(time.Since(began).Microseconds()) / rounds
}

// midGame is a match of four in its 40th turn or so, after random play.
func midGame() (match.Match, error) {
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
			return m, nil
		}
	}
}
