package housebot

// thisTurn records what the bot has already done in the current turn, because a view
// does not show it.
type thisTurn struct {
	turn   int
	played bool // whether the bot played a dev card
	offers int
	talked bool
}

// t.at resets the record when a new turn starts.
func (t *thisTurn) at(turn int) {
	if t.turn != turn {
		*t = thisTurn{turn: turn}
	}
}

// talk returns the given message in the first call of each turn, and "" in later calls.
func (t *thisTurn) talk(message string) string {
	if t.talked || message == "" {
		return ""
	}
	t.talked = true
	return message
}
