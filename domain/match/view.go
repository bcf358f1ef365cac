package match

import "hexarena/domain/game"

// Counts is ResourceCounts: a JSON object from resource names to counts above
// zero, a missing key meaning zero.
type Counts game.Cards

// Hex is one hex of a board.
type Hex struct {
	ID       int    `json:"id"`
	Resource string `json:"resource"`
	Token    *int   `json:"token"` // null on the desert
}

// Port is one port of a board.
type Port struct {
	Vertices [2]int `json:"vertices"`
	Rate     int    `json:"rate"`
	Resource string `json:"resource,omitempty"` // absent: any
}
