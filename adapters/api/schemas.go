package api

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/leaderboard"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// The schemas of the document are made from the types that are encoded, by
// huma; what a Go type cannot say of itself (a range, a closed set of names,
// null) is said here. Tests hold every live answer against them.

const schemaPrefix = "#/components/schemas/"

// schemaNames are the specification's names of types that are called otherwise
// here.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[accountBody]():      "Account",
	reflect.TypeFor[botBody]():          "Bot",
	reflect.TypeFor[keyBody]():          "ApiKeyMeta",
	reflect.TypeFor[stepBody]():         "CheckStep",
	reflect.TypeFor[matchBody]():        "Match",
	reflect.TypeFor[framesBoard]():      "BoardLayout",
	reflect.TypeFor[matches.Summary]():  "MatchSummary",
	reflect.TypeFor[matches.Player]():   "MatchPlayer",
	reflect.TypeFor[leaderboard.Row]():  "LeaderboardRow",
	reflect.TypeFor[historyBody]():      "BotHistory",
	reflect.TypeFor[point]():            "HistoryPoint",
	reflect.TypeFor[live.Match]():       "LiveMatch",
	reflect.TypeFor[match.View]():       "GameView",
	reflect.TypeFor[match.Request]():    "DecisionRequest",
	reflect.TypeFor[match.Response]():   "DecisionResponse",
	reflect.TypeFor[frames.Decision]():  "Decision",
	reflect.TypeFor[changelogEntry]():   "ChangelogEntry",
	reflect.TypeFor[changelogEntries](): "Changelog",
}

func newRegistry() huma.Registry {
	r := huma.NewMapRegistry(schemaPrefix, func(t reflect.Type, hint string) string {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if name, ok := schemaNames[t]; ok {
			return name
		}
		return huma.DefaultSchemaNamer(t, hint)
	})
	r.RegisterTypeAlias(reflect.TypeFor[match.PublicEvent](), reflect.TypeFor[eventSchema]())
	r.RegisterTypeAlias(reflect.TypeFor[match.Counts](), reflect.TypeFor[countsSchema]())
	r.RegisterTypeAlias(reflect.TypeFor[seed.Seed](), reflect.TypeFor[hexSchema]())
	r.RegisterTypeAlias(reflect.TypeFor[owner.Scope](), reflect.TypeFor[scopeSchema]())
	return r
}

// ref refers to a named schema.
func ref(name string) *huma.Schema { return &huma.Schema{Ref: schemaPrefix + name} }

// define names a schema, unless it has been defined.
func define(r huma.Registry, name string, schema func() *huma.Schema) *huma.Schema {
	if _, ok := r.Map()[name]; !ok {
		r.Map()[name] = schema()
	}
	return ref(name)
}

type (
	countsSchema struct{} // in place of match.Counts
	hexSchema    struct{} // in place of seed.Seed
	scopeSchema  struct{} // in place of owner.Scope
)

var resources = []any{"brick", "lumber", "wool", "grain", "ore"}

// Schema implements huma.SchemaProvider.
func (countsSchema) Schema(r huma.Registry) *huma.Schema {
	return define(r, "ResourceCounts", func() *huma.Schema {
		s := &huma.Schema{
			Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false,
			Description: "How many of each resource; a missing key means zero.",
		}
		for _, name := range resources {
			s.Properties[name.(string)] = &huma.Schema{Type: huma.TypeInteger, Minimum: number(0)}
		}
		return s
	})
}

// Schema implements huma.SchemaProvider.
func (hexSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9a-f]{64}$", Description: "32 bytes in lower-case hex."}
}

// Schema implements huma.SchemaProvider.
func (scopeSchema) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, scope := range owner.AllScopes() {
		s.Enum = append(s.Enum, string(scope))
	}
	return s
}

// tweak says of a property what its Go type does not.
type tweak func(*huma.Schema)

func number(n float64) *float64 { return &n }

func between(low, high float64) tweak {
	return func(s *huma.Schema) { s.Minimum, s.Maximum = &low, &high }
}

func atLeast(low float64) tweak { return func(s *huma.Schema) { s.Minimum = &low } }

func oneOf(values ...any) tweak { return func(s *huma.Schema) { s.Enum = values } }

func about(text string) tweak { return func(s *huma.Schema) { s.Description = text } }

func format(name string) tweak { return func(s *huma.Schema) { s.Format = name } }

// items tweaks the items of an array.
func items(t ...tweak) tweak {
	return func(s *huma.Schema) {
		for _, tweak := range t {
			tweak(s.Items)
		}
	}
}

// sized bounds the length of an array, or of a string in code points.
func sized(low, high int) tweak {
	return func(s *huma.Schema) {
		if s.Type == huma.TypeString {
			s.MaxLength = &high
			return
		}
		s.MinItems, s.MaxItems = &low, &high
	}
}

// orNull lets a property be null.
func orNull(s *huma.Schema) {
	if s.Ref != "" {
		s.OneOf, s.Ref = []*huma.Schema{{Ref: s.Ref}, {Type: "null"}}, ""
		return
	}
	s.Nullable = true
}

// enumOrNull lets a property with a closed set of values be null.
func enumOrNull(values ...any) tweak {
	return func(s *huma.Schema) { s.Enum, s.Nullable = append(values, nil), true }
}

// is replaces a property's schema by a named one.
func is(name string) tweak { return func(s *huma.Schema) { *s = *ref(name) } }

var (
	aSeat    = between(0, 3)
	aVertex  = between(0, 53)
	anEdge   = between(0, 71)
	aHex     = between(0, 18)
	bySeat   = sized(3, 4)
	aMoment  = format("date-time")
	aMode    = oneOf(ladder.Standard, ladder.Parley)
	aKind    = oneOf("setup", "turn", "discard", "bandit", "trade")
	someDevs = items(oneOf("knight", "victory_point", "roadworks", "windfall", "embargo"))
)

// common are the properties that a GameView and a Frame both have.
func common(own map[string][]tweak) map[string][]tweak {
	all := map[string][]tweak{
		"seatCount": {between(3, 4)}, "phase": {oneOf("setup", "main")}, "turn": {atLeast(0), about("0 during setup.")},
		"dice":       {items(between(1, 6)), orNull, about("This turn's roll; null during setup.")},
		"handCounts": {bySeat, items(atLeast(0)), about("Cards per seat.")}, "devCounts": {bySeat, items(atLeast(0)), about("Development cards per seat.")},
		"knightsPlayed": {bySeat, items(atLeast(0))}, "scores": {bySeat, items(atLeast(0)), about("Public points per seat; hidden ones are not in them.")},
		"deckRemaining": {between(0, 25)}, "openTrade": {orNull}, "talkLog": {sized(0, 20), about("The last 20 messages, most recent last.")},
	}
	for name, tweaks := range own {
		all[name] = tweaks
	}
	return all
}

// refinements are the tweaks by schema and property.
var refinements = map[string]map[string][]tweak{
	"Hex":       {"id": {aHex}, "resource": {oneOf(append(resources, "desert")...)}, "token": {between(2, 12), about("Null on the desert.")}},
	"Port":      {"vertices": {items(aVertex)}, "rate": {between(2, 3)}, "resource": {oneOf(resources...), about("Absent: any resource.")}},
	"Road":      {"edge": {anEdge}, "seat": {aSeat}},
	"Town":      {"vertex": {aVertex}, "seat": {aSeat}, "city": {about("False: a settlement.")}},
	"Awards":    {"largestArmy": {aSeat, about("The holder's seat; null while unclaimed.")}, "longestRoad": {aSeat}},
	"OpenTrade": {"from": {aSeat}, "to": {aSeat, about("Absent: open to all.")}, "talk": {sized(1, match.MaxTalk)}},
	"TableTalk": {"seat": {aSeat}, "message": {sized(1, match.MaxTalk)}, "turn": {atLeast(0)}},
	"GameView": common(map[string][]tweak{
		"seat": {aSeat, about("The viewer's.")}, "hand": {about("The viewer's cards.")}, "devCards": {someDevs, about("Playable now.")},
		"devBoughtThisTurn": {someDevs, about("Playable from the next turn.")}, "myScore": {atLeast(0), about("The viewer's true points.")},
	}),
	"Frame": common(map[string][]tweak{
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
		"elapsedMs": {atLeast(0), about("Null for a default.")}, "collected": {bySeat, items(atLeast(0)), about("Of play_embargo: the cards taken, by seat.")},
	},
	"StealData":   {"victim": {aSeat}},
	"TradeData":   {"from": {aSeat}, "to": {aSeat}, "give": {about("What from gave.")}},
	"AwardData":   {"award": {oneOf("longestRoad", "largestArmy")}, "from": {aSeat, about("Null: nobody.")}, "to": {aSeat, about("Null: nobody.")}},
	"TimeoutData": {"decision": {atLeast(1)}, "kind": {aKind}, "cause": {oneOf("deadline", "dropped", "malformed", "oversized")}, "elapsedMs": {atLeast(0)}, "answer": {about("The malformed frame.")}, "strikes": {between(1, 3)}},
	"IllegalData": {"decision": {atLeast(1)}, "kind": {aKind}, "elapsedMs": {atLeast(0)}, "reason": {about("A stable code; docs/protocol.md lists them.")}, "answer": {about("The frame as received, cut at 4,096 bytes.")}, "strikes": {between(1, 3)}},
	"ResignData":  {"strikes": {between(3, 3)}},
	"EndData":     {"reason": {oneOf("win", "stalemate", "turn_cap")}, "scores": {bySeat, items(atLeast(0)), about("True points, by seat.")}, "placements": {bySeat, items(between(1, 4)), about("By seat; ties share a placement.")}},
	"DecisionRequest": {
		"id": {atLeast(1), about("To echo in the answer.")}, "mode": {aMode}, "seat": {aSeat}, "kind": {aKind},
		"deadlineMs": {atLeast(1), about("Time to answer, in milliseconds.")},
	},
	"DecisionResponse": {"id": {atLeast(1), about("That of the request.")}, "action": {is("Action")}},
	"Decision": {
		"id": {atLeast(1)}, "seq": {atLeast(1), about("Of the event that closed it, in the match's replay.")}, "kind": {aKind}, "at": {aMoment},
		"request": {orNull, about("As it was asked; null while the match runs on an arena that does not hold its seed key.")},
		"answer":  {about("A refused or malformed frame as received, cut at 4,096 bytes; else the answer with the fields of its schema; null where none came.")},
		"outcome": {oneOf(frames.Played, frames.Timeout, frames.Illegal)}, "cause": {enumOrNull("deadline", "dropped", "malformed", "oversized")},
		"elapsedMs": {atLeast(0)}, "reason": {about("Which rule refused the answer.")}, "played": {is("Action"), about("What was played: the answer's action, or the default in its place.")},
	},
	"MatchPlayer": {"seat": {aSeat}, "placement": {between(1, 4), about("Null while the match runs; ties share a placement.")}, "ratingDelta": {orNull, about("Displayed rating after minus before.")}},
	"MatchSummary": {
		"mode": {aMode}, "status": {oneOf(matches.Running, matches.Completed, matches.Aborted)}, "players": {bySeat},
		"startedAt": {aMoment}, "endedAt": {aMoment},
	},
	"LiveMatch": {
		"mode": {aMode}, "status": {oneOf(matches.Running)}, "players": {bySeat}, "startedAt": {aMoment}, "endedAt": {aMoment, about("Always null.")},
		"turn": {atLeast(0), about("0 during setup.")}, "scores": {bySeat, items(atLeast(0)), about("Public points per seat; hidden ones are not in them.")},
	},
	"Match": {
		"mode": {aMode}, "status": {oneOf(matches.Running, matches.Completed, matches.Aborted)}, "players": {bySeat},
		"startedAt": {aMoment}, "endedAt": {aMoment}, "seed": {orNull}, "thinkingMs": {bySeat, items(atLeast(0))},
	},
	"Proof": {"nonces": {bySeat, about("In table order.")}, "table": {bySeat, about("Bot ids in ladder order.")}, "index": {between(0, 499)}},
	"BotHistory": {
		"mode": {aMode}, "owner": {about("The handle, without @; empty until chosen.")}, "abortedMatches": {atLeast(0)},
		"points": {about("In the order in which they were closed. Of aborted matches: matchId, endedAt and seat alone.")},
	},
	"HistoryPoint": {
		"endedAt": {aMoment}, "placement": {between(1, 4), about("Ties share one.")}, "seat": {aSeat},
		"rating": {about("After the match, as it is displayed: mu − 3·sigma, to one decimal place.")},
		"mu":     {about("After the match, unrounded.")}, "sigma": {about("After the match, unrounded.")},
	},
	"LeaderboardRow": {"rank": {atLeast(1)}, "gamesPlayed": {atLeast(1)}, "owner": {about("The handle, without @; empty until chosen.")}, "rating": {about("mu − 3·sigma, to one decimal place.")}},
}

// finishSchemas defines what no answer holds, has answers allow for fields to
// come, which requests do not, and applies the refinements.
func (s *Server) finishSchemas() {
	r := s.api.OpenAPI().Components.Schemas
	r.Schema(reflect.TypeFor[match.Response](), true, "")
	defineActions(r)
	defineHands(r)
	for name, schema := range r.Map() {
		plain(schema, isRequest(name))
	}
	for name, properties := range refinements {
		for property, tweaks := range properties {
			schema := r.Map()[name]
			if schema == nil || schema.Properties[property] == nil {
				panic(fmt.Sprintf("the document has no %s.%s", name, property)) // any start shows it
			}
			for _, t := range tweaks {
				t(schema.Properties[property])
			}
		}
	}
	r.Map()["Problem"].Properties["code"].Enum = problemCodes()
}

// isRequest says whether a schema is that of a request's body: an unknown field
// is refused there.
func isRequest(name string) bool { return strings.HasSuffix(name, "Input") || name == "ResourceCounts" }

// plain takes away what huma says of every type: that an array may be null, and
// of answers that they will never have another field.
func plain(s *huma.Schema, strict bool) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	if s.AdditionalProperties == false && !strict {
		s.AdditionalProperties = nil
	}
	plain(s.Items, strict)
	for _, p := range s.Properties {
		plain(p, strict)
	}
}
