package game

import (
	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// The limits of docs/rules.md.
const (
	PointsToWin    = 10
	MaxOffers      = 5    // in one turn
	HandLimit      = 7    // on a roll of 7, seats with more cards must discard
	StalemateTurns = 60   // the game ends after this many turns without a change of any true score
	MaxTurns       = 1000 // the game ends after this many turns
)

// step says what the game waits for once all consequences are applied. An open offer
// interrupts a turn without changing the step.
type step uint8

const (
	stepSetup step = iota
	stepRoll       // the next turn is about to begin
	stepDiscard
	stepBandit
	stepTurn
)

// State is a whole game, with hands, the deck and the random draws. It is a
// value without pointers. New makes one.
type State struct {
	Public
	Hands        [MaxSeats]Cards
	Devs, Bought [MaxSeats]DevCards // Devs holds the cards from earlier turns; Bought holds the cards bought this turn

	step       step
	discarding uint8       // one bit for each seat that owes a discard
	devPlayed  bool        // whether the seat on turn has played a development card this turn
	offers     uint8       // made this turn
	due        Consequence // the robbery or trade that Next returns if isDue is set
	isDue      bool
	contested  bool      // whether an award must change its holder
	scored     uint16    // the turn of the last change of any true score
	reason     EndReason // set once the game is over

	seed   seed.Seed
	deck   [DeckSize]uint8
	dice   seed.Stream
	ahead  [2]uint8 // the next roll
	steals seed.Stream
}

// New returns a game of 3 or 4 seats before its first placement. The seed
// determines all of its randomness.
func New(s seed.Seed, seats int) State {
	state := State{Public: NewPublic(seats, s.Layout()), seed: s}
	i := 0
	for card, n := range deckCounts {
		for range n {
			state.deck[i] = uint8(card)
			i++
		}
	}
	s.ShuffleDeck(state.deck[:])
	state.rollAhead()
	return state
}

func (s *State) rollAhead() {
	for i := range s.ahead {
		s.ahead[i] = 1 + uint8(s.dice.Uniform(&s.seed, seed.Dice, 6))
	}
}

// Owed returns the kind of the decisions owed, and one bit for each seat that
// owes one. No seat owes a decision while Next has a consequence, or when the
// game is over.
func (s *State) Owed() (kind Kind, seats uint8) {
	if _, more := s.Next(); more || s.Over {
		return 0, 0
	}
	return s.owed()
}

func (s *State) owed() (Kind, uint8) {
	switch {
	case s.Offer.Open:
		return KindTrade, s.Offer.Asked &^ s.Offer.Answered
	case s.step == stepSetup:
		return KindSetup, 1 << s.Seat
	case s.step == stepDiscard:
		return KindDiscard, s.discarding
	case s.step == stepBandit:
		return KindBandit, 1 << s.Seat
	default:
		return KindTurn, 1 << s.Seat
	}
}

// Offers returns the number of offers made this turn.
func (s *State) Offers() int { return int(s.offers) }

// TrueScore returns a seat's points, including hidden ones.
func (s *State) TrueScore(seat uint8) int {
	return s.Score(seat) + int(s.Devs[seat][VictoryPoint]+s.Bought[seat][VictoryPoint])
}

// Placements returns the final position of each seat of a game that is over: 1 is the
// best. Tied seats share a place, and the following places are skipped, as in 1, 2,
// 2, 4. A seat that does not play has 0. The winner is first, even if another seat
// has more points.
func (s *State) Placements() [MaxSeats]uint8 {
	var rank [MaxSeats]int
	for seat := range s.Seats {
		rank[seat] = s.TrueScore(seat)
	}
	if s.reason == Win {
		rank[s.Seat] = 1 << 10
	}
	var places [MaxSeats]uint8
	for seat := range s.Seats {
		places[seat] = 1
		for other := range s.Seats {
			if rank[other] > rank[seat] {
				places[seat]++
			}
		}
	}
	return places
}

// Default returns the action that the engine plays for a seat that fails to decide
// (docs/rules.md).
func (s *State) Default(seat uint8) Action {
	switch kind, _ := s.owed(); kind {
	case KindSetup:
		v := s.openVertices().First()
		return Action{Type: Setup, Vertex: v, Edges: [2]uint8{board.VertexEdges[v][0], board.None}}
	case KindDiscard:
		return Action{Type: Discard, Giving: s.largest(seat, s.surplus(seat))}
	case KindBandit:
		hex := uint8(0)
		if s.Bandit == 0 {
			hex = 1
		}
		return Action{Type: MoveBandit, Hex: hex, Victim: board.None}
	case KindTrade:
		return Action{Type: Respond}
	default:
		return Action{Type: EndTurn}
	}
}

// surplus returns how many cards a seat must discard.
func (s *State) surplus(seat uint8) int { return int(s.HandCounts[seat]) / 2 }

// The method largest() chooses n cards of a hand one by one, each from the pile that is
// the largest at that point. If several piles are equally large, it chooses the first
// one in the order of resources.
func (s *State) largest(seat uint8, n int) Cards {
	hand, taken := s.Hands[seat], Cards{}
	for range n {
		top := 0
		for r := range hand {
			if hand[r] > hand[top] {
				top = r
			}
		}
		hand[top]--
		taken[top]++
	}
	return taken
}
