package game

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
)

// The variable rich is a game of four seats on seat 0's turn, in which seat 0 can do
// nearly everything.
//
// Seat 0 has a settlement on vertex 18 with roads 18-13-8 and 18-24, and a city on 47,
// which is a lumber port. Seat 1 has settlements on 30 and 20 with roads 30-35 and
// 20-25-31. Seat 2 has a city on 2 with a road.
var rich = after(newPlain(4),
	onTurn(0, 9),
	settlements(0, 18), cities(0, 47), roads(0, 8, 13, 18, 24),
	settlements(1, 30, 20), roads(1, 30, 35), roads(1, 20, 25, 31),
	cities(2, 2), roads(2, 2, 6),
	hand(0, Cards{4, 4, 4, 4, 4}), hand(1, Cards{1, 1, 1, 1, 1}), hand(2, Cards{0, 0, 0, 0, 3}),
	devs(0, DevCards{Knight: 1, VictoryPoint: 1, Roadworks: 1, Windfall: 1, Embargo: 1}),
)

const none = board.None

func road(v, w uint8) Action {
	return Action{Type: BuildRoad, Edges: [2]uint8{edgeBetween(v, w), none}}
}

func roadworks(edges ...uint8) Action {
	a := Action{Type: PlayRoadworks, Edges: [2]uint8{none, none}}
	copy(a.Edges[:], edges)
	return a
}

func offer(give, get Cards, to uint8) Action {
	return Action{Type: OfferTrade, Giving: give, Taking: get, To: to}
}

func times(n int, a Action, answers ...uint8) given {
	return func(s *State) {
		for range n {
			acted(s.Seat, a)(s)
			for _, seat := range answers {
				acted(seat, Action{Type: Respond})(s)
			}
		}
	}
}

var (
	someBrick = Cards{1, 0, 0, 0, 0}
	someOre   = Cards{0, 0, 0, 0, 1}
	anOffer   = offer(someBrick, someOre, none)

	asked     = after(rich, acted(0, anOffer))
	seven     = after(rich, hand(0, Cards{0, 0, 3, 0, 6}), rolled(0, 9, 3, 4))
	aDiscard  = Action{Type: Discard, Giving: Cards{0, 0, 2, 0, 2}}
	robbing   = after(seven, acted(0, aDiscard))
	setup     = after(newPlain(4), acted(0, Action{Type: Setup, Vertex: 18, Edges: [2]uint8{edgeBetween(18, 13), none}}))
	aSetup    = Action{Type: Setup, Vertex: 30, Edges: [2]uint8{edgeBetween(30, 24), none}}
	threeRich = func() State { s := rich; s.Seats = 3; return s }()
)

// ruleCase holds a state, an action that is legal in it, and a change to one of the
// two. After the change, the action breaks exactly one rule.
type ruleCase struct {
	name   string
	given  State
	seat   uint8
	legal  Action
	but    change
	reason string
}

type change struct {
	state  given
	action func(*Action)
}

func state(changes ...given) change {
	return change{state: func(s *State) { *s = after(*s, changes...) }}
}

func action(f func(*Action)) change { return change{action: f} }

var edge84, edge1823 = edgeBetween(8, 4), edgeBetween(18, 23)

// ruleCases has a case for every legality check.
var ruleCases = []ruleCase{
	{"an unknown type", rich, 0, Action{Type: EndTurn}, action(func(a *Action) { a.Type = Respond + 1 }), ReasonUnknownType},
	{"an answer to a decision of another kind", rich, 0, Action{Type: EndTurn}, action(func(a *Action) { a.Type = Respond }), ReasonNotOwed},
	{"another's turn", rich, 0, Action{Type: EndTurn}, state(onTurn(1, 9)), ReasonNotOwed},
	{"a game that is over", rich, 0, Action{Type: EndTurn}, state(func(s *State) { s.Over = true }), ReasonNotOwed},
	{"a consequence comes first", rich, 0, Action{Type: EndTurn}, state(roads(3, 0, 3, 7, 11, 16, 21)), ReasonNotOwed},

	{"setup off the board", setup, 1, aSetup, action(func(a *Action) { a.Vertex = 54 }), ReasonOutOfRange},
	{"setup without a vertex", setup, 1, aSetup, action(func(a *Action) { a.Vertex = none }), ReasonOutOfRange},
	{"setup with a road off the board", setup, 1, aSetup, action(func(a *Action) { a.Edges[0] = 72 }), ReasonOutOfRange},
	{"setup on a town", setup, 1, aSetup, state(settlements(2, 30)), ReasonVertexTaken},
	{"setup next to a town", setup, 1, aSetup, state(settlements(2, 24)), ReasonDistanceRule},
	{"setup with a road elsewhere", setup, 1, aSetup, action(func(a *Action) { a.Edges[0] = 0 }), ReasonRoadNotAtSettlement},

	{"a road off the board", rich, 0, road(8, 4), action(func(a *Action) { a.Edges[0] = 72 }), ReasonOutOfRange},
	{"a road on another's", rich, 0, road(8, 4), state(roads(3, 8, 4)), ReasonEdgeTaken},
	{"a road on one's own", rich, 0, road(8, 4), state(roads(0, 8, 4)), ReasonEdgeTaken},
	{"a road away from the network", rich, 0, road(8, 4), action(func(a *Action) { a.Edges[0] = edgeBetween(0, 3) }), ReasonRoadNotConnected},
	{"a road through a rival's town", rich, 0, road(8, 4), state(settlements(3, 8)), ReasonRoadBlocked},
	{"a sixteenth road", rich, 0, road(8, 4), state(roads(0, 21, 27, 33, 38, 43, 47, 51, 48, 52, 49, 53), roads(0, 50, 46), roads(0, 46, 42), noAward), ReasonNoRoadsLeft},
	{"a road without lumber", rich, 0, road(8, 4), state(hand(0, Cards{4, 0, 4, 4, 4})), ReasonNotEnoughCards},

	{"a settlement off the board", rich, 0, Action{Type: BuildSettlement, Vertex: 8}, action(func(a *Action) { a.Vertex = 54 }), ReasonOutOfRange},
	{"a settlement on a town", rich, 0, Action{Type: BuildSettlement, Vertex: 8}, state(settlements(3, 8)), ReasonVertexTaken},
	{"a settlement next to a town", rich, 0, Action{Type: BuildSettlement, Vertex: 8}, state(cities(3, 4)), ReasonDistanceRule},
	{"a settlement away from the roads", rich, 0, Action{Type: BuildSettlement, Vertex: 8}, action(func(a *Action) { a.Vertex = 38 }), ReasonSettlementNotConnected},
	{"a settlement at a rival's road", rich, 0, Action{Type: BuildSettlement, Vertex: 8}, action(func(a *Action) { a.Vertex = 31 }), ReasonSettlementNotConnected},
	{"a sixth settlement", rich, 0, Action{Type: BuildSettlement, Vertex: 8}, state(settlements(0, 0, 16, 33, 53)), ReasonNoSettlementsLeft},
	{"a settlement without wool", rich, 0, Action{Type: BuildSettlement, Vertex: 8}, state(hand(0, Cards{4, 4, 0, 4, 4})), ReasonNotEnoughCards},

	{"a city off the board", rich, 0, Action{Type: BuildCity, Vertex: 18}, action(func(a *Action) { a.Vertex = 54 }), ReasonOutOfRange},
	{"a city on nothing", rich, 0, Action{Type: BuildCity, Vertex: 18}, action(func(a *Action) { a.Vertex = 8 }), ReasonNotYourSettlement},
	{"a city on a rival's settlement", rich, 0, Action{Type: BuildCity, Vertex: 18}, action(func(a *Action) { a.Vertex = 30 }), ReasonNotYourSettlement},
	{"a city on a city", rich, 0, Action{Type: BuildCity, Vertex: 18}, action(func(a *Action) { a.Vertex = 47 }), ReasonNotYourSettlement},
	{"a fifth city", rich, 0, Action{Type: BuildCity, Vertex: 18}, state(noDev(VictoryPoint), cities(0, 0, 11, 33)), ReasonNoCitiesLeft},
	{"a city with two ore", rich, 0, Action{Type: BuildCity, Vertex: 18}, state(hand(0, Cards{4, 4, 4, 4, 2})), ReasonNotEnoughCards},

	{"a card from an empty deck", rich, 0, Action{Type: BuyDev}, state(func(s *State) { s.Deck = 0 }), ReasonDeckEmpty},
	{"a card without grain", rich, 0, Action{Type: BuyDev}, state(hand(0, Cards{4, 4, 4, 0, 4})), ReasonNotEnoughCards},

	{"a knight that the seat does not hold", rich, 0, knight(8, none), state(noDev(Knight)), ReasonNoDevCard},
	{"a knight bought this turn", rich, 0, knight(8, none), state(noDev(Knight), bought(0, DevCards{Knight: 1})), ReasonDevBoughtThisTurn},
	{"a knight as a second card", rich, 0, knight(8, none), state(acted(0, Action{Type: PlayWindfall, Taking: Cards{2}})), ReasonDevAlreadyPlayed},
	{"a knight off the board", rich, 0, knight(8, none), action(func(a *Action) { a.Hex = 19 }), ReasonOutOfRange},
	{"a knight that leaves the bandit on its hex", rich, 0, knight(8, none), state(bandit(8)), ReasonBanditMustMove},
	{"a knight that robs beyond the seats", rich, 0, knight(8, none), action(func(a *Action) { a.Victim = 4 }), ReasonOutOfRange},
	{"a knight that robs itself", rich, 0, knight(8, none), action(func(a *Action) { a.Victim = 0 }), ReasonVictimSelf},
	{"a knight that robs from afar", rich, 0, knight(14, 1), action(func(a *Action) { a.Hex = 0 }), ReasonVictimNotOnHex},
	{"a knight that robs a seat that does not play", threeRich, 0, knight(8, none), action(func(a *Action) { a.Victim = 3 }), ReasonVictimNotPlaying},

	{"roadworks that the seat does not hold", rich, 0, roadworks(edge84), state(noDev(Roadworks)), ReasonNoDevCard},
	{"roadworks bought this turn", rich, 0, roadworks(edge84), state(noDev(Roadworks), bought(0, DevCards{Roadworks: 1})), ReasonDevBoughtThisTurn},
	{"roadworks as a second card", rich, 0, roadworks(edge84), state(acted(0, Action{Type: PlayWindfall, Taking: Cards{2}})), ReasonDevAlreadyPlayed},
	{"roadworks without an edge", rich, 0, roadworks(edge84), action(func(a *Action) { a.Edges[0] = none }), ReasonEdgeCount},
	{"roadworks off the board", rich, 0, roadworks(edge84), action(func(a *Action) { a.Edges[0] = 72 }), ReasonOutOfRange},
	{"roadworks off the board, second", rich, 0, roadworks(edge84, edge1823), action(func(a *Action) { a.Edges[1] = 72 }), ReasonOutOfRange},
	{"roadworks on one edge twice", rich, 0, roadworks(edge84, edge1823), action(func(a *Action) { a.Edges[1] = edge84 }), ReasonDuplicateEdge},
	{"roadworks on a taken edge", rich, 0, roadworks(edge84), state(roads(3, 8, 4)), ReasonEdgeTaken},
	{"roadworks on a taken edge, second", rich, 0, roadworks(edge84, edge1823), state(roads(3, 18, 23)), ReasonEdgeTaken},
	{"roadworks away from the network", rich, 0, roadworks(edge84), action(func(a *Action) { a.Edges[0] = 71 }), ReasonRoadNotConnected},
	{"roadworks away from the network, second", rich, 0, roadworks(edge84, edge1823), action(func(a *Action) { a.Edges[1] = 71 }), ReasonRoadNotConnected},
	{"roadworks in the wrong order", rich, 0, roadworks(edge84, edgeBetween(4, 0)), action(func(a *Action) { a.Edges[0], a.Edges[1] = a.Edges[1], a.Edges[0] }), ReasonRoadNotConnected},
	{"roadworks through a rival's town", rich, 0, roadworks(edge84), state(settlements(3, 8)), ReasonRoadBlocked},
	{"roadworks through a rival's town, second", rich, 0, roadworks(edge84, edgeBetween(4, 0)), state(settlements(3, 4)), ReasonRoadBlocked},
	{"roadworks with no road left", rich, 0, roadworks(edge84), state(roads(0, 21, 27, 33, 38, 43, 47, 51, 48, 52, 49, 53), roads(0, 50, 46), roads(0, 46, 42), noAward), ReasonNoRoadsLeft},
	{"two roadworks with one road left", rich, 0, roadworks(edge84, edge1823), state(roads(0, 21, 27, 33, 38, 43, 47, 51, 48, 52, 49, 53), roads(0, 50, 46), noAward), ReasonNoRoadsLeft},

	{"a windfall that the seat does not hold", rich, 0, windfall(Cards{1, 0, 1}), state(noDev(Windfall)), ReasonNoDevCard},
	{"a windfall bought this turn", rich, 0, windfall(Cards{1, 0, 1}), state(noDev(Windfall), bought(0, DevCards{Windfall: 1})), ReasonDevBoughtThisTurn},
	{"a windfall as a second card", rich, 0, windfall(Cards{1, 0, 1}), state(acted(0, knight(8, none))), ReasonDevAlreadyPlayed},
	{"a windfall of one card", rich, 0, windfall(Cards{1, 0, 1}), action(func(a *Action) { a.Taking = Cards{1} }), ReasonWindfallCount},
	{"a windfall of three cards", rich, 0, windfall(Cards{1, 0, 1}), action(func(a *Action) { a.Taking = Cards{3} }), ReasonWindfallCount},

	{"an embargo that the seat does not hold", rich, 0, embargo(board.Wool), state(noDev(Embargo)), ReasonNoDevCard},
	{"an embargo bought this turn", rich, 0, embargo(board.Wool), state(noDev(Embargo), bought(0, DevCards{Embargo: 1})), ReasonDevBoughtThisTurn},
	{"an embargo as a second card", rich, 0, embargo(board.Wool), state(acted(0, knight(8, none))), ReasonDevAlreadyPlayed},
	{"an embargo on the desert", rich, 0, embargo(board.Wool), action(func(a *Action) { a.Get = board.Desert }), ReasonUnknownResource},

	{"a bank trade that gives an unknown resource", rich, 0, bankTrade(board.Brick, board.Ore), action(func(a *Action) { a.Give = board.Desert }), ReasonUnknownResource},
	{"a bank trade that gets an unknown resource", rich, 0, bankTrade(board.Brick, board.Ore), action(func(a *Action) { a.Get = 9 }), ReasonUnknownResource},
	{"a bank trade of a resource for itself", rich, 0, bankTrade(board.Brick, board.Ore), action(func(a *Action) { a.Get = board.Brick }), ReasonSameResource},
	{"a bank trade of three cards", rich, 0, bankTrade(board.Brick, board.Ore), state(hand(0, Cards{3, 4, 4, 4, 4})), ReasonNotEnoughCards},
	{"a bank trade of one card at 2:1", rich, 0, bankTrade(board.Lumber, board.Ore), state(hand(0, Cards{4, 1, 4, 4, 4})), ReasonNotEnoughCards},

	{"a sixth offer", after(rich, times(4, anOffer, 1, 2, 3)), 0, anOffer, state(times(1, anOffer, 1, 2, 3)), ReasonTooManyOffers},
	{"an offer that gives nothing", rich, 0, anOffer, action(func(a *Action) { a.Giving = Cards{} }), ReasonEmptySide},
	{"an offer that gets nothing", rich, 0, anOffer, action(func(a *Action) { a.Taking = Cards{} }), ReasonEmptySide},
	{"an offer to oneself", rich, 0, anOffer, action(func(a *Action) { a.To = 0 }), ReasonOfferToSelf},
	{"an offer beyond the seats", rich, 0, anOffer, action(func(a *Action) { a.To = 4 }), ReasonOutOfRange},
	{"an offer to a seat that does not play", threeRich, 0, anOffer, action(func(a *Action) { a.To = 3 }), ReasonToNotPlaying},
	{"an offer of cards that the seat does not hold", rich, 0, anOffer, action(func(a *Action) { a.Giving = Cards{5} }), ReasonNotEnoughCards},
	{"a turn while an offer is open", rich, 0, Action{Type: EndTurn}, state(acted(0, anOffer)), ReasonNotOwed},

	{"accepting without the cards", asked, 1, Action{Type: Respond, Accept: true}, state(hand(1, Cards{9, 9, 9, 9, 0})), ReasonNotEnoughCards},
	{"answering twice", asked, 1, Action{Type: Respond}, state(acted(1, Action{Type: Respond})), ReasonNotOwed},
	{"answering without having been asked", asked, 1, Action{Type: Respond}, state(func(s *State) { s.Offer.Asked = 0b1100 }), ReasonNotOwed},

	{"a discard of too few", seven, 0, aDiscard, action(func(a *Action) { a.Giving = Cards{0, 0, 2, 0, 1} }), ReasonDiscardCount},
	{"a discard of too many", seven, 0, aDiscard, action(func(a *Action) { a.Giving = Cards{0, 0, 2, 0, 3} }), ReasonDiscardCount},
	{"a discard of cards that the seat does not hold", seven, 0, aDiscard, action(func(a *Action) { a.Giving = Cards{0, 0, 4, 0, 0} }), ReasonNotEnoughCards},
	{"a discard twice", seven, 0, aDiscard, state(acted(0, aDiscard)), ReasonNotOwed},
	{"the bandit before the discards", robbing, 0, Action{Type: MoveBandit, Hex: 3, Victim: none}, state(func(s *State) { *s = seven }), ReasonNotOwed},

	{"a bandit off the board", robbing, 0, moveBandit(14, 1), action(func(a *Action) { a.Hex = 19 }), ReasonOutOfRange},
	{"a bandit that stays", robbing, 0, moveBandit(14, 1), state(bandit(14)), ReasonBanditMustMove},
	{"a bandit that robs beyond the seats", robbing, 0, moveBandit(14, 1), action(func(a *Action) { a.Victim = 4 }), ReasonOutOfRange},
	{"a bandit that robs itself", robbing, 0, moveBandit(4, none), action(func(a *Action) { a.Victim = 0 }), ReasonVictimSelf},
	{"a bandit that robs from afar", robbing, 0, moveBandit(14, 1), action(func(a *Action) { a.Victim = 2 }), ReasonVictimNotOnHex},
}

func TestEachRuleIsChecked(t *testing.T) {
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.given.Check(c.seat, c.legal), "without the change the action is legal")
			s, a := c.given, c.legal
			if c.but.state != nil {
				c.but.state(&s)
			} else {
				c.but.action(&a)
			}
			before := s
			err := s.Check(c.seat, a)
			var broken *Illegal
			require.ErrorAs(t, err, &broken, "the action is still legal with the change")
			require.Equal(t, c.reason, broken.Reason, broken.Message)
			require.Equal(t, before, s, "Check changes nothing")
		})
	}
}

// TestEveryReasonHasACase reads the list of reasons from its source file. Only a
// decoder finds the three reasons listed here, and the decoder's own tests cover
// them.
func TestEveryReasonHasACase(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	require.NoError(t, err)
	covered := map[string]bool{ReasonNegativeCount: true, ReasonTalkTooLong: true, ReasonTalkTwice: true}
	for _, c := range ruleCases {
		covered[c.reason] = true
	}
	reasons := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		require.False(t, reasons[reason], "two rules use %s", reason)
		require.True(t, covered[reason], "%s has no case", reason)
		reasons[reason] = true
		return true
	})
	require.Len(t, reasons, len(covered))
}

// noAward gives the longest road award to its rightful holder, so that no consequence
// moves the award.
func noAward(s *State) {
	s.Holders[LongestRoad] = s.rightful(LongestRoad)
	s.contest()
}

func noDev(card DevCard) given {
	return func(s *State) {
		s.DevCounts[0] -= s.Devs[0][card]
		s.Devs[0][card] = 0
	}
}

func knight(hex, victim uint8) Action { return Action{Type: PlayKnight, Hex: hex, Victim: victim} }

func moveBandit(hex, victim uint8) Action {
	return Action{Type: MoveBandit, Hex: hex, Victim: victim}
}

func windfall(take Cards) Action { return Action{Type: PlayWindfall, Taking: take} }

func embargo(r board.Resource) Action { return Action{Type: PlayEmbargo, Get: r} }

func bankTrade(give, get board.Resource) Action {
	return Action{Type: BankTrade, Give: give, Get: get}
}

// TestActionsThatLookIllegalAreLegal covers actions that look illegal but are
// legal.
func TestActionsThatLookIllegalAreLegal(t *testing.T) {
	for _, c := range []struct {
		name   string
		given  State
		seat   uint8
		action Action
	}{
		{"a knight without a victim on a hex with towns", rich, 0, knight(14, none)},
		{"a knight that robs a seat without cards", after(rich, hand(1, Cards{})), 0, knight(14, 1)},
		{"a bandit to the desert", after(robbing, bandit(3)), 0, moveBandit(18, none)},
		{"one road of roadworks although two were possible", rich, 0, roadworks(edgeBetween(8, 4))},
		{"the second road of roadworks continues the first", rich, 0, roadworks(edgeBetween(8, 4), edgeBetween(4, 0))},
		{"an embargo on what nobody holds", after(rich, hand(1, Cards{}), hand(2, Cards{})), 0, embargo(board.Brick)},
		{"a windfall of two alike", rich, 0, windfall(Cards{2})},
		{"an offer of brick for brick", rich, 0, offer(Cards{2}, Cards{1}, none)},
		{"an offer that nobody can pay", rich, 0, offer(someBrick, Cards{0, 0, 0, 0, 65535}, none)},
		{"an offer to one seat", rich, 0, offer(someBrick, someOre, 3)},
		{"a road that ends at a rival's town", rich, 0, road(24, 30)},
		{"a bank trade at 2:1", after(rich, hand(0, Cards{0, 2})), 0, bankTrade(board.Lumber, board.Ore)},
		{"a card bought after one was played", after(rich, acted(0, windfall(Cards{2}))), 0, Action{Type: BuyDev}},
		{"a settlement right after a city gave one back", after(rich, settlements(0, 0, 16, 33, 53), acted(0, Action{Type: BuildCity, Vertex: 18})), 0, Action{Type: BuildSettlement, Vertex: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.given.Check(c.seat, c.action))
		})
	}
}
