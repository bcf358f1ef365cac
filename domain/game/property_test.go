package game

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// TestAnyGameKeepsTheInvariants plays whole games of random legal actions, including
// offers. Between these actions, it calls Check with random, mostly illegal ones.
func TestAnyGameKeepsTheInvariants(t *testing.T) {
	ends := map[EndReason]int{}
	rapid.Check(t, func(t *rapid.T) {
		rng := NewRand(rapid.Uint64().Draw(t, "play"))
		w := newWalk(New(randomSeed(&rng), rapid.IntRange(3, MaxSeats).Draw(t, "seats")))
		require.Empty(t, w.follow())
		for !w.Over {
			askNonsense(t, &w.State, &rng)
			kind, seats := w.Owed()
			require.NotZero(t, seats)
			for seat := range w.Seats {
				if seats>>seat&1 != 0 {
					a := someAction(&w.State, &rng, kind, seat)
					require.NoError(t, w.Check(seat, a), "%+v", a)
					require.Empty(t, w.act(seat, a))
				}
			}
		}
		ends[w.Ending()]++
		_, seats := w.Owed()
		require.Zero(t, seats)
		requirePlacements(t, &w.State)
	})
	t.Logf("ends: %v", ends)
	require.Len(t, ends, 2, "some games end in a win and some in a stalemate")
}

// someAction returns a random legal action. Occasionally this is the default. For a
// turn, it is sometimes a trade offer.
func someAction(s *State, rng *Rand, kind Kind, seat uint8) Action {
	if rng.below(10) == 0 {
		return s.Default(seat)
	}
	if kind == KindTurn && rng.below(4) == 0 {
		a := offer(randomCards(rng, 2), randomCards(rng, 2), uint8(rng.below(int(s.Seats))))
		if rng.below(2) == 0 {
			a.To = board.None
		}
		if s.Check(seat, a) == nil {
			return a
		}
	}
	fork := *s
	for {
		if at, a := fork.RandomLegal(rng); at == seat {
			return a
		}
		// RandomLegal acts for the first seat that owes a decision, so skip all seats
		// before the wanted one.
		fork.discarding &= fork.discarding - 1
		fork.Offer.Asked &= fork.Offer.Asked - 1
	}
}

func randomCards(rng *Rand, n int) (cards Cards) {
	for range n {
		cards[rng.below(board.Resources)] += uint16(rng.below(2))
	}
	return cards
}

func randomSeed(rng *Rand) (s seed.Seed) {
	for i := 0; i < len(s); i += 8 {
		binary.LittleEndian.PutUint64(s[i:], rng.Uint64())
	}
	return s
}

// askNonsense calls Check with an action that has arbitrary values in its fields.
func askNonsense(t require.TestingT, s *State, rng *Rand) {
	var raw [actionBytes]byte
	for i := range raw {
		raw[i] = byte(rng.Uint64() >> 33)
		if rng.below(3) > 0 {
			raw[i] %= 24
		}
	}
	requireTotal(t, s, uint8(rng.below(6)), actionFrom(raw[:]))
}

// requireTotal requires that Check changes nothing, and that Check returns either nil or
// an *Illegal with a reason and a message.
func requireTotal(t require.TestingT, s *State, seat uint8, a Action) (legal bool) {
	before := *s
	err := s.Check(seat, a)
	if *s != before {
		require.Fail(t, "Check changed the state")
	}
	if err == nil {
		return true
	}
	var broken *Illegal
	require.ErrorAs(t, err, &broken)
	require.Regexp(t, `^[a-z]+(_[a-z]+)*$`, broken.Reason)
	require.NotEmpty(t, broken.Message)
	return false
}

// requirePlacements checks the placements of a finished game against the rules.
func requirePlacements(t require.TestingT, s *State) {
	places := s.Placements()
	winner := uint8(board.None)
	if s.Ending() == Win {
		winner = s.Seat
		require.GreaterOrEqual(t, s.TrueScore(winner), PointsToWin)
		require.Equal(t, uint8(1), places[winner])
	}
	for seat := range s.Seats {
		ahead := uint8(0)
		for other := range s.Seats {
			if other == winner && seat != winner || other != seat && seat != winner && s.TrueScore(other) > s.TrueScore(seat) {
				ahead++
			}
		}
		require.Equal(t, 1+ahead, places[seat], "seat %d", seat)
	}
	for seat := s.Seats; seat < MaxSeats; seat++ {
		require.Zero(t, places[seat])
	}
}

const actionBytes = 31

// actionFrom makes an action from arbitrary bytes.
func actionFrom(raw []byte) Action {
	a := Action{
		Type: Type(raw[0]), Vertex: raw[1], Edges: [2]uint8{raw[2], raw[3]}, Hex: raw[4], Victim: raw[5], To: raw[6],
		Give: board.Resource(raw[7]), Get: board.Resource(raw[8]), Accept: raw[9]&1 != 0,
	}
	for r := range a.Giving {
		a.Giving[r] = binary.LittleEndian.Uint16(raw[10+2*r:])
		a.Taking[r] = binary.LittleEndian.Uint16(raw[20+2*r:])
	}
	return a
}

// FuzzCheck calls Check with arbitrary actions during a game, and plays the legal
// ones. The invariants must still hold after each of them.
func FuzzCheck(f *testing.F) {
	for n := range 8 {
		rng := NewRand(uint64(n))
		script := make([]byte, 2+40*(actionBytes+1))
		for i := range script {
			script[i] = byte(rng.Uint64() >> 40 % 32)
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 2 {
			return
		}
		rng := NewRand(uint64(script[0]))
		w := newWalk(New(randomSeed(&rng), 3+int(script[1]%2)))
		require.Empty(t, w.follow())
		for script = script[2:]; len(script) > actionBytes && !w.Over; script = script[actionBytes+1:] {
			for range script[0] % 16 {
				if w.Over {
					return
				}
				require.Empty(t, w.act(w.RandomLegal(&rng)))
			}
			seat, a := script[0]>>4%5, actionFrom(script[1:])
			if requireTotal(t, &w.State, seat, a) {
				require.Empty(t, w.act(seat, a))
			}
		}
	})
}
