package referee

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// oracle knows the whole match from the log, so that its bots can answer
// lawfully, and always the same to the same decision. What it is asked about
// must be stored before.
type oracle struct {
	t   *testing.T
	log eventstore.Log

	mu   sync.Mutex
	m    match.Match
	next eventstore.Revision
}

// now folds what was stored since.
func (o *oracle) now() match.Match {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fold()
}

func (o *oracle) fold() match.Match {
	for r, err := range o.log.Read(context.Background(), "match-"+testMatch, o.next, eventstore.ReadOptions{}) {
		require.NoError(o.t, err)
		e, err := match.Decode(r.Type, r.Data)
		require.NoError(o.t, err)
		o.m = match.Evolve(o.m, e)
		o.next = r.Revision + 1
	}
	return o.m
}

// lawful is the frame that answers a decision that is open in the log.
func (o *oracle) lawful(id int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.fold()
	for _, d := range m.Asks() {
		if d.ID == id {
			return answer(id, choose(&m.Game, d))
		}
	}
	require.Failf(o.t, "asked before it was stored", "decision %d", id)
	return ""
}

// choose picks a legal action, offers included, by the decision alone.
func choose(g *game.State, d match.Decision) game.Action {
	rng := rand.New(rand.NewPCG(uint64(d.ID), 1))
	if d.Kind == game.KindTurn && rng.IntN(6) == 0 {
		a := game.Action{Type: game.OfferTrade, To: board.None}
		a.Giving[rng.IntN(board.Resources)]++
		a.Taking[rng.IntN(board.Resources)]++
		if g.Check(uint8(d.Seat), a) == nil {
			return a
		}
	}
	legal := g.Legal(nil, uint8(d.Seat))
	return legal[rng.IntN(len(legal))]
}

func answer(id int, a game.Action) string {
	return fmt.Sprintf(`{"id":%d,"action":%s}`, id, actionJSON(a))
}

// actionJSON writes an action as a bot would.
func actionJSON(a game.Action) string {
	fields := map[string]any{}
	if a.Type.Kind() == game.KindTurn {
		fields["type"] = a.Type.String()
	}
	switch a.Type {
	case game.Setup:
		fields["settlement"], fields["road"] = a.Vertex, a.Edges[0]
	case game.BuildRoad:
		fields["edge"] = a.Edges[0]
	case game.BuildSettlement, game.BuildCity:
		fields["vertex"] = a.Vertex
	case game.PlayKnight, game.MoveBandit:
		fields["hex"] = a.Hex
		if a.Victim != board.None {
			fields["victim"] = a.Victim
		}
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
	case game.Discard:
		fields["cards"] = match.Counts(a.Giving)
	case game.Respond:
		fields["accept"] = a.Accept
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // maps of numbers and strings always encode
	}
	return string(b)
}
