package housebot

import "hexarena/domain/match"

// The actions that a bot sends (docs/protocol.md, "Actions").
type (
	setupAction struct {
		Settlement uint8 `json:"settlement"`
		Road       uint8 `json:"road"`
	}
	turnAction struct {
		Type     string `json:"type"`
		Edge     *uint8 `json:"edge,omitempty"`
		Vertex   *uint8 `json:"vertex,omitempty"`
		Hex      *int   `json:"hex,omitempty"`
		Victim   *int   `json:"victim,omitempty"`
		Edges    []int  `json:"edges,omitempty"`
		Take     counts `json:"take,omitempty"`
		Resource string `json:"resource,omitempty"`
		Give     any    `json:"give,omitempty"` // a resource, or counts
		Get      any    `json:"get,omitempty"`
		To       *int   `json:"to,omitempty"`
		Talk     string `json:"talk,omitempty"`
	}
	discardAction struct {
		Cards match.Counts `json:"cards"`
	}
	banditAction struct {
		Hex    int    `json:"hex"`
		Victim *int   `json:"victim,omitempty"`
		Talk   string `json:"talk,omitempty"`
	}
	tradeAction struct {
		Accept bool   `json:"accept"`
		Talk   string `json:"talk,omitempty"`
	}
	counts = map[string]int
)

func endTurn(talk string) turnAction { return turnAction{Type: "end_turn", Talk: talk} }

// thisTurn records the bot's own actions in a turn, because a view does not have
// them.
type thisTurn struct {
	turn   int
	played bool // a dev card
	offers int
	talked bool
}

// at resets the record when a new turn starts.
func (t *thisTurn) at(turn int) {
	if t.turn != turn {
		*t = thisTurn{turn: turn}
	}
}

// talk returns message the first time in a turn, and "" afterwards.
func (t *thisTurn) talk(message string) string {
	if t.talked || message == "" {
		return ""
	}
	t.talked = true
	return message
}
