package housebot

import (
	"slices"

	"hexarena/domain/match"
)

// thisTurn records what the bot has already done in the current turn, because a view
// does not show it.
type thisTurn struct {
	turn   int
	played bool // whether the bot played a dev card
	offers int
	talked bool
}

// t.at resets the record when a new turn starts. A bot that takes over a seat in the
// middle of a turn learns from the view whether the seat has already talked.
func (t *thisTurn) at(v *match.View) {
	if t.turn == v.Turn {
		return
	}
	talked := func(m match.TableTalk) bool { return m.Seat == v.Seat && m.Turn == v.Turn }
	*t = thisTurn{turn: v.Turn, talked: slices.ContainsFunc(v.TalkLog, talked)}
}

// talk returns the given message in the first call of each turn, and "" in later calls.
func (t *thisTurn) talk(message string) string {
	if t.talked || message == "" {
		return ""
	}
	t.talked = true
	return message
}
