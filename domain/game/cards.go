package game

import (
	"strconv"
	"strings"

	"hexarena/domain/board"
)

// Cards counts cards by resource: a hand, or one side of a trade. The bank is
// infinite, but 16 bits are enough for any hand. A game has at most 1000 turns, and a
// roll pays at most 12 cards: two hexes with three cities each, and two cards for
// each city.
type Cards [board.Resources]uint16

// The costs of pieces and development cards.
var (
	roadCost       = Cards{board.Brick: 1, board.Lumber: 1}
	settlementCost = Cards{board.Brick: 1, board.Lumber: 1, board.Wool: 1, board.Grain: 1}
	cityCost       = Cards{board.Grain: 2, board.Ore: 3}
	devCost        = Cards{board.Wool: 1, board.Grain: 1, board.Ore: 1}
)

// Total returns the number of cards in c.
func (c Cards) Total() int {
	return int(c[0]) + int(c[1]) + int(c[2]) + int(c[3]) + int(c[4])
}

// Covers reports whether c has at least as many cards of each resource as d.
func (c Cards) Covers(d Cards) bool { return c.covers(&d) }

func (c *Cards) covers(d *Cards) bool {
	return c[0] >= d[0] && c[1] >= d[1] && c[2] >= d[2] && c[3] >= d[3] && c[4] >= d[4]
}

// Plus returns the sum of c and d.
func (c Cards) Plus(d Cards) Cards {
	for r := range c {
		c[r] += d[r]
	}
	return c
}

// Minus returns c without the cards in d. c must cover d.
func (c Cards) Minus(d Cards) Cards {
	for r := range c {
		c[r] -= d[r]
	}
	return c
}

// The method with() returns c with n more cards of a resource.
func (c Cards) with(r board.Resource, n uint16) Cards {
	c[r] += n
	return c
}

// String lists the cards, as in "2 brick, 1 ore", or returns "nothing".
func (c Cards) String() string {
	var parts []string
	for r, n := range c {
		if n > 0 {
			parts = append(parts, strconv.Itoa(int(n))+" "+board.Resource(r).String())
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// draw returns the resource of the i-th card of c. It counts the cards from 0, in the
// canonical order of their resources.
func (c Cards) draw(i uint32) board.Resource {
	for r, n := range c {
		if i < uint32(n) {
			return board.Resource(r)
		}
		i -= uint32(n)
	}
	panic("game: draw past the end of a hand")
}
