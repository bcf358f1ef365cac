package simulate

import (
	"strings"

	"hexarena/eventstore"
)

// Planted is a fault that a test plants to see whether the judges find it.
type Planted string

// PlantNone plants nothing.
const PlantNone Planted = ""

// These faults are in the connections to the log and to bots.
const (
	PlantNoFence      Planted = "appends to matches ignore the expected revision"
	PlantNewIDs       Planted = "a retry has new event ids, and ignores the expected revision"
	PlantFalseAnswer  Planted = "the log acknowledges an append that it did not store"
	PlantTornAppend   Planted = "the log stores only the first event of an append to an account"
	PlantNoRating     Planted = "the log acknowledges ratings that it did not store"
	PlantNoAssignment Planted = "the log acknowledges assignments that it did not store"
	PlantRatedTwice   Planted = "a ladder stores ratings twice"
	PlantLostWakeUp   Planted = "a subscription skips an event"
	PlantLostPause    Planted = "subscriptions skip pauses"
	PlantShortRead    Planted = "a read ends early without an error"
	PlantLostRequest  Planted = "a request to a bot is lost"
	PlantLateAnswer   Planted = "an answer of a bot arrives after the deadline"
)

// These faults are in places that only the test knows.
const (
	PlantEarlyCheckpoint Planted = "the checkpoint of a read model is ahead of its rows"
	PlantForkedHead      Planted = "a head is signed twice with different roots"
	PlantLeak            Planted = "the live board shows the seed"
	PlantShownData       Planted = "the live board shows the data of an event"
	PlantShownCard       Planted = "a request shows a card of another seat"
	PlantFalsePause      Planted = "the API confirms a pause that it did not store"
	PlantLostEvent       Planted = "an owner's event is not delivered"
	PlantWrongFrame      Planted = "a live board shows another phase"
	PlantLostMail        Planted = "emails to owners are not delivered"
)

// Plants lists all planted faults.
var Plants = []Planted{
	PlantNoFence, PlantNewIDs, PlantFalseAnswer, PlantTornAppend, PlantNoRating, PlantNoAssignment, PlantRatedTwice, PlantLostWakeUp, PlantLostPause,
	PlantShortRead, PlantLostRequest, PlantLateAnswer, PlantEarlyCheckpoint, PlantForkedHead, PlantLeak, PlantShownData, PlantShownCard, PlantFalsePause,
	PlantLostEvent, PlantWrongFrame, PlantLostMail,
}

// plantedRate is how often a planted fault happens to an operation, if it does not
// happen to each operation. Short reads happen more often. Most of them do no harm: the
// append that follows fails, and the process reads again.
const (
	plantedRate   = 0.02
	shortReadRate = 0.1
)

// Plant plants a fault. Call it before the world has processes.
func (w *World) Plant(p Planted) { w.planted = p }

// Planted returns the planted fault.
func (w *World) Planted() Planted { return w.planted }

// sprouts reports whether a planted fault happens to an operation now.
func (w *World) sprouts(p Planted, key ...string) bool {
	rate := plantedRate
	if p == PlantShortRead {
		rate = shortReadRate
	}
	return w.planted == p && w.chance(rate, hash(w.seed, key), "planted")
}

// swallows reports whether a planted fault acknowledges an append without storing it.
func (w *World) swallows(process string, id eventstore.StreamID, events []eventstore.Event) bool {
	switch w.planted {
	case PlantFalseAnswer:
		return w.sprouts(PlantFalseAnswer, process, string(id))
	case PlantNoRating:
		return events[0].Type == "RatingsChanged"
	case PlantNoAssignment:
		return id == "arena-assignments"
	}
	return false
}

// skips reports whether a planted fault keeps an event from a subscription.
func (w *World) skips(process, filter string, e *eventstore.Recorded) bool {
	if w.planted == PlantLostPause {
		return e.Type == "BotPaused"
	}
	return w.sprouts(PlantLostWakeUp, process, filter, string(e.Stream))
}

// expected returns the revision that a planted fault lets an append expect.
func (w *World) expected(id eventstore.StreamID, expected eventstore.Expected) eventstore.Expected {
	if w.planted == PlantNoFence && strings.HasPrefix(string(id), "match-") {
		return eventstore.Any
	}
	return expected
}
