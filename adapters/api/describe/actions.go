package describe

import (
	"github.com/danielgtaylor/huma/v2"

	"hexarena/domain/match"
)

// field is a field of an action.
type field struct {
	name     string
	schema   *huma.Schema
	optional bool
}

func integer(high float64) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Minimum: number(0), Maximum: &high}
}

func aResource() *huma.Schema { return &huma.Schema{Type: huma.TypeString, Enum: resources} }

func talk() field {
	longest := match.MaxTalk
	return field{"talk", &huma.Schema{Type: huma.TypeString, MaxLength: &longest, Description: "One message per seat and turn."}, true}
}

func victim() field { return field{"victim", integer(3), true} }

// turnActions lists the actions of a turn.
var turnActions = []struct {
	name   string
	schema string
	fields []field
}{
	{"build_road", "BuildRoad", []field{{"edge", integer(71), false}}},
	{"build_settlement", "BuildSettlement", []field{{"vertex", integer(53), false}}},
	{"build_city", "BuildCity", []field{{"vertex", integer(53), false}}},
	{"buy_dev", "BuyDev", nil},
	{"play_knight", "PlayKnight", []field{{"hex", integer(18), false}, victim()}},
	{"play_roadworks", "PlayRoadworks", []field{{"edges", edges(), false}}},
	{"play_windfall", "PlayWindfall", []field{{"take", described("ResourceCounts", "Exactly 2 in total."), false}}},
	{"play_embargo", "PlayEmbargo", []field{{"resource", aResource(), false}}},
	{"bank_trade", "BankTrade", []field{{"give", aResource(), false}, {"get", aResource(), false}}},
	{"offer_trade", "OfferTrade", []field{{"give", ref("ResourceCounts"), false}, {"get", ref("ResourceCounts"), false}, {"to", integer(3), true}, talk()}},
	{"end_turn", "EndTurn", []field{talk()}},
}

func edges() *huma.Schema {
	low, high := 1, 2
	return &huma.Schema{Type: huma.TypeArray, Items: integer(71), MinItems: &low, MaxItems: &high}
}

func described(name, text string) *huma.Schema {
	s := ref(name)
	s.Description = text
	return s
}

// defineActions adds the schemas of the actions that answer the five kinds of
// decisions. The arena ignores other fields.
func defineActions(r huma.Registry) {
	turn := &huma.Schema{
		Description:   "The answer to a turn decision.",
		Discriminator: &huma.Discriminator{PropertyName: "type", Mapping: map[string]string{}},
	}
	for _, a := range turnActions {
		typed := append([]field{{"type", &huma.Schema{Type: huma.TypeString, Enum: []any{a.name}}, false}}, a.fields...)
		r.Map()[a.schema] = action("", typed...)
		turn.OneOf = append(turn.OneOf, ref(a.schema))
		turn.Discriminator.Mapping[a.name] = schemaPrefix + a.schema
	}
	r.Map()["TurnAction"] = turn
	r.Map()["SetupAction"] = action("The answer to a setup decision.", field{"settlement", integer(53), false}, field{"road", integer(71), false})
	r.Map()["DiscardAction"] = action("The answer to a discard decision.", field{"cards", ref("ResourceCounts"), false})
	r.Map()["BanditAction"] = action("The answer to a bandit decision.", field{"hex", integer(18), false}, victim(), talk())
	r.Map()["TradeResponse"] = action("The answer to a trade decision.", field{"accept", &huma.Schema{Type: huma.TypeBoolean}, false}, talk())
	union := &huma.Schema{Description: "SetupAction, TurnAction, DiscardAction, BanditAction or TradeResponse, by the decision's kind."}
	for _, name := range []string{"SetupAction", "TurnAction", "DiscardAction", "BanditAction", "TradeResponse"} {
		union.AnyOf = append(union.AnyOf, ref(name))
	}
	r.Map()["Action"] = union
}

func action(text string, fields ...field) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeObject, Description: text, Properties: map[string]*huma.Schema{}}
	for _, f := range fields {
		s.Properties[f.name] = f.schema
		if !f.optional {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// defineHands adds the schemas of the cards that frames show on demand: those of
// one seat, or an array with those of every seat.
func defineHands(r huma.Registry) {
	devs := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
	someDevs(devs)
	either := func(one *huma.Schema) *huma.Schema {
		return &huma.Schema{
			Description: "With seat=0 to 3 the cards of that seat; with seat=all an array with those of every seat.",
			AnyOf:       []*huma.Schema{one, {Type: huma.TypeArray, Items: one}},
		}
	}
	r.Map()["Hands"] = either(ref("ResourceCounts"))
	r.Map()["DevCardHands"] = either(devs)
}
