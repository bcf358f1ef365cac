package match

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/game"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)

// Whatever the bots answer, the match ends, and the invariants of its events hold.
func TestAnyAnswersKeepTheInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkAnswers(t, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(3, 4).Draw(t, "seats"), rapid.SampledFrom([]int{0, 2, 10, 60, 100}).Draw(t, "madness"))
	})
}

// In this match, a seat wins at its roll with hidden points.
func TestHiddenPointsWinAtTheRoll(t *testing.T) { checkAnswers(t, 0x8be, 4, 0) }

func checkAnswers(t rapid.TB, seed uint64, seats, madness int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	bots := wild(rng, madness)
	m, stored := begin(t, randomSeed(rng), seats)
	for !m.Over() {
		checkViews(t, &m)
		var more []Event
		before := m
		m, more = step(t, m, bots)
		checkOwed(t, before, m, more)
		stored = append(stored, more...)
	}
	checkHistory(t, m, stored)
}

// checkHistory checks that the stored events decode to the same events and fold
// to the same match. It also checks that a spectator who sees only public
// events has the same public state.
func checkHistory(t rapid.TB, m Match, stored []Event) {
	again, spectator := New(m.ServerSeed), Spectator{}
	seq := 0
	for _, e := range stored {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		decoded, err := Decode(e.EventType(), data)
		require.NoError(t, err)
		again = Evolve(again, decoded)
		var public bool
		if spectator, public = spectator.Fold(decoded); public {
			seq++
			shown := again
			if winsWithHiddenPoints(again.Game, decoded) {
				shown = withPaidRoll(again)
			}
			require.Equal(t, shown.Game.Public, spectator.Public, "after %d %s", seq, e.EventType())
			require.Equal(t, shown.Frame(decoded, at, NoHands), spectator.Frame(decoded, at, true))
			live := spectator.Frame(decoded, at, false)
			text, err := json.Marshal(live)
			require.NoError(t, err)
			require.Equal(t, string(text), string(live.AppendJSON(nil)))
			require.Equal(t, seq, spectator.Seq)
		}
	}
	require.Equal(t, m.Game, again.Game)
	require.Equal(t, m.Strikes, again.Strikes)
	require.NotNil(t, again.End)
	for s := range m.Strikes {
		require.LessOrEqual(t, m.Strikes[s], MaxStrikes)
		require.Equal(t, m.Strikes[s] == MaxStrikes, m.Resigned[s])
	}
}

// winsWithHiddenPoints reports whether an event is a roll at which a seat wins with hidden
// points. The game g includes the event.
func winsWithHiddenPoints(g game.State, e Event) bool {
	_, roll := e.(DiceRolled)
	return roll && g.TrueScore(g.Seat) >= game.PointsToWin && g.Score(g.Seat) < game.PointsToWin
}

// withPaidRoll returns a match after a roll as a spectator sees it who does not know of
// hidden points. A seat that wins at its roll gets no cards. The spectator learns this only
// from the end of the game (docs/adr/0047-a-win-at-the-roll-comes-before-the-hexes-pay.md).
func withPaidRoll(m Match) Match {
	for seat, paid := range m.Game.Production(m.Game.Dice[0] + m.Game.Dice[1]) {
		m.Game.HandCounts[seat] += uint16(paid.Total())
	}
	return m
}

// checkOwed checks that frames list the seats that owe an answer. The list must not change
// before all decisions of a batch are settled.
func checkOwed(t rapid.TB, before, after Match, more []Event) {
	seats := func(m Match, asks []Decision) []int {
		list := []int{}
		for _, d := range asks {
			if !m.Resigned[d.Seat] {
				list = append(list, d.Seat)
			}
		}
		return list
	}
	batch := before.Asks()
	answered := 0
	m := before
	for _, e := range more {
		m = Evolve(m, e)
		if a, ok := e.(ActionPlayed); ok && a.Decision <= batch[len(batch)-1].ID {
			answered++
		}
		if answered < len(batch) {
			require.Equal(t, seats(m, batch), m.Frame(e, at, NoHands).Owed, "before the batch is settled")
		}
	}
	require.Equal(t, seats(after, after.Asks()), m.Frame(more[len(more)-1], at, NoHands).Owed)
}

// While a match runs, frames do not show which seats accept an offer. The only public fact
// is the trade that follows.
func TestFramesHideWhoAccepts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	offers := 0
	for range 20 {
		m, stored := begin(t, randomSeed(rng), 4)
		var spectator Spectator
		watch := func(events []Event) (shown string) {
			s := spectator
			for _, e := range events {
				var public bool
				if s, public = s.Fold(e); public {
					text, err := json.Marshal(s.Frame(e, at, false))
					require.NoError(t, err)
					shown += string(text) + "\n"
				}
			}
			return shown
		}
		for !m.Over() {
			for _, e := range stored {
				spectator, _ = spectator.Fold(e)
			}
			if asks := m.Asks(); len(asks) > 1 && asks[0].Kind == game.KindTrade {
				offers++
				shown := map[string]string{} // by the trade that follows
				for accepting := range 1 << len(asks) {
					events, trade := answers(t, m, accepting)
					text := watch(events)
					if before, ok := shown[trade]; ok {
						require.Equal(t, before, text)
					}
					shown[trade] = text
				}
			}
			m, stored = step(t, m, lawful(rng))
		}
	}
	require.Greater(t, offers, 20)
}

// The function answers returns the events of a batch in which some seats accept an open
// offer, up to the trade. It also returns the trade in words.
func answers(t *testing.T, m Match, accepting int) (events []Event, trade string) {
	t.Helper()
	for s := range m.Game.Hands { // everyone can pay
		m.Game.Hands[s] = game.Cards{9, 9, 9, 9, 9}
		m.Game.HandCounts[s] = uint16(m.Game.Hands[s].Total())
	}
	var outcomes []Outcome
	for i, d := range m.Asks() {
		o := answerJSON(d, fmt.Sprintf(`{"accept":%t}`, accepting>>i&1 == 1))
		o.Decision = d.ID
		outcomes = append(outcomes, o)
	}
	events, err := m.Settle(outcomes)
	require.NoError(t, err)
	return events, fmt.Sprint(events[len(outcomes):])
}

// checkViews checks that a view follows the specification, and that it does not
// depend on anything hidden from the viewer. It also checks that the
// hand-written encoder and encoding/json return the same bytes.
func checkViews(t rapid.TB, m *Match) {
	for seat := range int(m.Game.Seats) {
		v := m.View(seat)
		want, err := json.Marshal(v)
		require.NoError(t, err)
		got := v.AppendJSON(nil)
		require.Equal(t, string(want), string(got))

		checkScan(t, Request{ID: seat, MatchID: "m", Mode: "standard", Seat: seat, Kind: "turn", DeadlineMs: 5000, View: v})

		other := *m
		for s := range other.Game.Hands {
			if s != seat {
				other.Game.Hands[s] = game.Cards{m.Game.HandCounts[s]}
				other.Game.Devs[s], other.Game.Bought[s] = game.DevCards{m.Game.DevCounts[s]}, game.DevCards{}
			}
		}
		require.Equal(t, string(got), string(ptr(other.View(seat)).AppendJSON(nil)))

		hand, devs := 0, len(v.DevCards)+len(v.DevBoughtThisTurn)
		for _, n := range v.Hand {
			hand += int(n)
		}
		require.Equal(t, v.HandCounts[seat], hand)
		require.Equal(t, v.DevCounts[seat], devs)
		require.LessOrEqual(t, v.Scores[seat], v.MyScore)
	}
}

func ptr[T any](v T) *T { return &v }

// Settle depends only on the match and the outcomes. Calling it twice returns the
// same events, and neither call changes the match.
func TestSettleChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	m, _ := begin(t, randomSeed(rng), 4)
	for !m.Over() {
		before := m.Game
		var outcomes []Outcome
		for _, d := range m.Asks() {
			o := wild(rng, 10)(&m, d)
			o.Decision = d.ID
			outcomes = append(outcomes, o)
		}
		one, err := m.Settle(outcomes)
		require.NoError(t, err)
		two, err := m.Settle(outcomes)
		require.NoError(t, err)
		require.Equal(t, one, two)
		require.Equal(t, before, m.Game)
		m = EvolveAll(m, one)
	}
}
