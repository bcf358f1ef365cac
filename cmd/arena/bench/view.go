package bench

import (
	"fmt"
	"time"

	"hexarena/domain/game"
	"hexarena/domain/match"
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
		s := match.Seating{MatchID: "bench", Mode: "standard", Commitment: seed.Commitment(server)}
		for i := range game.MaxSeats {
			s.Bots = append(s.Bots, match.Seat{BotID: fmt.Sprint(i)})
			s.Table.Bots = append(s.Table.Bots, fmt.Sprint(i))
			s.Nonces = append(s.Nonces, "")
		}
		m := match.New(server)
		events, err := m.Start(s)
		if err != nil {
			return m, err
		}
		for _, e := range events {
			m = match.Evolve(m, e)
		}
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
