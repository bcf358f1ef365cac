package housebot

import (
	"slices"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// thisTurn records what the bot has already done in the current turn, because a view
// does not show it.
type thisTurn struct {
	turn   int
	played bool // whether the bot played a dev card
	offers int
	talked bool
	begun  bool // whether the bot has seen the beginning of the match or of a turn
}

// t.at resets the record when a new turn starts. A bot that takes over a seat in the
// middle of a turn learns from the view whether the seat has already talked. It does not
// learn what else the seat has done, so it plays no dev card and offers nothing in this
// turn. This happens when the arena or the bot restarts.
func (t *thisTurn) at(v *match.View) {
	takesOver := !t.begun && v.Turn > 0
	t.begun = true
	if t.turn == v.Turn {
		return
	}
	talked := func(m match.TableTalk) bool { return m.Seat == v.Seat && m.Turn == v.Turn }
	*t = thisTurn{turn: v.Turn, talked: slices.ContainsFunc(v.TalkLog, talked), begun: true}
	if takesOver {
		t.played, t.offers = true, game.MaxOffers
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
