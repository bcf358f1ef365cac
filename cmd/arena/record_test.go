package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/projections/matches"
)

// record is the record of an ended match, as the REST API returns it.
type record struct {
	matches.Summary
	Seed   string
	Replay []event
	Proof  *match.Proof
	frames []frame // one frame for each event of the replay, with every seat's cards
}

// event is a MatchEvent in the OpenAPI description.
type event struct {
	Seq  int
	At   string
	Kind string
	Seat *int
	Data data
}

// data holds the fields that the tests read from events, for all kinds of events
// together.
type data struct {
	Decision  int
	Kind      string
	Action    json.RawMessage
	Default   bool
	ElapsedMs *int64
	Cause     string
	Reason    string
	Message   string
	Answer    *string
	Strikes   int
	Victim    *int
}

// frame is a Frame in the OpenAPI description, with every seat's hand.
type frame struct {
	match.Common
	Board match.FrameBoard
	Hand  []match.Counts
}

func (s *testArena) record(id string) record {
	s.t.Helper()
	var r record
	s.get("/matches/"+id, &r)
	require.Equal(s.t, matches.Completed, r.Status)
	var all struct{ Frames []frame }
	s.get("/matches/"+id+"/frames?seat=all", &all)
	require.Len(s.t, all.Frames, len(r.Replay))
	r.frames = all.Frames
	return r
}

// seatOf finds a bot by its name.
func (r *record) seatOf(name string) int {
	return slices.IndexFunc(r.Players, func(p matches.Player) bool { return p.BotName == name })
}

// requireWhole checks properties that every replay must have. Its events are numbered
// from 1. It begins with the board and ends with the end of the match. After each
// rejected or missing answer, the default follows. After a seat's third such answer,
// the seat resigns, and all its later actions are defaults. Only the faulty seats
// have rejected or missing answers.
func (r *record) requireWhole(t testing.TB, faulty ...int) {
	t.Helper()
	require.Equal(t, "board", r.Replay[0].Kind)
	require.Equal(t, "end", r.Replay[len(r.Replay)-1].Kind)
	resigned := map[int]bool{}
	for i, e := range r.Replay {
		require.Equal(t, i+1, e.Seq)
		switch e.Kind {
		case "timeout", "illegal":
			require.Contains(t, faulty, *e.Seat, "an undeserved strike: %+v", e.Data)
			require.False(t, resigned[*e.Seat], "a strike after the resignation")
			r.requireDefault(t, i+1, e)
			if e.Data.Strikes == match.MaxStrikes {
				require.Equal(t, "resign", r.Replay[i+2].Kind)
				require.Equal(t, *e.Seat, *r.Replay[i+2].Seat)
				require.Equal(t, match.MaxStrikes, r.Replay[i+2].Data.Strikes)
			}
		case "resign":
			resigned[*e.Seat] = true
		case "action":
			struck := r.Replay[i-1].Kind == "timeout" || r.Replay[i-1].Kind == "illegal"
			require.Equal(t, e.Data.Default, struck || resigned[*e.Seat])
			require.Equal(t, e.Data.Default, e.Data.ElapsedMs == nil)
			if e.Data.Default {
				require.JSONEq(t, r.defaultAction(t, i), string(e.Data.Action))
			}
		}
	}
}

// requireDefault requires that event i is the default for the decision of the strike
// e.
func (r *record) requireDefault(t testing.TB, i int, e event) {
	t.Helper()
	played := r.Replay[i]
	require.Equal(t, "action", played.Kind)
	require.Equal(t, *e.Seat, *played.Seat)
	require.Equal(t, e.Data.Decision, played.Data.Decision)
	require.Equal(t, e.Data.Kind, played.Data.Kind)
	require.True(t, played.Data.Default)
}

// defaultAction returns the default for the decision of event i, based on the frame
// before that event. The specification defines the defaults in "Defaults when a
// decision fails".
func (r *record) defaultAction(t testing.TB, i int) string {
	t.Helper()
	e, before := r.Replay[i], r.frames[i-1]
	var a any
	switch e.Data.Kind {
	case "setup":
		a = lowestPlacement(before)
	case "bandit":
		hex := 0
		if before.Board.Bandit == 0 {
			hex = 1
		}
		a = action{"hex": hex}
	case "discard":
		s := survey{hand: game.Cards(before.Hand[*e.Seat])}
		a = action{"cards": s.drop()}
	case "trade":
		a = action{"accept": false}
	default:
		a = action{"type": "end_turn"}
	}
	b, err := json.Marshal(a)
	require.NoError(t, err)
	return string(b)
}

func lowestPlacement(f frame) action {
	blocked := map[uint8]bool{}
	for _, town := range f.Towns {
		blocked[uint8(town.Vertex)] = true
		for _, v := range board.VertexVertices[town.Vertex] {
			blocked[v] = true
		}
	}
	v := uint8(0)
	for blocked[v] {
		v++
	}
	taken := map[uint8]bool{}
	for _, road := range f.Roads {
		taken[uint8(road.Edge)] = true
	}
	for _, e := range board.VertexEdges[v] {
		if !taken[e] {
			return action{"settlement": v, "road": e}
		}
	}
	return nil
}

func playedBy(botID string) func(matches.Player) bool {
	return func(p matches.Player) bool { return p.BotID == botID }
}
