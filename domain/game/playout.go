package game

import "math/bits"

// Rand is the random number generator for play-outs: xorshift64*. It is a value: a
// copy continues the same sequence. The dice, deck and steals of a match do not use
// Rand. They come from the match's seed.
type Rand struct{ state uint64 }

// NewRand returns a Rand seeded with n. Each n, including 0, gives a different
// sequence.
func NewRand(n uint64) Rand {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	if n ^= n >> 31; n == 0 {
		n = 0x9e3779b97f4a7c15
	}
	return Rand{n}
}

// Uint64 returns the next number.
func (r *Rand) Uint64() uint64 {
	r.state ^= r.state >> 12
	r.state ^= r.state << 25
	r.state ^= r.state >> 27
	return r.state * 0x2545f4914f6cdd1d
}

// The method below() returns a number in 0..n-1. n must be above zero.
func (r *Rand) below(n int) int {
	high, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(high)
}

// RandomLegal picks one of the actions that Legal lists for the first seat that
// owes a decision. All these actions are equally likely. At least one seat must
// owe a decision.
func (s *State) RandomLegal(rng *Rand) (seat uint8, a Action) {
	seat = s.randomLegal(rng, &a)
	return seat, a
}

func (s *State) randomLegal(rng *Rand, a *Action) (seat uint8) {
	kind, seats := s.owed()
	seat = uint8(bits.TrailingZeros8(seats))
	switch kind {
	case KindDiscard:
		*a = Action{Type: Discard, Giving: randomDiscard(rng, s.Hands[seat], s.surplus(seat))}
	case KindTrade:
		*a = Action{Type: Respond, Accept: s.Hands[seat].Covers(s.Offer.Get) && rng.below(2) == 1}
	default:
		var m menu
		s.list(&m, kind, seat)
		s.pick(&m, rng.below(m.total), a)
	}
	return seat
}

// randomDiscard draws n cards to discard. All choices are equally likely. It draws a
// count for each resource except the most frequent one, which must supply the
// remaining cards. If the hand does not allow that, randomDiscard draws again. If n
// is half the hand, this takes two tries on average.
func randomDiscard(rng *Rand, hand Cards, n int) Cards {
	top := 0
	for r := range hand {
		if hand[r] > hand[top] {
			top = r
		}
	}
	for {
		drop, rest := Cards{}, n
		for r := range hand {
			if r != top {
				drop[r] = uint16(rng.below(int(hand[r]) + 1))
				rest -= int(drop[r])
			}
		}
		if rest >= 0 && rest <= int(hand[top]) {
			drop[top] = uint16(rest)
			return drop
		}
	}
}

// Playout plays s to its end with random legal actions, without offers to other
// seats, and returns the number of actions. It allocates nothing.
func Playout(s *State, rng *Rand) (actions int) {
	var a Action
	for {
		for c, more := s.Next(); more; c, more = s.Next() {
			s.Apply(c)
		}
		if s.Over {
			return actions
		}
		seat := s.randomLegal(rng, &a)
		s.act(seat, &a)
		actions++
	}
}

// Ending returns the reason why a game ended. The game must be over.
func (s *State) Ending() EndReason { return s.reason }
