package match

import (
	"encoding/json"
	"strconv"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// ActionJSON returns an action as JSON, in the shape in which a bot sends it. The names
// are in alphabetical order.
func ActionJSON(a game.Action) json.RawMessage {
	w := actionWriter{append(make([]byte, 0, 64), '{')}
	switch a.Type {
	case game.Setup:
		w.id("road", a.Edges[0])
		w.id("settlement", a.Vertex)
	case game.BuildRoad:
		w.id("edge", a.Edges[0])
	case game.PlayKnight, game.MoveBandit:
		w.id("hex", a.Hex)
	case game.PlayRoadworks:
		edges := a.Edges[:1]
		if a.Edges[1] != board.None {
			edges = a.Edges[:]
		}
		w.name("edges")
		w.b = appendList(w.b, "", edges, func(b []byte, edge uint8) []byte { return appendNumber(b, int(edge)) })
	case game.PlayWindfall:
		w.cards("take", a.Taking)
	case game.PlayEmbargo:
		w.text("resource", a.Get.String())
	case game.BankTrade:
		w.text("get", a.Get.String())
		w.text("give", a.Give.String())
	case game.OfferTrade:
		w.cards("get", a.Taking)
		w.cards("give", a.Giving)
		w.id("to", a.To)
	case game.Discard:
		w.cards("cards", a.Giving)
	case game.Respond:
		w.name("accept")
		w.b = strconv.AppendBool(w.b, a.Accept)
	}
	if a.Type.Kind() == game.KindTurn {
		w.text("type", a.Type.String())
	}
	switch a.Type {
	case game.BuildSettlement, game.BuildCity:
		w.id("vertex", a.Vertex)
	case game.PlayKnight, game.MoveBandit:
		w.id("victim", a.Victim)
	}
	return append(w.b, '}')
}

// actionWriter appends the fields of a JSON object.
type actionWriter struct{ b []byte }

func (w *actionWriter) name(name string) {
	if len(w.b) > 1 {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

// id appends a hex, a vertex, an edge or a seat. It skips board.None.
func (w *actionWriter) id(name string, id uint8) {
	if id != board.None {
		w.name(name)
		w.b = appendNumber(w.b, int(id))
	}
}

func (w *actionWriter) text(name, value string) {
	w.name(name)
	w.b = appendString(w.b, value)
}

func (w *actionWriter) cards(name string, cards game.Cards) {
	w.name(name)
	w.b = Counts(cards).appendJSON(w.b)
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
