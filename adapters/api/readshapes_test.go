package api_test

import (
	"errors"
	"fmt"
)

// The shapes in this file are those that docs/protocol.md describes. They were written
// by hand from that page, not derived from the code.
var (
	many     = integer(0, 1<<31)
	seat     = integer(0, 3)
	count    = integer(0, 1000)
	mode     = oneOf("standard", "parley")
	moment   = matching(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	id       = matching(`[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	hex32    = matching(`[0-9a-f]{64}`)
	resource = oneOf("brick", "lumber", "wool", "grain", "ore")
	counts   = object(map[string]shape{"brick?": count, "lumber?": count, "wool?": count, "grain?": count, "ore?": count})
	bySeat   = listOf(many, 3, 4)
	kind     = oneOf("setup", "turn", "discard", "bandit", "trade")
	devCard  = oneOf("knight", "victory_point", "roadworks", "windfall", "embargo")
	dice     = listOf(integer(1, 6), 2)

	hexes = listOf(object(map[string]shape{"id": integer(0, 18), "resource": either(resource, oneOf("desert")), "token": orNull(integer(2, 12))}), 19)
	ports = listOf(object(map[string]shape{"vertices": listOf(integer(0, 53), 2), "rate": integer(2, 3), "resource?": resource}), 9)
)

// summary returns the shape of a MatchSummary with a given status.
func summary(status string) map[string]shape {
	placement, delta, ended := shape(null), shape(null), moment
	switch status {
	case "running":
		ended = null
	case "completed":
		placement, delta = integer(1, 4), oneDecimal
	}
	fields := map[string]shape{
		"id": id, "mode": mode, "status": oneOf(status), "startedAt": moment, "endedAt": ended,
		"players": listOf(object(map[string]shape{"seat": seat, "botId": id, "botName": text, "placement": placement, "ratingDelta": delta}), 3, 4),
	}
	if status == "aborted" {
		fields["reason"] = oneOf("wall_clock", "operator", "beacon")
	}
	if status != "running" {
		fields["seats"], fields["turns"] = listOf(object(seatFacts(status)), 3, 4), integer(1, 1<<10)
	}
	if status == "completed" {
		fields["scores"] = listOf(integer(2, 20), 3, 4)
	}
	return fields
}

// seatFacts returns the fields of a seat of a match with a given status.
func seatFacts(status string) map[string]shape {
	rating := oneDecimal
	if status == "aborted" {
		rating = null
	}
	return map[string]shape{
		"strikes": integer(0, 3), "resigned": boolean, "missed": boolean, "timeUsedMs": many, "ratingBefore": rating, "ratingAfter": rating, "version?": text,
	}
}

var proof = object(map[string]shape{
	"serverSeed": hex32, "nonces": listOf(text, 3, 4), "table": listOf(id, 3, 4), "revision": many, "index": integer(0, 499), "seedKey": text,
})

// record returns the shape of a Match with a given status.
func record(status string) shape {
	if status == "running" {
		return object(with(summary(status), map[string]shape{"seed": null, "replay": listOf(nil, 0), "commitment": hex32}))
	}
	return object(with(summary(status), map[string]shape{
		"seed": hex32, "replay": list(wholeEvent), "commitment": hex32, "proof": proof, "thinkingMs": bySeat,
	}))
}

// The variable actions contains the shape of the action for each kind of decision.
var actions = map[string]shape{
	"setup":   object(map[string]shape{"settlement": integer(0, 53), "road": integer(0, 71)}),
	"discard": object(map[string]shape{"cards": counts}),
	"bandit":  object(map[string]shape{"hex": integer(0, 18), "victim?": seat, "talk?": text}),
	"trade":   object(map[string]shape{"accept": boolean, "talk?": text}),
}

var turnActions = map[string]map[string]shape{
	"build_road": {"edge": integer(0, 71)}, "build_settlement": {"vertex": integer(0, 53)}, "build_city": {"vertex": integer(0, 53)}, "buy_dev": {},
	"play_knight": {"hex": integer(0, 18), "victim?": seat}, "play_roadworks": {"edges": listOf(integer(0, 71), 1, 2)}, "play_windfall": {"take": counts},
	"play_embargo": {"resource": resource}, "bank_trade": {"give": resource, "get": resource}, "offer_trade": {"give": counts, "get": counts, "to?": seat, "talk?": text},
	"end_turn": {"talk?": text},
}

// actionData checks the data of an action event.
func actionData(v any) error {
	data, ok := v.(map[string]any)
	if !ok {
		return errors.New(" is not an object")
	}
	action := actions[fmt.Sprint(data["kind"])]
	fields := map[string]shape{"decision": many, "kind": kind, "default": boolean, "elapsedMs": many}
	if data["default"] == true {
		fields["elapsedMs"] = null
	}
	if data["kind"] == "turn" {
		typ, _ := data["action"].(map[string]any)["type"].(string)
		action = object(with(turnActions[typ], map[string]shape{"type": oneOf(typ)}))
		if typ == "play_embargo" {
			fields["collected"] = bySeat
		}
	}
	fields["action"] = action
	return object(fields)(v)
}

// eventData contains the shape of the data for each kind of event.
var eventData = map[string]shape{
	"board":  object(map[string]shape{"hexes": hexes, "ports": ports, "bandit": integer(0, 18)}),
	"roll":   object(map[string]shape{"turn": integer(1, 1000), "dice": dice}),
	"action": actionData,
	"steal":  object(map[string]shape{"victim": seat}),
	"trade":  object(map[string]shape{"from": seat, "to": seat, "give": counts, "get": counts}),
	"award":  object(map[string]shape{"award": oneOf("longestRoad", "largestArmy"), "from": orNull(seat), "to": orNull(seat)}),
	"timeout": either(
		object(map[string]shape{"decision": many, "kind": kind, "cause": oneOf("malformed"), "elapsedMs": many, "answer": text, "strikes": integer(1, 3)}),
		object(map[string]shape{"decision": many, "kind": kind, "cause": oneOf("deadline", "dropped", "oversized"), "elapsedMs": many, "strikes": integer(1, 3)}),
	),
	"illegal": object(map[string]shape{
		"decision": many, "kind": kind, "reason": matching("[a-z_]+"), "message": text, "answer": text, "elapsedMs": many, "strikes": integer(1, 3),
	}),
	"resign": object(map[string]shape{"strikes": integer(3, 3)}),
	"end":    object(map[string]shape{"reason": oneOf("win", "stalemate", "turn_cap"), "scores": bySeat, "placements": listOf(integer(1, 4), 3, 4)}),
}

// event returns the shape of MatchEvent, with or without data.
func event(whole bool) shape {
	return func(v any) error {
		e, ok := v.(map[string]any)
		if !ok {
			return errors.New(" is not an object")
		}
		name, _ := e["kind"].(string)
		fields := map[string]shape{"seq": integer(1, 1<<20), "at": moment, "kind": oneOf(name), "seat": seat}
		switch name {
		case "board", "end":
			delete(fields, "seat")
		case "award": // has no seat if no player holds the award any more
			delete(fields, "seat")
			fields["seat?"] = seat
		}
		data, known := eventData[name]
		if !known {
			return fmt.Errorf(".kind is %q", name)
		}
		if whole {
			fields["data"] = data
		}
		return object(fields)(v)
	}
}

var wholeEvent = event(true)

// publicView contains the fields that Frame and GameView have in common.
var publicView = map[string]shape{
	"seatCount": integer(3, 4), "phase": oneOf("setup", "main"), "turn": integer(0, 1000), "dice": orNull(dice),
	"board":      object(map[string]shape{"bandit": integer(0, 18)}),
	"roads":      list(object(map[string]shape{"edge": integer(0, 71), "seat": seat})),
	"towns":      list(object(map[string]shape{"vertex": integer(0, 53), "seat": seat, "city": boolean})),
	"handCounts": bySeat, "devCounts": bySeat, "knightsPlayed": bySeat, "scores": bySeat,
	"awards":        object(map[string]shape{"largestArmy": orNull(seat), "longestRoad": orNull(seat)}),
	"deckRemaining": integer(0, 25),
	"openTrade":     orNull(object(map[string]shape{"from": seat, "give": counts, "get": counts, "to?": seat, "talk?": text})),
	"talkLog":       list(object(map[string]shape{"seat": seat, "message": text, "turn": many})),
}

// frameList returns the shape of a response from /frames. The parameter more contains
// the additional fields for responses that show hands.
func frameList(whole bool, more map[string]shape) shape {
	frame := with(with(publicView, map[string]shape{"seq": integer(1, 1<<20), "event": event(whole), "owed": listOf(seat, 0, 1, 2, 3, 4)}), more)
	return object(map[string]shape{
		"matchId": id, "board": object(map[string]shape{"hexes": hexes, "ports": ports}), "frames": list(object(frame)),
	})
}

var (
	oneHand  = map[string]shape{"hand": counts, "devCards": list(devCard), "devBoughtThisTurn": list(devCard)}
	allHands = map[string]shape{"hand": listOf(counts, 3, 4), "devCards": listOf(list(devCard), 3, 4), "devBoughtThisTurn": listOf(list(devCard), 3, 4)}

	ranking = object(map[string]shape{
		"mode": mode,
		"rows": list(object(map[string]shape{"rank": integer(1, 1<<20), "botId": id, "name": text, "owner": text, "rating": oneDecimal, "gamesPlayed": integer(1, 1<<20)})),
	})
)
