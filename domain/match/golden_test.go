package match

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/beacon"
	"hexarena/domain/game"
	"hexarena/domain/seed"
	"hexarena/eventstore/logtest"
)

// examples holds one event of each type, with every field set.
var examples = []Event{
	Started{
		MatchID: "m", Mode: "parley", Rules: 1,
		Seats:      []Seat{{BotID: "b", BotName: "Bot", OwnerID: "o", Mu: 25.5, Sigma: 8.25, Version: "1.0"}},
		Table:      Table{Bots: []string{"b"}, Revision: 4, Index: 2, SeedKey: "k"},
		Commitment: seed.Seed{1}, Nonces: []string{"n"}, Deadlines: Deadlines{DecisionMs: 60000, WallMs: 10800000},
	},
	Claimed{Player: "p"},
	BoardLaid{BoardData{
		Hexes: []Hex{{ID: 0, Resource: "desert"}, {ID: 1, Resource: "ore", Token: ptr(8)}},
		Ports: []Port{{Vertices: [2]int{0, 3}, Rate: 3}, {Vertices: [2]int{11, 16}, Rate: 2, Resource: "brick"}},
	}},
	DiceRolled{Seat: 1, RollData: RollData{Turn: 5, Dice: [2]int{3, 4}}},
	ActionPlayed{Seat: 2, ActionData: ActionData{Decision: 9, Kind: "turn", Action: json.RawMessage(`{"type":"play_embargo","resource":"ore"}`), ElapsedMs: ptr(int64(12)), Collected: []int{1, 0, 0, 2}}},
	ActionPlayed{Seat: 2, ActionData: ActionData{Decision: 10, Kind: "turn", Action: json.RawMessage(`{"type":"end_turn"}`), Default: true}},
	CardStolen{Seat: 1, StealData: StealData{Victim: 3}},
	TradeExecuted{TradeData{From: 0, To: 2, Give: Counts{1, 0, 2, 0, 0}, Get: Counts{0, 0, 0, 0, 1}}},
	AwardMoved{AwardData{Award: "longestRoad", From: ptr(0), To: nil}},
	DecisionTimedOut{Seat: 3, TimeoutData: TimeoutData{Decision: 11, Kind: "bandit", Cause: CauseMalformed, ElapsedMs: 7, Answer: ptr("{"), Strikes: 1}, Heard: true},
	AnswerRejected{Seat: 3, IllegalData: IllegalData{Decision: 12, Kind: "turn", Reason: "deck_empty", Message: "no card is left", Answer: "{}", ElapsedMs: 8, Strikes: 2}},
	SeatResigned{Seat: 3, ResignData: ResignData{Strikes: 3}},
	GameEnded{EndData: EndData{Reason: "win", Scores: []int{10, 4, 4}, Placements: []int{1, 2, 2}}, Seed: seed.Seed{2}, Proof: Proof{ServerSeed: seed.Seed{3}, Nonces: []string{""}, Table: []string{"b"}, Revision: 4, Index: 2, SeedKey: "k"}},
	Aborted{Why: WallClock, Seed: seed.Seed{2}, Proof: Proof{ServerSeed: seed.Seed{3}, Nonces: []string{""}, Table: []string{"b"}, Revision: 4, Index: 2, SeedKey: "k"}},
	Aborted{Why: Operator, Reason: "a fault of ours", Seed: seed.Seed{2}, Proof: Proof{ServerSeed: seed.Seed{3}, Nonces: []string{""}, Table: []string{"b"}, Revision: 4, Index: 2, SeedKey: "k"}},
	Started{
		MatchID: "m", Mode: "parley", Rules: 1,
		Seats:      []Seat{{BotID: "b", BotName: "Bot", OwnerID: "o", Mu: 25.5, Sigma: 8.25}},
		Table:      Table{Bots: []string{"b"}, Revision: 4, Index: 2, SeedKey: "k"},
		Commitment: seed.Seed{1}, Nonces: []string{"n"}, Deadlines: Deadlines{DecisionMs: 60000, WallMs: 10800000},
		Beacon: &beacon.Round{Chain: "52db", Round: 1000, Randomness: "fe29", Signature: "b446"},
	},
	Started{
		MatchID: "m", Mode: "parley", Rules: 1,
		Seats:      []Seat{{BotID: "b", BotName: "Bot", OwnerID: "o", Mu: 25.5, Sigma: 8.25}},
		Table:      Table{Bots: []string{"b"}, Revision: 4, Index: 2, SeedKey: "k"},
		Commitment: seed.Seed{1}, Nonces: []string{"n"}, Deadlines: Deadlines{DecisionMs: 60000, WallMs: 10800000, BankMs: 10260000},
	},
}

// detailExamples holds one event of each type that a details stream contains.
var detailExamples = []Event{
	TimeoutExplained{Seat: 3, Decision: 11, Fault: Fault{CodeMissing, "/id", "/id is missing"}},
	TimeoutExplained{Seat: 3, Decision: 14, Fault: silent},
	LateAnswerReceived{Seat: 3, Decision: 14, LateAnswer: LateAnswer{LateMs: 1004, Answer: "{}"}},
}

// A stored shape never changes: old logs must remain readable forever.
func TestStoredShapes(t *testing.T) {
	var b bytes.Buffer
	for _, e := range examples {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %s\n", e.EventType(), data)
		back, err := Decode(e.EventType(), data)
		require.NoError(t, err)
		require.Equal(t, e, back)
	}
	for _, e := range detailExamples {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %s\n", e.EventType(), data)
		back, err := DecodeDetail(e.EventType(), data)
		require.NoError(t, err)
		require.Equal(t, e, back)
	}
	logtest.RequireGolden(t, "testdata/stored_shapes.golden", b.Bytes())
	_, err := Decode("DiceLost", []byte("{}"))
	require.ErrorContains(t, err, "DiceLost")
}

// The golden file contains a whole match of three seats, including strikes, as the
// record shows it.
func TestTranscript(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 26))
	m, stored := playOut(t, seed.Seed{20, 26}, 3, wild(rng, 2))
	var r Replay
	var b bytes.Buffer
	for _, e := range stored {
		r.Add(e, at)
	}
	for _, e := range r.Events {
		seat := ""
		if e.Seat != nil {
			seat = fmt.Sprint(*e.Seat)
		}
		data, err := json.Marshal(e.Data)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%3d %-7s %1s %s\n", e.Seq, e.Kind, seat, data)
	}
	require.NotNil(t, m.End)
	logtest.RequireGolden(t, "testdata/transcript.golden", b.Bytes())
}

// Together, the seeded matches contain every public kind of event.
func TestEveryKindOccurs(t *testing.T) {
	seen := map[string]bool{}
	turns := map[string]bool{}
	for i := range uint64(60) {
		rng := rand.New(rand.NewPCG(i, 9))
		_, events := playOut(t, randomSeed(rng), 3+int(i%2), wild(rng, int(i%3)))
		for _, e := range events {
			kind, _, _ := Publish(e)
			seen[kind] = true
			if a, ok := e.(ActionPlayed); ok && !a.Default {
				action, _ := playedAction(a.ActionData)
				turns[action.Type.String()] = true
			}
		}
	}
	for _, k := range PublicKinds {
		require.True(t, seen[k.Kind], k.Kind)
	}
	for typ := game.Setup; typ <= game.Respond; typ++ {
		require.True(t, turns[typ.String()], typ.String())
	}
}

// PublicKinds describes the kinds, seats and data that Publish returns.
func TestPublicKindsFitThePublishedEvents(t *testing.T) {
	kinds := map[string]PublicKind{}
	for _, k := range PublicKinds {
		kinds[k.Kind] = k
	}
	require.Len(t, kinds, len(PublicKinds))
	published := map[string]bool{}
	for _, e := range examples {
		kind, seat, data := Publish(e)
		if kind == "" {
			continue
		}
		require.Contains(t, kinds, kind)
		published[kind] = true
		require.IsType(t, kinds[kind].Data, data, kind)
		if kinds[kind].Seat != MaySeat {
			require.Equal(t, kinds[kind].Seat == OneSeat, seat != nil, kind)
		}
	}
	require.Len(t, published, len(PublicKinds))
}

func FuzzDecode(f *testing.F) {
	for _, e := range examples {
		data, err := json.Marshal(e)
		require.NoError(f, err)
		f.Add(e.EventType(), data)
	}
	f.Fuzz(func(t *testing.T, eventType string, data []byte) {
		e, err := Decode(eventType, data)
		if err != nil {
			return
		}
		again, err := json.Marshal(e)
		require.NoError(t, err)
		back, err := Decode(eventType, again)
		require.NoError(t, err)
		third, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(again), string(third))
	})
}
