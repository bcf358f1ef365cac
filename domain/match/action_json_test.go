package match_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
)

// sortedJSON encodes an action with encoding/json, which sorts the names of a map.
func sortedJSON(a game.Action) json.RawMessage {
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
		fields["take"] = match.Counts(a.Taking)
	case game.PlayEmbargo:
		fields["resource"] = a.Get.String()
	case game.BankTrade:
		fields["give"], fields["get"] = a.Give.String(), a.Get.String()
	case game.OfferTrade:
		fields["give"], fields["get"] = match.Counts(a.Giving), match.Counts(a.Taking)
		id("to", a.To)
	case game.Discard:
		fields["cards"] = match.Counts(a.Giving)
	case game.Respond:
		fields["accept"] = a.Accept
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // maps of numbers and strings can always be encoded
	}
	return b
}

// ActionJSON writes the bytes that encoding/json would write. Stored events contain them.
func TestActionJSONSortsItsNames(t *testing.T) {
	rng := logtest.Random(t)
	types := map[game.Type]int{}
	for range 20_000 {
		id := func(n int) uint8 {
			if rng.IntN(4) == 0 {
				return board.None
			}
			return uint8(rng.IntN(n))
		}
		a := game.Action{
			Type: game.Type(rng.IntN(int(game.Respond) + 1)), Vertex: id(board.Vertices), Edges: [2]uint8{uint8(rng.IntN(board.Edges)), id(board.Edges)},
			Hex: id(board.Hexes), Victim: id(4), To: id(4), Accept: rng.IntN(2) == 0,
			Give: board.Resource(rng.IntN(board.Resources)), Get: board.Resource(rng.IntN(board.Resources)),
		}
		for r := range a.Giving {
			a.Giving[r], a.Taking[r] = uint16(rng.IntN(3)), uint16(rng.IntN(12))
		}
		require.Equal(t, string(sortedJSON(a)), string(match.ActionJSON(a)))
		types[a.Type]++
	}
	require.Len(t, types, int(game.Respond)+1)
}
