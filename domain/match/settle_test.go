package match

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/beacon"
	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// The function kinds lists the public kinds of events, with their seats.
func kinds(events []Event) []string {
	var list []string
	for _, e := range events {
		kind, seat, _ := Publish(e)
		if seat != nil {
			kind += fmt.Sprint(" ", *seat)
		}
		list = append(list, kind)
	}
	return list
}

// The function find() plays matches with legal actions. It returns the first match that
// satisfies the function want.
func find(t tester, rng *rand.Rand, seats int, want func(Match) bool) Match {
	t.Helper()
	for range 1000 {
		m, _ := begin(t, randomSeed(rng), seats)
		for !m.Over() {
			if want(m) {
				return m
			}
			m, _ = step(t, m, lawful(rng))
		}
	}
	require.FailNow(t, "found no suitable match")
	return Match{}
}

func owes(kind game.Kind, n int) func(Match) bool {
	return func(m Match) bool { a := m.Asks(); return len(a) == n && a[0].Kind == kind }
}

func TestStartSeatsByTheJointSeed(t *testing.T) {
	server := seed.Seed{1}
	s := seating(server, 4)
	s.Nonces = []string{"a", "", "b", "c"}
	m := New(server)
	events, err := m.Start(s)
	require.NoError(t, err)
	require.Equal(t, []string{"", "board"}, kinds(events))
	m = EvolveAll(m, events)
	joint := seed.Joint(server, s.Nonces)
	for i, at := range joint.Seating(4) {
		require.Equal(t, s.Bots[at], m.Started.Seats[i])
	}
	require.Equal(t, joint, m.Seed)
	require.Equal(t, []Decision{{ID: 1, Seat: 0, Kind: game.KindSetup}}, m.Asks())

	_, err = m.Start(s)
	require.Error(t, err, "a match can start only once")
	s.Commitment = seed.Seed{}
	_, err = New(server).Start(s)
	require.Error(t, err, "the commitment must match the seed key")
}

// If the table names a beacon round, the seed comes only from the server seed and the
// round. The match stores and publishes both the nonces and the round.
func TestStartWithABeacon(t *testing.T) {
	server := seed.Seed{1}
	round := beacon.NewRound(beacon.Named{Chain: beacon.Quicknet().Hash, Round: 1000}, make([]byte, beacon.SignatureSize))
	_, randomness, err := round.Decode()
	require.NoError(t, err)
	for _, nonces := range [][]string{{"", "", "", ""}, {"a", "", "b", "c"}} {
		s := seating(server, 4)
		s.Nonces, s.Beacon = nonces, &round
		events, err := New(server).Start(s)
		require.NoError(t, err)
		m := EvolveAll(New(server), events)
		want := seed.WithBeacon(server, randomness)
		require.Equal(t, want, m.Seed)
		for i, at := range want.Seating(4) {
			require.Equal(t, s.Bots[at], m.Started.Seats[i])
		}
		require.Equal(t, nonces, m.Proof().Nonces)
		require.Equal(t, &round, m.Proof().Beacon)
	}
	s := seating(server, 4)
	bad := round
	bad.Randomness = "00" + bad.Randomness[2:]
	s.Beacon = &bad
	_, err = New(server).Start(s)
	require.EqualError(t, err, "the randomness of round 1000 is not the SHA-256 of its signature")
}

func TestEveryFailureIsAStrikeAndTheDefault(t *testing.T) {
	legal := `{"id":1,"action":{"settlement":0,"road":0}}`
	for name, c := range map[string]struct {
		outcome Outcome
		want    Event
	}{
		"deadline":  {missed(CauseDeadline), DecisionTimedOut{TimeoutData: TimeoutData{Decision: 1, Kind: "setup", Cause: CauseDeadline, ElapsedMs: 5000, Strikes: 1}}},
		"dropped":   {missed(CauseDropped), DecisionTimedOut{TimeoutData: TimeoutData{Decision: 1, Kind: "setup", Cause: CauseDropped, ElapsedMs: 5000, Strikes: 1}}},
		"oversized": {missed(CauseOversized), DecisionTimedOut{TimeoutData: TimeoutData{Decision: 1, Kind: "setup", Cause: CauseOversized, ElapsedMs: 5000, Strikes: 1}}},
		"malformed": {
			Outcome{Frame: []byte("{"), ElapsedMs: 2},
			DecisionTimedOut{TimeoutData: TimeoutData{Decision: 1, Kind: "setup", Cause: CauseMalformed, ElapsedMs: 2, Answer: ptr("{"), Strikes: 1}},
		},
		"binary": {
			Outcome{Cause: CauseMalformed, Frame: []byte("\xff"), ElapsedMs: 2},
			DecisionTimedOut{TimeoutData: TimeoutData{Decision: 1, Kind: "setup", Cause: CauseMalformed, ElapsedMs: 2, Answer: ptr("\uFFFD"), Strikes: 1}},
		},
		"illegal": {
			Outcome{Frame: []byte(`{"id":1,"action":{"settlement":0,"road":71}}`), ElapsedMs: 4},
			AnswerRejected{IllegalData: IllegalData{Decision: 1, Kind: "setup", Reason: game.ReasonRoadNotAtSettlement, Answer: `{"id":1,"action":{"settlement":0,"road":71}}`, ElapsedMs: 4, Strikes: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := begin(t, seed.Seed{9}, 4)
			c.outcome.Decision = 1
			events, err := m.Settle([]Outcome{c.outcome})
			require.NoError(t, err)
			require.Len(t, events, 2)
			if got, ok := events[0].(AnswerRejected); ok {
				require.NotEmpty(t, got.Message)
				got.Message = ""
				events[0] = got
			}
			require.Equal(t, c.want, events[0])
			played := events[1].(ActionPlayed)
			require.True(t, played.Default)
			require.Nil(t, played.ElapsedMs)
			require.JSONEq(t, `{"settlement":0,"road":0}`, string(played.Action))
			m = EvolveAll(m, events)
			require.Equal(t, []Decision{{ID: 2, Seat: 1, Kind: game.KindSetup}}, m.Asks())
		})
	}
	m, _ := begin(t, seed.Seed{9}, 4)
	events, err := m.Settle([]Outcome{{Decision: 1, Frame: []byte(legal), ElapsedMs: 4}})
	require.NoError(t, err)
	require.Equal(t, []string{"action 0"}, kinds(events))
	require.Equal(t, ptr(int64(4)), events[0].(ActionPlayed).ElapsedMs)
}

func TestSettleRejectsOtherOutcomes(t *testing.T) {
	m, _ := begin(t, seed.Seed{9}, 4)
	for _, outcomes := range [][]Outcome{nil, {{Decision: 2}}, {{Decision: 1}, {Decision: 2}}} {
		_, err := m.Settle(outcomes)
		require.ErrorIs(t, err, ErrStaleDecision)
	}
}

// On its third strike, a seat resigns after the default action for that decision is
// played. After that, the seat is no longer asked, and its defaults are played.
func TestThirdStrikeResigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := find(t, rng, 4, func(m Match) bool {
		a := m.Asks()
		return m.Game.Turn > 0 && a[0].Seat == 2 && a[0].Kind == game.KindTurn
	})
	m.Strikes[2] = 2
	after, events := step(t, m, func(*Match, Decision) Outcome { return missed(CauseDeadline) })
	require.Equal(t, []string{"timeout 2", "action 2", "resign 2", "roll 3"}, kinds(events)[:4])
	require.True(t, after.Resigned[2])

	for !after.Over() {
		for _, d := range after.Asks() {
			require.NotEqual(t, 2, d.Seat, "a resigned seat is not asked")
		}
		after, events = step(t, after, lawful(rng))
		for _, e := range events {
			if a, ok := e.(ActionPlayed); ok && a.Seat == 2 {
				require.True(t, a.Default)
				require.Nil(t, a.ElapsedMs)
			}
		}
	}
}

// Once all seats have resigned, the match immediately plays defaults until it ends.
func TestAllResigned(t *testing.T) {
	m, events := playOut(t, seed.Seed{5}, 3, func(*Match, Decision) Outcome { return missed(CauseDropped) })
	require.NotNil(t, m.End)
	require.Equal(t, "stalemate", m.End.Reason)
	require.Equal(t, []int{1, 1, 1}, m.End.Placements)
	for s := range 3 {
		require.True(t, m.Missed(s))
	}
	require.Equal(t, "end", kinds(events[len(events)-1:])[0])
}

// All seats are asked for their discards at the same time. The discards stay hidden
// until all are settled, and are applied in seat order. The batch contains each
// seat's failure, action and resignation, in this order.
func TestBatchOfDiscards(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	m := find(t, rng, 4, owes(game.KindDiscard, 3))
	asks := m.Asks()
	m.Strikes[asks[1].Seat] = 2
	_, events := step(t, m, func(m *Match, d Decision) Outcome {
		if d == asks[1] {
			return missed(CauseDeadline)
		}
		return lawful(rng)(m, d)
	})
	require.Equal(t, []string{
		fmt.Sprint("action ", asks[0].Seat),
		fmt.Sprint("timeout ", asks[1].Seat), fmt.Sprint("action ", asks[1].Seat), fmt.Sprint("resign ", asks[1].Seat),
		fmt.Sprint("action ", asks[2].Seat),
	}, kinds(events)[:5])
	require.Equal(t, asks[0].ID+1, asks[1].ID)
	require.Equal(t, asks[1].ID+1, asks[2].ID)
}

// Every opponent is asked about an open offer. The first accepting seat after the
// offerer gets the trade. The log contains the talk of these answers in seat order.
func TestOpenOffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 7))
	m := find(t, rng, 4, func(m Match) bool {
		a := m.Asks()
		g := &m.Game
		return a[0].Kind == game.KindTurn && g.Seat == 1 && g.Hands[1][0] > 0 && g.Hands[0][1] > 0 && g.Hands[3][1] > 0 && m.talked == 0
	})
	m, events := step(t, m, func(m *Match, d Decision) Outcome {
		return answerJSON(d, `{"type":"offer_trade","give":{"brick":1},"get":{"lumber":1},"talk":"please"}`)
	})
	require.Equal(t, []string{"action 1"}, kinds(events))
	require.Equal(t, "please", m.View(0).OpenTrade.Talk)
	require.Len(t, m.Asks(), 3)

	m, events = step(t, m, func(m *Match, d Decision) Outcome {
		return answerJSON(d, fmt.Sprintf(`{"accept":%t,"talk":"I am %d"}`, d.Seat != 2, d.Seat))
	})
	require.Equal(t, []string{"action 0", "action 2", "action 3", "trade 1"}, kinds(events))
	require.Equal(t, 3, events[3].(TradeExecuted).To)
	talk := m.View(0).TalkLog
	require.Equal(t, []string{"please", "I am 0", "I am 2", "I am 3"}, messages(talk[len(talk)-4:]))

	again := m.Asks()[0]
	require.Equal(t, 1, again.Seat)
	_, events = step(t, m, func(m *Match, d Decision) Outcome { return answerJSON(d, `{"type":"end_turn","talk":"again"}`) })
	require.Equal(t, game.ReasonTalkTwice, events[0].(AnswerRejected).Reason)
}

func messages(log []TableTalk) []string {
	var list []string
	for _, t := range log {
		list = append(list, t.Message)
	}
	return list
}

// Accepting without the cards is illegal. It costs a strike and counts as a
// rejection.
func TestAcceptingWithoutTheCards(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	m := find(t, rng, 4, func(m Match) bool {
		return m.Asks()[0].Kind == game.KindTurn && m.Game.Seat == 0 && m.Game.Hands[0][2] > 0 && m.Game.Hands[3][4] == 0
	})
	m, _ = step(t, m, func(m *Match, d Decision) Outcome {
		return answerJSON(d, `{"type":"offer_trade","give":{"wool":1},"get":{"ore":1},"to":3}`)
	})
	require.Equal(t, []int{3}, []int{m.Asks()[0].Seat})
	m, events := step(t, m, func(m *Match, d Decision) Outcome { return answerJSON(d, `{"accept":true}`) })
	require.Equal(t, []string{"illegal 3", "action 3"}, kinds(events))
	require.Equal(t, game.ReasonNotEnoughCards, events[0].(AnswerRejected).Reason)
	require.JSONEq(t, `{"accept":false}`, string(events[1].(ActionPlayed).Action))
	require.Nil(t, m.View(0).OpenTrade)
}

// An answer is ignored if it names an earlier decision that was asked of the same seat
// and is now closed. Every other answer counts.
func TestStaleIdsAreIgnored(t *testing.T) {
	m, _ := begin(t, seed.Seed{9}, 3)
	seat := m.Asks()[0].Seat
	m, _ = step(t, m, func(*Match, Decision) Outcome { return missed(CauseDeadline) })
	for m.Asks()[0].Seat != seat {
		m, _ = step(t, m, func(m *Match, d Decision) Outcome { return answerWith(d, m.Game.Default(uint8(d.Seat)), "") })
	}
	require.False(t, m.AnswersOpenDecision(seat, []byte(`{"id":1,"action":{"settlement":0,"road":0}}`)), "asked and closed")
	require.False(t, m.AnswersOpenDecision(seat, []byte(`{"id":1}`)))
	require.True(t, m.AnswersOpenDecision(seat, []byte(`{"id":2,"action":{}}`)), "asked of another seat")
	require.True(t, m.AnswersOpenDecision(seat, []byte(`{"id":99}`)), "never asked")
	require.True(t, m.AnswersOpenDecision(seat, []byte(`nonsense`)))
}

func TestCancelByOrder(t *testing.T) {
	m, _ := begin(t, seed.Seed{9}, 3)
	_, err := m.CancelByOrder(" ")
	require.ErrorIs(t, err, ErrNoReason)
	events, err := m.CancelByOrder("a fault of ours\n")
	require.NoError(t, err)
	require.Equal(t, []Event{Aborted{Why: Operator, Reason: "a fault of ours", Seed: m.Seed, Proof: m.Proof()}}, events)
	over := Evolve(m, events[0])
	require.True(t, over.Over())
	_, err = over.CancelByOrder("again")
	require.Error(t, err)
	_, err = New(seed.Seed{}).CancelByOrder("never started")
	require.Error(t, err)
}

func TestCancel(t *testing.T) {
	m, _ := begin(t, seed.Seed{9}, 3)
	events, err := m.Cancel(WallClock)
	require.NoError(t, err)
	m = EvolveAll(m, events)
	require.True(t, m.Over())
	require.Empty(t, m.Asks())
	require.Equal(t, m.Seed, m.Abort.Seed)
	_, err = m.Cancel(WallClock)
	require.Error(t, err)
}

// When a seat answers a decision, its count of failed dials becomes zero. The counts of
// the other seats do not change.
func TestCountFailedDials(t *testing.T) {
	m, _ := begin(t, seed.Seed{1}, 3)
	seat := m.Asks()[0].Seat
	count := func(at int) []int {
		counts := []int{7, 7, 7}
		counts[seat] = at
		return counts
	}
	one := make([]int, 3)
	one[seat] = 1
	for name, c := range map[string]struct {
		given   []int
		outcome Outcome
		then    []int
	}{
		"first":     {nil, Outcome{Decision: 1, NoLine: true}, one},
		"next":      {count(1), Outcome{Decision: 1, NoLine: true}, count(2)},
		"answered":  {count(2), Outcome{Decision: 1}, count(0)},
		"only one":  {one, Outcome{Decision: 1, Cause: CauseDropped}, nil},
		"not asked": {count(2), Outcome{Decision: 1, Unasked: true}, count(2)},
		"canceled":  {count(2), Outcome{}, count(2)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.then, m.CountFailedDials(c.given, []Outcome{c.outcome})) })
	}
}
