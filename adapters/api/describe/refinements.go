package describe

import (
	"maps"

	"hexarena/domain/match"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// boardTweaks adds the properties that a GameView and a Frame have in common to
// a type's own.
func boardTweaks(own map[string][]tweak) map[string][]tweak {
	all := map[string][]tweak{
		"seatCount": {between(3, 4)}, "phase": {oneOf("setup", "main")}, "turn": {atLeast(0), about("0 during setup.")},
		"dice":       {items(between(1, 6)), orNull, about("This turn's roll; null during setup.")},
		"handCounts": {bySeat, items(atLeast(0)), about("Cards per seat.")}, "devCounts": {bySeat, items(atLeast(0)), about("Development cards per seat.")},
		"knightsPlayed": {bySeat, items(atLeast(0))}, "scores": {bySeat, items(atLeast(0)), about("Public points per seat; without hidden ones.")},
		"deckRemaining": {between(0, 25)}, "openTrade": {orNull}, "talkLog": {sized(0, 20), about("The last 20 messages, most recent last.")},
	}
	maps.Copy(all, own)
	return all
}

// refinements lists the tweaks by schema and property.
var refinements = map[string]map[string][]tweak{
	"Hex":       {"id": {aHex}, "resource": {oneOf(append(resources, "desert")...)}, "token": {between(2, 12), about("Null on the desert.")}},
	"Port":      {"vertices": {items(aVertex)}, "rate": {between(2, 3)}, "resource": {oneOf(resources...), about("Absent: any resource.")}},
	"Road":      {"edge": {anEdge}, "seat": {aSeat}},
	"Town":      {"vertex": {aVertex}, "seat": {aSeat}, "city": {about("False: a settlement.")}},
	"Awards":    {"largestArmy": {aSeat, about("The holder's seat; null while unclaimed.")}, "longestRoad": {aSeat}},
	"OpenTrade": {"from": {aSeat}, "to": {aSeat, about("Absent: open to all.")}, "talk": {sized(1, match.MaxTalk)}},
	"TableTalk": {"seat": {aSeat}, "message": {sized(1, match.MaxTalk)}, "turn": {atLeast(0)}},
	"GameView": boardTweaks(map[string][]tweak{
		"seat": {aSeat, about("The viewer's seat.")}, "hand": {about("The viewer's cards.")}, "devCards": {someDevs, about("Playable now.")},
		"devBoughtThisTurn": {someDevs, about("Playable from the next turn.")}, "myScore": {atLeast(0), about("The viewer's true points.")},
	}),
	"Frame": boardTweaks(map[string][]tweak{
		"seq":      {atLeast(1)},
		"hand":     {is("Hands")},
		"devCards": {is("DevCardHands")}, "devBoughtThisTurn": {is("DevCardHands")},
	}),
	"FrameBoard":  {"bandit": {aHex}},
	"BoardLayout": {"hexes": {sized(19, 19)}, "ports": {sized(9, 9)}},
	"BoardData":   {"hexes": {sized(19, 19)}, "ports": {sized(9, 9)}, "bandit": {aHex}},
	"RollData":    {"turn": {atLeast(1)}, "dice": {items(between(1, 6))}},
	"ActionData": {
		"decision": {atLeast(1)}, "kind": {aKind}, "action": {is("Action")}, "default": {about("The engine's default, not an answer.")},
		"elapsedMs": {atLeast(0), about("Null for a default.")}, "collected": {bySeat, items(atLeast(0)), about("For play_embargo: the cards taken, by seat.")},
	},
	"StealData":   {"victim": {aSeat}},
	"TradeData":   {"from": {aSeat}, "to": {aSeat}, "give": {about("The cards that from gave.")}},
	"AwardData":   {"award": {oneOf("longestRoad", "largestArmy")}, "from": {aSeat, about("Null: nobody.")}, "to": {aSeat, about("Null: nobody.")}},
	"TimeoutData": {"decision": {atLeast(1)}, "kind": {aKind}, "cause": {oneOf("deadline", "dropped", "malformed", "oversized")}, "elapsedMs": {atLeast(0)}, "answer": {about("The malformed frame.")}, "strikes": {between(1, 3)}},
	"IllegalData": {"decision": {atLeast(1)}, "kind": {aKind}, "elapsedMs": {atLeast(0)}, "reason": {about("A stable code; docs/protocol.md lists them.")}, "answer": {about("The frame as received, cut at 4,096 bytes.")}, "strikes": {between(1, 3)}},
	"ResignData":  {"strikes": {between(3, 3)}},
	"EndData":     {"reason": {oneOf("win", "stalemate", "turn_cap")}, "scores": {bySeat, items(atLeast(0)), about("True points, by seat.")}, "placements": {bySeat, items(between(1, 4)), about("By seat; ties share a placement.")}},
	"DecisionRequest": {
		"id": {atLeast(1), about("The answer repeats it.")}, "mode": {aMode}, "seat": {aSeat}, "kind": {aKind},
		"deadlineMs": {atLeast(1), about("Time to answer, in milliseconds.")},
	},
	"DecisionResponse": {"id": {atLeast(1), about("The id of the request.")}, "action": {is("Action")}},
	"Decision": {
		"id": {atLeast(1)}, "seq": {atLeast(1), about("The seq, in the match's replay, of the event that closed the decision.")}, "kind": {aKind}, "at": {aTime},
		"request": {orNull, about("The request as it was sent; null while the match runs on an arena without its seed key.")},
		"answer":  {about("A refused or malformed frame as received, cut at 4,096 bytes; else the answer with the fields of its schema; null without an answer.")},
		"outcome": {oneOf(frames.Played, frames.Timeout, frames.Illegal)}, "cause": {enumOrNull("deadline", "dropped", "malformed", "oversized")},
		"elapsedMs": {atLeast(0)}, "reason": {about("Which rule refused the answer.")}, "played": {is("Action"), about("The played action: the answer's, or the default.")},
	},
	"MatchPlayer": {"seat": {aSeat}, "placement": {between(1, 4), about("Null while the match runs; ties share a placement.")}, "ratingDelta": {orNull, about("Displayed rating after minus before.")}},
	"MatchSummary": {
		"mode": {aMode}, "status": {oneOf(matches.Running, matches.Completed, matches.Aborted)}, "players": {bySeat},
		"startedAt": {aTime}, "endedAt": {aTime},
	},
	"LiveMatch": {
		"mode": {aMode}, "status": {oneOf(matches.Running)}, "players": {bySeat}, "startedAt": {aTime}, "endedAt": {aTime, about("Always null.")},
		"turn": {atLeast(0), about("0 during setup.")}, "scores": {bySeat, items(atLeast(0)), about("Public points per seat; without hidden ones.")},
	},
	"Match": {
		"mode": {aMode}, "status": {oneOf(matches.Running, matches.Completed, matches.Aborted)}, "players": {bySeat},
		"startedAt": {aTime}, "endedAt": {aTime}, "seed": {orNull}, "thinkingMs": {bySeat, items(atLeast(0))},
	},
	"Proof": {"nonces": {bySeat, about("In table order.")}, "table": {bySeat, about("Bot ids in ladder order.")}, "index": {between(0, 499)}},
	"BotHistory": {
		"mode": {aMode}, "owner": {about("The handle, without @; empty until chosen.")}, "abortedMatches": {atLeast(0)},
		"points": {about("In the order in which the ladder closed them. Aborted matches have only matchId, endedAt and seat.")},
	},
	"HistoryPoint": {
		"endedAt": {aTime}, "placement": {between(1, 4), about("Ties share one.")}, "seat": {aSeat},
		"rating": {about("After the match, as displayed: mu − 3·sigma, to one decimal place.")},
		"mu":     {about("After the match, unrounded.")}, "sigma": {about("After the match, unrounded.")},
	},
	"LeaderboardRow": {"rank": {atLeast(1)}, "gamesPlayed": {atLeast(1)}, "owner": {about("The handle, without @; empty until chosen.")}, "rating": {about("mu − 3·sigma, to one decimal place.")}},
}
