package conformance

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hexarena/adapters/housebot"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// table is a match of house bots. One seat may belong to the bot that is checked.
type table struct {
	m       match.Match
	players []*housebot.Player
	loud    bool // the house bots talk as often and as long as the rules allow
	targets bool // each offer goes to one seat
	absent  int  // the number of seats that never answer, and so resign
	talked  []int
}

// newTable starts a match with a fixed seed. Seats play greedily and randomly, so that
// there are all kinds of situations. In one of 6 matches, all seats play randomly, so
// that the match is long. The stronger house bots do not play: they would use more than
// nine tenths of the time of a check.
func newTable(number, seats int, matchID string) *table {
	server := seed.Seed(sha256.Sum256(fmt.Appendf(nil, "hexarena/check-bot/1/%d", number)))
	s := match.Seating{MatchID: matchID, Mode: ladder.Standard, Commitment: seed.Commitment(server), Nonces: make([]string, seats)}
	t := &table{talked: make([]int, seats)}
	names := []string{"greedy", "random"}
	for i := range seats {
		id := ladder.NameUUID(fmt.Sprintf("hexarena:check-bot:seat:%d", i))
		s.Bots, s.Table.Bots = append(s.Bots, match.Seat{BotID: id, BotName: id}), append(s.Table.Bots, id)
		name := names[(i+number)%len(names)]
		if number%games == randomGame {
			name = "random"
		}
		player, err := housebot.NewPlayer(name, uint64(number), matchID)
		if err != nil {
			panic(err) // the house bot exists
		}
		t.players = append(t.players, player)
		t.talked[i] = -1
	}
	m := match.New(server)
	events, err := m.Start(s)
	if err != nil {
		panic(err) // the commitment matches the seed
	}
	t.m = match.EvolveAll(m, events)
	return t
}

// step settles one batch. For decisions of seats without an outcome, house bots answer.
func (t *table) step(outcomes map[int]match.Outcome) {
	var all []match.Outcome
	for _, d := range t.m.Asks() {
		o, ok := outcomes[d.Seat]
		switch {
		case ok:
		case d.Seat < t.absent:
			o = match.Outcome{Decision: d.ID, Cause: match.CauseDeadline}
		default:
			o = match.Outcome{Decision: d.ID, Frame: t.house(d)}
		}
		all = append(all, o)
	}
	m, _, err := t.m.Advance(all)
	if err != nil {
		panic(err) // there is an outcome for each decision
	}
	t.m = m
}

// house returns the answer of a house bot. It talks in each turn, or never.
func (t *table) house(d match.Decision) []byte {
	req := t.m.Request(d)
	frame := t.players[d.Seat].AnswerRequest(&req)
	_, a, err := match.ReadFrame(d.Kind, frame)
	if err != nil {
		panic(err) // house bots answer well
	}
	if to := (d.Seat + 1) % len(t.players); t.targets && a.Action.Type == game.OfferTrade && to >= t.absent {
		a.Action.To = uint8(to)
	}
	action := match.ActionJSON(a.Action)
	if turn := req.View.Turn; t.loud && match.MayTalk(a.Action.Type) && t.talked[d.Seat] < turn {
		t.talked[d.Seat] = turn
		action = match.WithTalk(action, longTalk(turn))
	}
	return fmt.Appendf(nil, `{"id":%d,"action":%s}`, d.ID, action)
}

// longTalk returns a message of the maximum length with characters that need care.
func longTalk(turn int) string {
	text := []rune(strings.Repeat(fmt.Sprintf("turn %d: \"ünï\" <b>&amp;</b> \\u0041 \u2028 \t 木材 🐑🌾 {\"id\":1} ", turn), 12))
	return string(text[:match.MaxTalk])
}

// games is the number of matches of each size in which positions are looked for.
const games = 6

// The numbers of special games.
const (
	targetGame = 2 + iota // all offers go to one seat
	randomGame
	absentGame // a seat has resigned
)

// positions are the positions that the checks use.
type positions struct{ threeSeats, fourSeats, longTalk, unusual []position }

// chosenPositions returns the positions, which are always the same.
var chosenPositions = sync.OnceValue(func() positions {
	three, four := positionsOf(3, false), positionsOf(4, false)
	loud := slices.DeleteFunc(positionsOf(3, true), func(p position) bool {
		return len(p.m.View(p.d.Seat).TalkLog) < match.TalkLogLen
	})
	return positions{
		threeSeats: choose(three, ordinary), fourSeats: choose(four, ordinary), longTalk: choose(loud, ordinary),
		unusual: slices.Concat(choose(three, unusual), choose(four, unusual)),
	}
})

// positionsOf plays matches and returns the positions of one size of table in which a bot
// can begin. In such a position, the view shows everything that a bot must know: the
// seat has not talked, offered or played a card in this turn.
func positionsOf(seats int, loud bool) (found []position) {
	for number := range games {
		t := newTable(number, seats, "positions")
		t.loud, t.targets = loud, number == targetGame
		if number == absentGame {
			t.absent = 1
		}
		last := position{} // the latest turn decision
		for !t.m.Over() {
			for _, d := range t.m.Asks() {
				p := position{t.m, d}
				if d.Kind == game.KindTurn {
					again := last.m.Game.Turn == t.m.Game.Turn && last.d.ID != 0
					last = p
					if again {
						continue
					}
				}
				if !p.talkedThisTurn() {
					found = append(found, p)
				}
			}
			t.step(nil)
		}
	}
	return found
}

func (p position) talkedThisTurn() bool {
	v := p.m.View(p.d.Seat)
	return slices.ContainsFunc(v.TalkLog, func(t match.TableTalk) bool { return t.Seat == p.d.Seat && t.Turn == v.Turn })
}

// pick is a way to choose one of the positions: the one with the highest number.
type pick struct {
	kind   game.Kind
	number func(v *match.View) int
}

// ordinary picks two positions of each kind, from the beginning and the middle of a game.
var ordinary = []pick{
	{game.KindSetup, func(v *match.View) int { return -len(v.Towns) }},
	{game.KindSetup, func(v *match.View) int { return len(v.Towns) }},
	{game.KindTurn, func(v *match.View) int { return -v.Turn }},
	{game.KindTurn, func(v *match.View) int { return -abs(v.Turn - 40) }},
	{game.KindDiscard, func(v *match.View) int { return -cards(v) }},
	{game.KindDiscard, func(v *match.View) int { return -abs(cards(v) - 9) }},
	{game.KindBandit, func(v *match.View) int { return -v.Turn }},
	{game.KindBandit, func(v *match.View) int { return -abs(v.Turn - 40) }},
	{game.KindTrade, func(v *match.View) int { return -v.Turn }},
	{game.KindTrade, func(v *match.View) int { return -abs(v.Turn - 40) }},
}

// unusual picks positions at the limits of what a bot meets.
var unusual = []pick{
	{game.KindTurn, func(v *match.View) int { return -cards(v) }},
	{game.KindTurn, cards},
	{game.KindTurn, func(v *match.View) int { return len(v.DevCards) + len(v.DevBoughtThisTurn) }},
	{game.KindTurn, func(v *match.View) int { return v.Turn }},
	{game.KindTurn, func(v *match.View) int { return len(v.Roads) }},
	{game.KindTurn, func(v *match.View) int { return len(v.Towns) }},
	{game.KindTurn, func(v *match.View) int { return v.MyScore }},
	{game.KindTurn, func(v *match.View) int { return -v.DeckRemaining }},
	{game.KindTurn, func(v *match.View) int { return holders(v) }},
	{game.KindDiscard, cards},
	{game.KindBandit, func(v *match.View) int { return v.Turn }},
	{game.KindBandit, func(v *match.View) int { return -cards(v) }},
	{game.KindTrade, func(v *match.View) int { return -cards(v) }},
	{game.KindTrade, func(v *match.View) int { return cards(v) }},
	{game.KindTrade, targeted},
	{game.KindTrade, func(v *match.View) int { return -targeted(v) }},
}

// choose returns the best position for each pick, without repetitions.
func choose(from []position, picks []pick) (chosen []position) {
	type best struct {
		at, number int
		found      bool
	}
	found := make([]best, len(picks))
	for i, p := range from {
		v := p.m.View(p.d.Seat)
		for j, pick := range picks {
			if pick.kind != p.d.Kind {
				continue
			}
			if n := pick.number(&v); !found[j].found || n > found[j].number {
				found[j] = best{i, n, true}
			}
		}
	}
	taken := map[int]bool{}
	for _, b := range found {
		if b.found && !taken[b.at] {
			taken[b.at] = true
			chosen = append(chosen, from[b.at])
		}
	}
	return chosen
}

func cards(v *match.View) int { return v.HandCounts[v.Seat] }

func holders(v *match.View) (n int) {
	for _, seat := range []*int{v.Awards.LargestArmy, v.Awards.LongestRoad} {
		if seat != nil {
			n++
		}
	}
	return n
}

func targeted(v *match.View) int {
	if v.OpenTrade != nil && v.OpenTrade.To != nil {
		return 1
	}
	return 0
}

func abs(n int) int { return max(n, -n) }
