package search

import (
	"hexarena/domain/board"
	"hexarena/domain/game"
)

// Finisher plays games on one board to their end, with the cheap rules of the playouts
// for every seat. It is not safe for concurrent use.
type Finisher struct{ island *island }

// NewFinisher returns a Finisher for a board.
func NewFinisher(l board.Layout) *Finisher { return &Finisher{newIsland(l)} }

// Finish plays a game to its end. It makes no offers and declines open ones.
func (f *Finisher) Finish(g *game.State) { f.island.playOn(g, game.MaxTurns) }
