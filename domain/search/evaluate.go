package search

import (
	"math"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// The features of a seat in a game. Their weights come from a regression over matches of
// the search bot against itself (weights.go).
const (
	points         = iota
	pointsNear     // points above 7
	incomeCards    // cards per roll
	speedExpand    // 1 / rolls for a road and a settlement, from an empty hand
	speedCity      // the same for a city
	speedDev       // the same for a development card
	speedRoad      // the same for a road
	nextExpand     // how soon the cards for a settlement and the roads to it are complete
	nextCity       // how soon the cards for a city are complete
	nextDev        // how soon the cards for a development card are complete
	handCards      // cards in the hand, up to the limit
	handExcess     // cards above the limit
	knightsHeld    // unplayed
	othersHeld     // other cards that can be played
	knightsPlayed  // up to 5
	armyLead       // over the strongest rival
	roadLead       // over the longest road of a rival
	roadLength     // up to 8
	holdsRoad      // an award can be lost
	holdsArmy      // an award can be lost
	spotNow        // worth of the best place for a settlement without more roads
	spotOne        // the same with one more road
	spotTwo        // the same with two more roads
	spotCount      // places within two roads
	variety        // resources with an income
	banditLoss     // cards per roll that the bandit takes away
	ports          // income times the gain of better rates
	cityRoom       // settlements that can become cities
	scarceMin      // the lowest income of a resource
	settlementRoom // settlements left
	featureCount
)

type features [featureCount]float64

var costs = [...]game.Cards{
	buildRoad:   {board.Brick: 1, board.Lumber: 1},
	buildExpand: {board.Brick: 2, board.Lumber: 2, board.Wool: 1, board.Grain: 1},
	buildTown:   {board.Brick: 1, board.Lumber: 1, board.Wool: 1, board.Grain: 1},
	buildCity:   {board.Grain: 2, board.Ore: 3},
	buyDev:      {board.Wool: 1, board.Grain: 1, board.Ore: 1},
	expandTwo:   {board.Brick: 3, board.Lumber: 3, board.Wool: 1, board.Grain: 1},
}

const (
	buildRoad = iota
	buildExpand
	buildTown
	buildCity
	buyDev
	expandTwo
)

// never is a number of rolls that no game lasts.
const never = 80

// wait returns how many rolls it takes on average until a hand and its income pay for a
// cost, if spare cards go to the bank. The balance of cards is a concave function of the
// rolls that consists of straight lines. So Newton's method finds its zero in a few steps.
func wait(hand *game.Cards, in *rates, bank *rates, cost *game.Cards) (rolls float64) {
	for range 2 * board.Resources {
		balance, gain := 0.0, 0.0
		for r := range cost {
			n, more := float64(hand[r])+in[r]*rolls-float64(cost[r]), in[r]
			if n > -1e-9 {
				n, more = n*bank[r], more*bank[r]
			}
			balance += n
			gain += more
		}
		if balance >= -1e-9 {
			break
		}
		if rolls -= balance / gain; !(rolls < never) { // also if there is no income
			return never
		}
	}
	return rolls
}

// measure returns the features of a seat.
func (i *island) measure(g *game.State, seat uint8) (f features) {
	all, lost := i.income(g, seat)
	var in, bank rates
	for r := range all {
		bank[r] = 1 / float64(g.Rate(seat, board.Resource(r)))
		in[r] = max(0, all[r]-0.4*lost[r])
		f[incomeCards] += in[r]
		f[banditLoss] += lost[r]
		f[ports] += all[r] * (bank[r] - 0.25)
		f[variety] += min(1, all[r]*9)
	}
	f[scarceMin] = min(in[0], in[1], in[2], in[3], in[4])
	f[points] = float64(g.TrueScore(seat))
	f[pointsNear] = max(0, f[points]-7)
	i.measureSpots(g, seat, &f)
	i.measureSpeed(g, seat, &in, &bank, &f)
	measureCards(g, seat, &f)
	measureAwards(g, seat, &f)
	return f
}

// speed turns a number of rolls into a measure of speed.
func speed(rolls float64) float64 { return 10 / (4 + rolls) }

// soon turns a number of rolls into a number from 1 (now) to 0 (never).
func soon(rolls float64) float64 { return math.Exp2(rolls / -8) }

// speedEntry caches the speeds of a seat with an empty hand. They depend only on its towns
// and on the bandit.
type speedEntry struct {
	settlements, cities board.VertexSet
	bandit              uint8
	speeds              [4]float64
}

func (i *island) speeds(g *game.State, seat uint8, in, bank *rates) (expand, city, dev, road float64) {
	key := speedEntry{settlements: g.Settlements[seat], cities: g.Cities[seat], bandit: g.Bandit}
	hash := (uint64(key.settlements)*0x9e3779b97f4a7c15 ^ uint64(key.cities)*0xbf58476d1ce4e5b9 ^ uint64(key.bandit)*0x94d049bb133111eb) >> 54
	e := &i.cache[hash]
	if e.settlements != key.settlements || e.cities != key.cities || e.bandit != key.bandit {
		var empty game.Cards
		for k, cost := range [...]*game.Cards{&costs[buildExpand], &costs[buildCity], &costs[buyDev], &costs[buildRoad]} {
			key.speeds[k] = speed(wait(&empty, in, bank, cost))
		}
		*e = key
	}
	return e.speeds[0], e.speeds[1], e.speeds[2], e.speeds[3]
}

func (i *island) measureSpeed(g *game.State, seat uint8, in, bank *rates, f *features) {
	f[speedExpand], f[speedCity], f[speedDev], f[speedRoad] = i.speeds(g, seat, in, bank)
	hand := &g.Hands[seat]
	if room := game.MaxSettlements - g.Settlements[seat].Len(); room > 0 {
		f[settlementRoom] = min(2, float64(room))
		switch {
		case f[spotNow] > 0:
			f[nextExpand] = soon(wait(hand, in, bank, &costs[buildTown]))
		case f[spotOne] > 0:
			f[nextExpand] = soon(wait(hand, in, bank, &costs[buildExpand]))
		case f[spotTwo] > 0:
			f[nextExpand] = soon(wait(hand, in, bank, &costs[expandTwo]))
		}
	}
	f[cityRoom] = float64(min(g.Settlements[seat].Len(), game.MaxCities-g.Cities[seat].Len()))
	if f[cityRoom] > 0 {
		f[nextCity] = soon(wait(hand, in, bank, &costs[buildCity]))
	}
	f[cityRoom] = min(2, f[cityRoom])
	if g.Deck > 0 {
		f[nextDev] = soon(wait(hand, in, bank, &costs[buyDev]))
	}
}

// measureSpots looks for places for settlements that the seat reaches with at most two
// more roads.
func (i *island) measureSpots(g *game.State, seat uint8, f *features) {
	open := g.OpenVertices()
	now := g.SettlementSpots(seat)
	one := beyond(g, seat) &^ now
	var two board.VertexSet
	rivals, roads := rivals(g, seat), roads(g)
	for from := one &^ rivals; from != 0; from = from.Rest() {
		v := from.First()
		for k, e := range board.VertexEdges[v] {
			if e != board.None && !roads.Has(e) {
				two = two.With(board.VertexVertices[v][k])
			}
		}
	}
	one &= open
	two = two & open &^ (now | one)
	f[spotNow] = i.best(now)
	f[spotOne] = max(f[spotNow], i.best(one))
	f[spotTwo] = max(f[spotOne], i.best(two))
	f[spotCount] = min(4, float64(now.Len())+float64(one.Len())+0.5*float64(two.Len()))
}

// beyond returns the vertices that one more road would reach.
func beyond(g *game.State, seat uint8) (set board.VertexSet) {
	for spots := g.RoadSpots(seat); !spots.Empty(); spots = spots.Rest() {
		ends := board.EdgeVertices[spots.First()]
		set = set.With(ends[0]).With(ends[1])
	}
	return set
}

func rivals(g *game.State, seat uint8) (towns board.VertexSet) {
	for other := range g.Seats {
		if other != seat {
			towns |= g.Towns(other)
		}
	}
	return towns
}

func roads(g *game.State) (all board.EdgeSet) {
	for seat := range g.Seats {
		all = all.Union(g.Roads[seat])
	}
	return all
}

func (i *island) best(spots board.VertexSet) (most float64) {
	for ; spots != 0; spots = spots.Rest() {
		most = max(most, i.worth[spots.First()])
	}
	return most
}

func measureCards(g *game.State, seat uint8, f *features) {
	hand := float64(g.Hands[seat].Total())
	f[handCards] = min(hand, game.HandLimit)
	f[handExcess] = min(6, max(0, hand-game.HandLimit))
	devs, bought := &g.Devs[seat], &g.Bought[seat]
	f[knightsHeld] = min(3, float64(devs[game.Knight]+bought[game.Knight]))
	for card := game.Roadworks; card <= game.Embargo; card++ {
		f[othersHeld] += float64(devs[card] + bought[card])
	}
}

func measureAwards(g *game.State, seat uint8, f *features) {
	knights, road := 0, 0
	for other := range g.Seats {
		if other != seat {
			knights = max(knights, int(g.Knights[other]))
			road = max(road, g.RoadLength(other))
		}
	}
	f[knightsPlayed] = min(5, float64(g.Knights[seat]))
	f[roadLength] = min(8, float64(g.RoadLength(seat)))
	f[armyLead] = clamp(float64(int(g.Knights[seat])-max(knights, 2)), -3, 2)
	f[roadLead] = clamp(float64(g.RoadLength(seat)-max(road, 4)), -4, 3)
	if g.Holders[game.LongestRoad] == seat {
		f[holdsRoad] = 1
	}
	if g.Holders[game.LargestArmy] == seat {
		f[holdsArmy] = 1
	}
}

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }

// strength returns the weighted sum of a seat's features.
func (i *island) strength(g *game.State, seat uint8) (sum float64) {
	f := i.measure(g, seat)
	for k, x := range f {
		sum += i.weights[k] * x
	}
	return sum
}

// won is more than any value of a game that is not over.
const won = 100

// strengths returns the strength of each seat.
func (i *island) strengths(g *game.State) (all [game.MaxSeats]float64) {
	for seat := range g.Seats {
		all[seat] = i.strength(g, seat)
	}
	return all
}

// odds turns strengths into the logarithm of the odds that a seat wins.
func odds(all *[game.MaxSeats]float64, seats, me uint8) float64 {
	others := 0.0
	for seat := range seats {
		if seat != me {
			others += math.Exp(all[seat] - all[me])
		}
	}
	return -math.Log(others)
}

// value returns the logarithm of the odds that a seat wins the game, as far as the
// features show.
func (i *island) value(g *game.State, me uint8) float64 {
	if g.Turn > 0 && g.Seat == me && g.TrueScore(me) >= game.PointsToWin {
		return won
	}
	all := i.strengths(g)
	return odds(&all, g.Seats, me)
}
