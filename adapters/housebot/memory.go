package housebot

// thisTurn records the bot's own actions in the current turn, because a view does
// not contain them.
type thisTurn struct {
	turn   int
	played bool // whether the bot played a dev card
	offers int
	talked bool
}

// at resets the record when a new turn starts.
func (t *thisTurn) at(turn int) {
	if t.turn != turn {
		*t = thisTurn{turn: turn}
	}
}

// talk returns message if it has not returned a message in this turn yet, and
// "" otherwise.
func (t *thisTurn) talk(message string) string {
	if t.talked || message == "" {
		return ""
	}
	t.talked = true
	return message
}
