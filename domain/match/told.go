package match

import (
	"encoding/json"

	"hexarena/domain/game"
)

// Board is the data of the board event of a game before its first placement.
func Board(p *game.Public) BoardData { return boardData(p) }

// ActionJSON writes an action in the shape of its kind, as a bot would.
func ActionJSON(a game.Action) json.RawMessage { return actionJSON(a) }
