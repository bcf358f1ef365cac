package match

import (
	"encoding/json"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// ActionJSON returns an action as JSON, in the shape in which a bot sends it.
func ActionJSON(a game.Action) json.RawMessage {
	fields := map[string]any{}
	id := func(name string, v uint8) {
		if v != board.None {
			fields[name] = v
		}
	}
	if a.Type.Kind() == game.KindTurn {
		fields["type"] = a.Type.String()
	}
	switch a.Type {
	case game.Setup:
		id("settlement", a.Vertex)
		id("road", a.Edges[0])
	case game.BuildRoad:
		id("edge", a.Edges[0])
	case game.BuildSettlement, game.BuildCity:
		id("vertex", a.Vertex)
	case game.PlayKnight, game.MoveBandit:
		id("hex", a.Hex)
		id("victim", a.Victim)
	case game.PlayRoadworks:
		edges := []int{int(a.Edges[0])}
		if a.Edges[1] != board.None {
			edges = append(edges, int(a.Edges[1]))
		}
		fields["edges"] = edges
	case game.PlayWindfall:
		fields["take"] = Counts(a.Taking)
	case game.PlayEmbargo:
		fields["resource"] = a.Get.String()
	case game.BankTrade:
		fields["give"], fields["get"] = a.Give.String(), a.Get.String()
	case game.OfferTrade:
		fields["give"], fields["get"] = Counts(a.Giving), Counts(a.Taking)
		id("to", a.To)
	case game.Discard:
		fields["cards"] = Counts(a.Giving)
	case game.Respond:
		fields["accept"] = a.Accept
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // maps of numbers and strings can always be encoded
	}
	return b
}

// WithTalk adds talk to an action that ActionJSON wrote.
func WithTalk(action json.RawMessage, talk string) json.RawMessage {
	fields := map[string]any{}
	if err := json.Unmarshal(action, &fields); err != nil {
		panic(err) // ActionJSON wrote it
	}
	fields["talk"] = talk
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // numbers and strings can always be encoded
	}
	return b
}
