package housebot

import (
	"math/rand/v2"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/search"
)

// playouts is the number of playouts that the bot montecarlo uses for a decision. On a
// small machine, they take 10 to 20 ms in a turn, and longer during setup.
const playouts = 1500

// The type searcher is a strategy that searches for its actions.
type searcher struct{ mind *search.Mind }

func newSearcher(rng *rand.Rand, playouts int) strategy {
	return &searcher{search.New(rng.Uint64(), playouts)}
}

func (b *searcher) answer(r *match.Request) (a game.Action, talk string) { return b.mind.Decide(r), "" }
