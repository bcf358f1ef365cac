package housebot

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
