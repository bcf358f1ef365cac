package match

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/seed"
)

// The variable banked holds the deadlines of both modes, with a time bank.
var banked = map[string]Deadlines{
	ladder.Standard: Deadlines{DecisionMs: 5_000, WallMs: 600_000}.WithBank(),
	ladder.Parley:   Deadlines{DecisionMs: 60_000, WallMs: 10_800_000}.WithBank(),
}

// beginBanked starts a match of n seats with a time bank.
func beginBanked(t tester, mode string, n int, server seed.Seed) Match {
	s := seating(server, n)
	s.Mode, s.Deadlines = mode, banked[mode]
	m := New(server)
	events, err := m.Start(s)
	require.NoError(t, err)
	return EvolveAll(m, events)
}

func TestAllowance(t *testing.T) {
	for _, test := range []struct {
		name           string
		mode           string
		used           Clocks
		deadline, left int64 // of seat 0
	}{
		{"at first: the guaranteed 60 s and the rest of 330 s", ladder.Standard, Clocks{0, 0, 0, 0}, 5000, 390_000},
		{"three seats share more", ladder.Standard, Clocks{0, 0, 0}, 5000, 450_000},
		{"guaranteed time of others stays theirs", ladder.Standard, Clocks{0, 60_000, 59_999, 1}, 5000, 390_000},
		{"others took from the rest", ladder.Standard, Clocks{0, 160_000, 60_000, 100_000}, 5000, 250_000},
		{"others took all of it", ladder.Standard, Clocks{0, 390_000, 0, 0}, 3000, 60_000},
		{"a twentieth of what is left", ladder.Standard, Clocks{300_000, 0, 0, 0}, 4500, 90_000},
		{"at least 250 ms", ladder.Standard, Clocks{386_000, 0, 0, 0}, 250, 4000},
		{"no more than is left", ladder.Standard, Clocks{389_877, 0, 0, 0}, 123, 123},
		{"nothing is left", ladder.Standard, Clocks{390_000, 0, 0, 0}, 0, 0},
		{"another seat overdrew", ladder.Standard, Clocks{10_000, 395_000, 0, 0}, 2500, 50_000},
		{"this seat overdrew", ladder.Standard, Clocks{394_999, 0, 0, 0}, 0, 0},
		{"parley", ladder.Parley, Clocks{0, 0, 0, 0}, 60_000, 7_020_000},
		{"a twentieth in parley", ladder.Parley, Clocks{6_020_000, 0, 0, 0}, 50_000, 1_000_000},
		{"at least 3 s in parley", ladder.Parley, Clocks{6_990_000, 0, 0, 0}, 3000, 30_000},
		{"clocks that nobody measured", ladder.Standard, nil, 5000, 390_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			seats := len(test.used)
			if test.used == nil {
				seats = 4
			}
			m := beginBanked(t, test.mode, seats, seed.Seed{1})
			require.Equal(t, Allowance{test.deadline, &test.left}, m.Allow(test.used, 0))
		})
	}
}

func TestAllowanceWithoutATimeBank(t *testing.T) {
	m, _ := begin(t, seed.Seed{1}, 4)
	for _, c := range []Clocks{nil, {600_000, 0, 0, 0}} {
		require.Equal(t, Allowance{DeadlineMs: 5000}, m.Allow(c, 0))
	}
	require.Equal(t, Allowance{DeadlineMs: 4200}, m.Allow(nil, 0).After(800))
}

// The function offering() returns a match in which a seat has made its nth offer of a
// turn. The other seats owe a response.
func offering(t *testing.T, seat, n int) Match {
	t.Helper()
	offer := func(m *Match, d Decision) Outcome {
		for give := range 5 {
			a := game.Action{Type: game.OfferTrade, To: 0xff}
			a.Giving[give], a.Taking[(give+1)%5] = 1, 1
			if d.Seat == seat && m.Game.Check(uint8(d.Seat), a) == nil {
				return answerWith(d, a, "")
			}
		}
		return answerWith(d, game.Action{Type: game.EndTurn}, "")
	}
	return advance(t, offer, func(m *Match) bool { return m.Game.Offer.Open && m.Game.Offers() == n })
}

// The function asking() returns a match in which only one seat owes a decision.
func asking(t *testing.T, seat int) Match {
	t.Helper()
	return advance(t, nil, func(m *Match) bool { return len(m.Asks()) == 1 && m.Asks()[0].Seat == seat })
}

// advance plays a match with a time bank until wanted() returns true. All seats reject
// all offers.
func advance(t *testing.T, onTurn bot, wanted func(m *Match) bool) Match {
	t.Helper()
	m := beginBanked(t, ladder.Standard, 4, seed.Seed{7})
	bots := map[game.Kind]bot{
		game.KindTurn:  onTurn,
		game.KindTrade: func(_ *Match, d Decision) Outcome { return answerJSON(d, `{"accept":false}`) },
	}
	play := lawful(rand.New(rand.NewPCG(7, 7)))
	for !wanted(&m) {
		require.False(t, m.Over())
		b := bots[m.Asks()[0].Kind]
		if b == nil {
			b = play
		}
		m, _ = step(t, m, b)
	}
	return m
}

// For the second and later offers of a turn, the offering seat pays for the slowest
// answer.
func TestOffererPaysFromTheSecondOfferOn(t *testing.T) {
	for n := 1; n <= game.MaxOffers; n++ {
		t.Run(fmt.Sprint("offer ", n), func(t *testing.T) {
			m := offering(t, 2, n)
			from, asks := 2, m.Asks()
			outcomes := []Outcome{{UsedMs: 900}, {UsedMs: 2500, RedialMs: 500}, {UsedMs: 1700, RedialMs: 1700}}
			want := Clocks{10, 10, 10, 10}
			require.Len(t, asks, 3)
			for i, d := range asks {
				require.NotEqual(t, from, d.Seat)
				want[d.Seat] += outcomes[i].RedialMs
				if n == 1 {
					want[d.Seat] += outcomes[i].UsedMs - outcomes[i].RedialMs
				}
			}
			if n > 1 {
				want[from] += 2000
			}
			before := Clocks{10, 10, 10, 10}
			require.Equal(t, want, m.Charge(before, outcomes))
			require.Equal(t, Clocks{10, 10, 10, 10}, before, "Charge must not change its argument")
			require.Nil(t, m.Charge(nil, outcomes), "clocks that nobody measured")
		})
	}
}

// The type sitting plays a match with a time bank. Each seat's policy chooses its
// answering times. After each batch, it checks the rule of the time bank.
type sitting struct {
	t      *rapid.T
	m      Match
	clocks Clocks
	wall   int64   // the time played
	paid   []int64 // by seat: its own answers and redials, and the answers to the second and later offers of its turns
}

// policy chooses how long a seat takes to redial and to answer. The sum is at most
// deadlineMs.
type policy func(deadlineMs int64) (redialMs, answerMs int64)

func (s *sitting) settle(bots bot, policies []policy) {
	offer := s.m.Asks()[0].Kind == game.KindTrade && s.m.Game.Offers() > 1
	from, slowest, longest := int(s.m.Game.Offer.From), int64(0), int64(0)
	var outcomes []Outcome
	for _, d := range s.m.Asks() {
		allowed := s.m.Allow(s.clocks, d.Seat)
		require.LessOrEqual(s.t, allowed.DeadlineMs, *allowed.BankMs)
		redial, answer := policies[d.Seat](allowed.DeadlineMs)
		o := bots(&s.m, d)
		if allowed.DeadlineMs == 0 {
			o = missed(CauseDeadline)
		}
		o.Decision, o.RedialMs, o.UsedMs, o.ElapsedMs = d.ID, redial, redial+answer, answer
		s.paid[d.Seat] += redial
		if offer {
			slowest = max(slowest, answer)
		} else {
			s.paid[d.Seat] += answer
		}
		longest = max(longest, o.UsedMs)
		outcomes = append(outcomes, o)
	}
	if offer {
		s.paid[from] += slowest
	}
	s.wall += longest
	s.clocks = s.m.Charge(s.clocks, outcomes)
	events, err := s.m.Settle(outcomes)
	require.NoError(s.t, err)
	s.m = EvolveAll(s.m, events)
	s.check()
}

// check requires that the match has not reached its wall clock, that each seat has
// paid only for its own time, and that each seat still has the rest of its guaranteed
// time.
func (s *sitting) check() {
	d := s.m.Started.Deadlines
	require.Less(s.t, s.wall, d.WallMs, "the time played")
	require.Equal(s.t, s.paid, []int64(s.clocks))
	for seat, paid := range s.paid {
		require.GreaterOrEqual(s.t, *s.m.Allow(s.clocks, seat).BankMs, max(0, d.WallMs/10-paid))
	}
}

// The function policies() draws one policy for each seat. A policy uses a fixed
// fraction of each deadline, a random fraction, or all of it. Some seats redial first,
// and some never answer.
func policies(t *rapid.T, rng *rand.Rand, seats int) (list []policy) {
	for range seats {
		part := rapid.SampledFrom([]int64{0, 1, 50, 90, 99, 100}).Draw(t, "percent of each deadline")
		redials := rapid.SampledFrom([]int64{0, 0, 30, 100}).Draw(t, "percent of it for redialing")
		random := rapid.Bool().Draw(t, "random up to that")
		list = append(list, func(deadline int64) (int64, int64) {
			used := deadline * part / 100
			if random {
				used = rng.Int64N(used + 1)
			}
			redial := used * redials / 100
			return redial, used - redial
		})
	}
	return list
}

// However long the seats take to answer, the match does not reach its wall clock, and
// no seat uses another seat's guaranteed time. The bots make as many offers as the
// rules allow, because they pay for the answers to these offers.
func TestNoPolicyOfAnsweringTimesReachesTheWallClock(t *testing.T) {
	aborts := 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		seats := rapid.IntRange(3, 4).Draw(t, "seats")
		mode := rapid.SampledFrom(ladder.Modes).Draw(t, "mode")
		s := &sitting{t: t, m: beginBanked(t, mode, seats, randomSeed(rng)), clocks: NewClocks(seats), paid: make([]int64, seats)}
		bots, slow := eagerToTrade(rng), policies(t, rng, seats)
		var unlimited int64 // how long the match would take without a time bank, if each seat used the same fraction of the mode's deadline
		for !s.m.Over() {
			longest := int64(0)
			for _, d := range s.m.Asks() {
				redial, answer := slow[d.Seat](s.m.Started.Deadlines.DecisionMs)
				longest = max(longest, redial+answer)
			}
			unlimited += longest
			s.settle(bots, slow)
		}
		if unlimited >= s.m.Started.Deadlines.WallMs {
			aborts++
		}
	})
	t.Logf("without a time bank, %d of these matches would have reached the wall clock", aborts)
	require.Positive(t, aborts)
}

// eagerToTrade makes an offer whenever it can. Otherwise it makes a random legal
// move.
func eagerToTrade(rng *rand.Rand) bot {
	play := lawful(rng)
	return func(m *Match, d Decision) Outcome {
		if d.Kind == game.KindTurn && m.Game.Offers() < game.MaxOffers {
			if o, ok := someOffer(m, d, rng); ok {
				return o
			}
		}
		return play(m, d)
	}
}

// ledger counts the time of batches without storing events. It can therefore ask
// seats about the same decisions any number of times.
type ledger struct {
	clocks Clocks
	wall   int64 // the time played
}

// ask charges for the decisions that a match asks for. The function use() chooses how
// much of its deadline each decision takes. ask requires that the wall clock has not
// been reached, and that only an offering seat overdraws its time.
func (l *ledger) ask(t require.TestingT, m *Match, use func(deadlineMs int64) Outcome) {
	before, longest := l.clocks, int64(0)
	outcomes := make([]Outcome, len(m.Asks()))
	for i, d := range m.Asks() {
		outcomes[i] = use(m.Allow(before, d.Seat).DeadlineMs)
		longest = max(longest, outcomes[i].UsedMs)
	}
	l.clocks = m.Charge(before, outcomes)
	l.wall += longest
	require.Less(t, l.wall, m.Started.Deadlines.WallMs)
	requireOverdraws(t, m, before, l.clocks)
}

func (l *ledger) left(m *Match, seat int) int64 { return *m.Allow(l.clocks, seat).BankMs }

func allOf(deadlineMs int64) Outcome { return Outcome{UsedMs: deadlineMs} }

// Four seats use up their time one after another, which makes the match as long as
// possible. In its last millisecond, each seat makes an offer, and the slowest answer
// overdraws the offering seat's time. The last seat does not overdraw its time,
// because nobody has time left to answer its offer.
func TestFourColludingSeatsCannotReachTheWallClock(t *testing.T) {
	l := ledger{clocks: NewClocks(4)}
	var deadlines Deadlines
	for seat := range 4 {
		alone, offer := asking(t, seat), offering(t, seat, 2)
		deadlines = offer.Started.Deadlines
		for l.left(&alone, seat) > 1 {
			l.ask(t, &alone, func(deadline int64) Outcome { return allOf(min(deadline, l.left(&alone, seat)-1)) })
		}
		l.ask(t, &offer, allOf)
	}
	t.Logf("played %d ms of %d ms; the seats share %d ms", l.wall, deadlines.WallMs, deadlines.BankMs)
	require.Greater(t, l.wall, deadlines.BankMs)
}

// The rule of the time bank holds for any number of batches in any order, not only
// for the batches of a real game.
func TestNoSequenceOfBatchesReachesTheWallClock(t *testing.T) {
	var asked []Match
	for seat := range 4 {
		asked = append(asked, asking(t, seat), offering(t, seat, 1), offering(t, seat, 2))
	}
	rapid.Check(t, func(t *rapid.T) {
		greedy := rapid.IntRange(0, 100).Draw(t, "percent of decisions that use the whole deadline")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		l := ledger{clocks: NewClocks(4)}
		for range 4000 {
			m := &asked[rng.IntN(len(asked))]
			if m.Game.Offer.Open && l.left(m, int(m.Game.Offer.From)) == 0 {
				continue // the seat's turn times out immediately, so it cannot make an offer
			}
			l.ask(t, m, func(deadline int64) Outcome {
				used := deadline
				if rng.IntN(100) >= greedy {
					used = rng.Int64N(used + 1)
				}
				return Outcome{UsedMs: used, RedialMs: rng.Int64N(used + 1)}
			})
		}
	})
}

// requireOverdraws requires that no seat has paid for more time than it had left. An
// offering seat may overdraw its time, but by less than the time for one decision.
func requireOverdraws(t require.TestingT, m *Match, before, after Clocks) {
	for seat := range after {
		paid, had := after[seat]-before[seat], *m.Allow(before, seat).BankMs
		if m.Game.Offers() > 1 && seat == int(m.Game.Offer.From) {
			had += m.Started.Deadlines.DecisionMs - 1
		}
		require.LessOrEqual(t, paid, had, "seat %d", seat)
	}
}

// If the other bots are fast, a bot that uses 90 % of each deadline can make 140
// decisions before its time is up.
func TestNinetyPercentOfEachDeadlineLastsForAnAverageMatch(t *testing.T) {
	for mode := range banked {
		for seats := 3; seats <= 4; seats++ {
			m := beginBanked(t, mode, seats, seed.Seed{1})
			c, decisions := NewClocks(seats), 0
			for a := m.Allow(c, 2); a.DeadlineMs > 0; a = m.Allow(c, 2) {
				c[2] += max(1, a.DeadlineMs*9/10)
				decisions++
			}
			t.Logf("%s, %d seats: %d decisions", mode, seats, decisions)
			require.GreaterOrEqual(t, decisions, 140)
		}
	}
}

func TestRequestWithABankEncodesLikeEncodingJSON(t *testing.T) {
	m := beginBanked(t, ladder.Standard, 4, seed.Seed{1})
	for _, bank := range []*int64{nil, ptr(int64(390_000))} {
		r := m.Request(m.Asks()[0])
		r.DeadlineMs, r.BankMs = 5000, bank
		want, err := json.Marshal(r)
		require.NoError(t, err)
		require.Equal(t, string(want), string(r.AppendJSON(nil)))
	}
}
