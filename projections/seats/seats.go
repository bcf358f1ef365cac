// Package seats folds a match into a summary of each seat: its strikes, whether it
// resigned or missed the match, its time and its ratings. The match list and the
// leaderboard share this fold. It needs only the few types of events in Types, and
// not the actions.
package seats

import (
	"fmt"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// Seat describes what one seat did in an ended match (docs/protocol.md, "The seats
// of a match").
type Seat struct {
	Strikes      int      `json:"strikes"`
	Resigned     bool     `json:"resigned"`
	Missed       bool     `json:"missed" doc:"Whether the bot sent no answer in the whole match. Always false in an aborted match, which does not count as missed."`
	TimeUsedMs   *int64   `json:"timeUsedMs" doc:"The time that the seat used, in milliseconds; null if the arena that started the match did not measure it."`
	RatingBefore *float64 `json:"ratingBefore" doc:"The displayed rating before the match; null if the match was aborted."`
	RatingAfter  *float64 `json:"ratingAfter" doc:"The displayed rating after the match; null if the match was aborted."`
	Version      string   `json:"version,omitempty" doc:"The version that the bot named when the match began; absent if it named none."`
}

// Begin returns the seats of a match that has just begun.
func Begin(e match.Started) []Seat {
	list := make([]Seat, len(e.Seats))
	for i, s := range e.Seats {
		list[i].Version = s.Version
	}
	return list
}

// Mark returns the note that lists show beside a seat: "missed", "resigned" or the
// number of strikes. It returns "" if none of these apply.
func (s Seat) Mark() string {
	switch {
	case s.Missed:
		return "missed"
	case s.Resigned:
		return "resigned"
	case s.Strikes == 1:
		return "1 strike"
	case s.Strikes > 1:
		return fmt.Sprintf("%d strikes", s.Strikes)
	}
	return ""
}

// Types lists the events of a match's stream that Fold needs, in addition to
// MatchStarted.
var Types = []string{
	match.DecisionTimedOut{}.EventType(), match.AnswerRejected{}.EventType(), match.SeatResigned{}.EventType(),
	match.GameEnded{}.EventType(), match.Aborted{}.EventType(),
}

// Fold folds one event whose type is in Types. The parameter used is the time of
// each seat in the metadata of the event. Fold returns an error if the event names
// a seat that the match does not have.
func Fold(list []Seat, e match.Event, used []int64) error {
	switch e := e.(type) {
	case match.DecisionTimedOut:
		return change(list, e.Seat, func(s *Seat) { s.Strikes = e.Strikes })
	case match.AnswerRejected:
		return change(list, e.Seat, func(s *Seat) { s.Strikes = e.Strikes })
	case match.SeatResigned:
		return change(list, e.Seat, func(s *Seat) { s.Resigned = true })
	case match.GameEnded, match.Aborted:
		for i := range used[:min(len(used), len(list))] {
			list[i].TimeUsedMs = &used[i]
		}
	}
	return nil
}

func change(list []Seat, seat int, f func(*Seat)) error {
	if seat < 0 || seat >= len(list) {
		return fmt.Errorf("the match has %d seats, but no seat %d", len(list), seat)
	}
	f(&list[seat])
	return nil
}

// Rate folds the result of the seat's bot.
func (s *Seat) Rate(r ladder.RatedSeat) {
	before, after := r.Before.Displayed(), r.After.Displayed()
	s.Missed, s.RatingBefore, s.RatingAfter = r.Missed, &before, &after
}
