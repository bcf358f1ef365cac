package game

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
)

// TestLegalIsExactlyWhatCheckAllows compares Legal with Check for every
// possible action, in many states of random games.
func TestLegalIsExactlyWhatCheckAllows(t *testing.T) {
	candidates := everyAction()
	seen := map[Type]int{}
	for game := range 16 {
		rng := NewRand(uint64(game))
		s := New(randomSeed(&rng), 3+game%2)
		for step := 0; !s.Over; step++ {
			settleAll(&s)
			if s.Over {
				break
			}
			seat, a := s.RandomLegal(&rng)
			if s.Devs[seat][Roadworks] > 0 && !s.devPlayed || step%37 == game%37 || step < 2 {
				requireSameAsCheck(t, &s, seat, candidates, seen)
			}
			s.Act(seat, a)
		}
	}
	for _, kind := range []Type{
		Setup, BuildRoad, BuildSettlement, BuildCity, BuyDev, PlayKnight, PlayRoadworks,
		PlayWindfall, PlayEmbargo, BankTrade, EndTurn, Discard, MoveBandit,
	} {
		require.NotZero(t, seen[kind], "no %v was compared", kind)
	}
}

func requireSameAsCheck(t *testing.T, s *State, seat uint8, candidates []Action, seen map[Type]int) {
	t.Helper()
	legal := map[Action]bool{}
	for _, a := range s.Legal(nil, seat) {
		require.NoError(t, s.Check(seat, a), "%+v", a)
		require.False(t, legal[a], "listed twice: %+v", a)
		legal[a] = true
		seen[a.Type]++
	}
	require.NotEmpty(t, legal)
	for _, a := range candidates {
		require.Equal(t, legal[a], s.Check(seat, a) == nil, "%+v", a)
	}
	for _, a := range discardsAround(s, seat) {
		require.Equal(t, legal[a], s.Check(seat, a) == nil, "%+v", a)
	}
}

// everyAction lists all actions except offers and discards. Its actions leave unused
// fields absent.
func everyAction() (all []Action) {
	add := func(t Type, fill func(*Action)) {
		a := Action{Type: t, Vertex: none, Edges: [2]uint8{none, none}, Hex: none, Victim: none, To: none}
		fill(&a)
		all = append(all, a)
	}
	for v := range uint8(board.Vertices + 1) {
		for e := range uint8(board.Edges + 1) {
			add(Setup, func(a *Action) { a.Vertex, a.Edges[0] = v, e })
		}
		add(BuildSettlement, func(a *Action) { a.Vertex = v })
		add(BuildCity, func(a *Action) { a.Vertex = v })
	}
	for e := range uint8(board.Edges + 1) {
		add(BuildRoad, func(a *Action) { a.Edges[0] = e })
		add(PlayRoadworks, func(a *Action) { a.Edges[0] = e })
		for second := range uint8(board.Edges + 1) {
			add(PlayRoadworks, func(a *Action) { a.Edges = [2]uint8{e, second} })
		}
	}
	for h := range uint8(board.Hexes + 1) {
		for _, victim := range []uint8{none, 0, 1, 2, 3, 4} {
			add(PlayKnight, func(a *Action) { a.Hex, a.Victim = h, victim })
			add(MoveBandit, func(a *Action) { a.Hex, a.Victim = h, victim })
		}
	}
	for _, cards := range cardsUpTo(Cards{3, 3, 3, 3, 3}) {
		add(PlayWindfall, func(a *Action) { a.Taking = cards })
	}
	for r := range board.Resource(board.Resources + 2) {
		add(PlayEmbargo, func(a *Action) { a.Get = r })
		for get := range board.Resource(board.Resources + 2) {
			add(BankTrade, func(a *Action) { a.Give, a.Get = r, get })
		}
	}
	add(BuyDev, func(*Action) {})
	add(EndTurn, func(*Action) {})
	return all
}

func cardsUpTo(most Cards) (all []Cards) {
	var c Cards
	for c[0] = 0; c[0] <= most[0]; c[0]++ {
		for c[1] = 0; c[1] <= most[1]; c[1]++ {
			for c[2] = 0; c[2] <= most[2]; c[2]++ {
				for c[3] = 0; c[3] <= most[3]; c[3]++ {
					for c[4] = 0; c[4] <= most[4]; c[4]++ {
						all = append(all, c)
					}
				}
			}
		}
	}
	return all
}

// discardsAround lists discards of every size, each with at most one more card of a
// resource than the hand holds. It returns nil for a large hand, because the list
// would be too long.
func discardsAround(s *State, seat uint8) (all []Action) {
	if s.step != stepDiscard || s.HandCounts[seat] > 16 {
		return nil
	}
	for _, cards := range cardsUpTo(s.Hands[seat].Plus(Cards{1, 1, 1, 1, 1})) {
		all = append(all, Action{Type: Discard, Giving: cards})
	}
	return all
}

// TestRandomLegalPicksAll checks that RandomLegal returns all legal actions
// about equally often.
func TestRandomLegalPicksAll(t *testing.T) {
	for name, s := range map[string]State{
		"turn":    after(rich, hand(0, Cards{4, 4, 1, 1, 0})),
		"setup":   newPlain(3),
		"discard": after(rich, hand(0, Cards{1, 0, 3, 2, 6}), rolled(0, 9, 3, 4)),
		"bandit":  robbing,
		"trade":   asked,
	} {
		t.Run(name, func(t *testing.T) {
			rng, counts := NewRand(5), map[Action]int{}
			_, seats := s.Owed()
			first := uint8(0)
			for seats>>first&1 == 0 {
				first++
			}
			legal := s.Legal(nil, first)
			const each = 400
			for range each * len(legal) {
				seat, a := s.RandomLegal(&rng)
				require.Equal(t, first, seat)
				counts[a]++
			}
			require.Len(t, counts, len(legal))
			for _, a := range legal {
				require.InDelta(t, each, counts[a], each/3, "%+v", a)
			}
		})
	}
}

func TestLegalOfASeatThatOwesNothing(t *testing.T) {
	require.Empty(t, rich.Legal(nil, 1))
}

// TestLegalTrade checks that Legal lists accepting a trade only if the hand
// covers it.
func TestLegalTrade(t *testing.T) {
	require.Len(t, asked.Legal(nil, 1), 2)
	poor := after(asked, hand(1, Cards{}))
	require.Equal(t, []Action{{Type: Respond}}, poor.Legal(nil, 1))
}
