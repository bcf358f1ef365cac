// Package kits_test writes and checks the file of positions that the tests of the kits
// read. Tests in docs start the kits.
package kits_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
	"hexarena/eventstore/logtest"
)

const positionsFile = "legal_moves.jsonl.gz"

// position is one line of the file: a request, what the bot did earlier in the turn, every
// legal action without talk and offers, and samples of other actions.
type position struct {
	Request match.Request     `json:"request"`
	Memory  memory            `json:"memory"`
	Legal   []json.RawMessage `json:"legal"`
	Samples []sample          `json:"samples"`
}

// memory is what a view does not show.
type memory struct {
	DevPlayed bool `json:"devPlayed"`
	Offers    int  `json:"offers"`
	Talked    bool `json:"talked"`
}

// sample is an action, and the reason why it is illegal, or null if it is legal.
type sample struct {
	Action json.RawMessage `json:"action"`
	Reason *string         `json:"reason"`
}

// The file contains the legal moves of 500 positions, as the engine lists them.
func TestLegalMovesAreTheEngines(t *testing.T) {
	want := positions(t)
	if logtest.Updating() {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		require.NoError(t, err)
		_, err = w.Write(want)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(positionsFile, packed.Bytes(), 0o644)) //nolint:gosec // it is public
	}
	packed, err := os.Open(positionsFile)
	require.NoError(t, err)
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	require.NoError(t, err)
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	logtest.RequireSameText(t, string(want), string(got))
}

// quota is the number of positions of each category.
var quota = map[string]int{"setup": 50, "discard": 60, "bandit": 60, "trade": 70, "turn": 250, noCities: 5, noDeck: 5}

// The categories of the rarest turns: the seat could pay for a city but has none left, or
// it could pay for a development card but the deck is empty.
const noCities, noDeck = "turn without cities", "turn without a deck"

func category(g *game.State, d match.Decision) string {
	hand := g.Hands[d.Seat]
	switch {
	case d.Kind != game.KindTurn:
	case g.Cities[d.Seat].Len() == game.MaxCities && g.Settlements[d.Seat] != 0 && hand.Covers(game.Cards{board.Grain: 2, board.Ore: 3}):
		return noCities
	case g.Deck == 0 && hand.Covers(game.Cards{board.Wool: 1, board.Grain: 1, board.Ore: 1}):
		return noDeck
	}
	return d.Kind.String()
}

const (
	perSituation = 4   // positions in the same situation
	longest      = 300 // legal actions: longer lists make the file large
)

// The function positions() plays matches until it has all positions, and returns the
// contents of the file.
func positions(t *testing.T) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(19, 8))
	left, seen, reasons := maps.Clone(quota), map[string]int{}, map[string]int{}
	var lines bytes.Buffer
	for number := byte(0); !done(left); number++ {
		require.Less(t, number, byte(200), "too few positions: %v left", left)
		m, _ := matchtest.Start(seed.Seed{number}, 3+int(number)%2)
		players := make([]matchtest.Player, len(m.Started.Seats))
		for seat := range players {
			players[seat] = matchtest.Player{Below: rng.IntN, Build: (int(number)+seat)%3 != 0}
		}
		memories := make([]memory, len(players))
		turn := 0
		for !m.Over() {
			if now := int(m.Game.Turn); now != turn {
				turn = now
				clear(memories)
			}
			var outcomes []match.Outcome
			for _, d := range m.Asks() {
				// Most positions are skipped, so that the others come from many matches.
				category := category(&m.Game, d)
				if left[category] > 0 && (d.Kind == game.KindSetup || rng.IntN(50) == 0 || rare(&m.Game, d) || category == noCities || category == noDeck) {
					p := at(t, &m, d, memories[d.Seat], rng)
					if situation := p.situation(d.Kind, rare(&m.Game, d)); seen[situation] < perSituation && len(p.Legal) <= longest {
						left[category]--
						seen[situation]++
						line, err := json.Marshal(p)
						require.NoError(t, err)
						lines.Write(append(line, '\n'))
						p.count(reasons)
					}
				}
				o := players[d.Seat].Answer(&m, d)
				switch d.Seat {
				case int(number) % 3:
					o.Frame = savesForCities(t, &m.Game, d, o.Frame)
				case int(number+1) % 3:
					o.Frame = offersOften(&m.Game, d, o.Frame)
				}
				memories[d.Seat].record(t, d, o.Frame)
				outcomes = append(outcomes, o)
			}
			var err error
			m, _, err = m.Advance(outcomes)
			require.NoError(t, err)
		}
	}
	require.Subset(t, slices.Collect(maps.Keys(reasons)), reasonsOfSamples)
	return lines.Bytes()
}

// savesForCities replaces the answer of a player that can build a city, or that buys a
// development card. Otherwise, no player would ever have four cities.
func savesForCities(t *testing.T, g *game.State, d match.Decision, frame []byte) []byte {
	t.Helper()
	if d.Kind != game.KindTurn {
		return frame
	}
	for _, a := range g.Legal(nil, uint8(d.Seat)) {
		if a.Type == game.BuildCity {
			return matchtest.Frame(d.ID, match.ActionJSON(a))
		}
	}
	_, a, err := match.ReadFrame(d.Kind, frame)
	require.NoError(t, err)
	if a.Action.Type == game.BuyDev {
		return matchtest.Frame(d.ID, match.ActionJSON(game.Action{Type: game.EndTurn}))
	}
	return frame
}

// offersOften replaces answers in some turns by offers, as long as they are legal.
func offersOften(g *game.State, d match.Decision, frame []byte) []byte {
	for r := range g.Hands[d.Seat] {
		a := game.Action{Type: game.OfferTrade, To: board.None, Taking: game.Cards{board.Brick: 1}}
		a.Giving[r] = 1
		if g.Turn%8 == 0 && g.Check(uint8(d.Seat), a) == nil {
			return matchtest.Frame(d.ID, match.ActionJSON(a))
		}
	}
	return frame
}

// The function rare() reports whether a seat is in a rare situation: it has no roads or
// cities left, has made all offers of the turn, or holds a card of which there are only two.
func rare(g *game.State, d match.Decision) bool {
	devs := &g.Devs[d.Seat]
	return g.Cities[d.Seat].Len() == game.MaxCities || g.Roads[d.Seat].Len() == game.MaxRoads || g.Offers() == game.MaxOffers ||
		devs[game.Roadworks]+devs[game.Windfall]+devs[game.Embargo] > 0
}

// The method count() counts the samples of a position by their reasons.
func (p *position) count(reasons map[string]int) {
	for _, s := range p.Samples {
		if s.Reason == nil {
			reasons["legal"]++
		} else {
			reasons[*s.Reason]++
		}
	}
}

func done(left map[string]int) bool {
	for _, n := range left {
		if n > 0 {
			return false
		}
	}
	return true
}

func (m *memory) record(t *testing.T, d match.Decision, frame []byte) {
	t.Helper()
	_, a, err := match.ReadFrame(d.Kind, frame)
	require.NoError(t, err)
	switch a.Action.Type {
	case game.PlayKnight, game.PlayRoadworks, game.PlayWindfall, game.PlayEmbargo:
		m.DevPlayed = true
	case game.OfferTrade:
		m.Offers++
	}
	m.Talked = m.Talked || a.Talk != ""
}

// at returns the position of an open decision.
func at(t *testing.T, m *match.Match, d match.Decision, memory memory, rng *rand.Rand) position {
	t.Helper()
	p := position{Request: m.Request(d), Memory: memory}
	for _, a := range m.Game.Legal(nil, uint8(d.Seat)) {
		p.Legal = append(p.Legal, match.ActionJSON(a))
	}
	var talked uint8
	if memory.Talked {
		talked = 1 << d.Seat
	}
	for _, action := range candidates(d.Kind, &p, rng) {
		s := sample{Action: json.RawMessage(action)}
		a, err := match.ReadAction(d.Kind, s.Action)
		if err == nil {
			err = a.Check(&m.Game, d.Seat, talked)
		}
		if err != nil {
			var illegal *game.Illegal
			require.ErrorAs(t, err, &illegal, action) // candidates are well-formed
			s.Reason = &illegal.Reason
		}
		p.Samples = append(p.Samples, s)
	}
	return p
}

// situation names what is special about a position. Positions in the same situation test
// about the same rules.
func (p *position) situation(kind game.Kind, isRare bool) string {
	v := &p.Request.View
	switch kind {
	case game.KindSetup:
		return fmt.Sprint("setup", v.SeatCount, len(v.Towns))
	case game.KindDiscard:
		return fmt.Sprint("discard", v.SeatCount, v.HandCounts[v.Seat], len(p.Legal))
	case game.KindBandit:
		return fmt.Sprint("bandit", v.SeatCount, len(v.Towns), p.Memory.Talked)
	case game.KindTrade:
		return fmt.Sprint("trade", v.SeatCount, len(p.Legal), v.OpenTrade.To != nil, p.Memory.Talked, v.OpenTrade.Talk != "", v.OpenTrade.Give, len(v.Towns))
	}
	types := map[string]int{}
	for _, a := range p.Legal {
		var named struct{ Type string }
		_ = json.Unmarshal(a, &named) // ActionJSON wrote it
		types[named.Type]++
	}
	cards := slices.Compact(slices.Sorted(slices.Values(v.DevCards)))
	return fmt.Sprint("turn", v.SeatCount, len(types), types["play_roadworks"] > 0, types["build_settlement"], types["build_city"] > 0,
		types["bank_trade"], cards, v.DevBoughtThisTurn, p.Memory, v.DeckRemaining == 0, isRare)
}

// reasonsOfSamples lists the reasons that samples have. Rare reasons are not listed.
var reasonsOfSamples = []string{
	"legal", game.ReasonUnknownType, game.ReasonUnknownResource, game.ReasonOutOfRange, game.ReasonNegativeCount, game.ReasonEdgeCount,
	game.ReasonTalkTooLong, game.ReasonTalkTwice, game.ReasonVertexTaken, game.ReasonDistanceRule,
	game.ReasonRoadNotAtSettlement, game.ReasonSettlementNotConnected, game.ReasonNoSettlementsLeft,
	game.ReasonNotYourSettlement, game.ReasonNoCitiesLeft, game.ReasonEdgeTaken, game.ReasonRoadBlocked, game.ReasonRoadNotConnected,
	game.ReasonDeckEmpty, game.ReasonNoDevCard, game.ReasonDevBoughtThisTurn,
	game.ReasonDevAlreadyPlayed, game.ReasonDuplicateEdge, game.ReasonWindfallCount, game.ReasonBanditMustMove, game.ReasonVictimSelf,
	game.ReasonVictimNotPlaying, game.ReasonVictimNotOnHex, game.ReasonDiscardCount, game.ReasonSameResource,
	game.ReasonTooManyOffers, game.ReasonEmptySide, game.ReasonOfferToSelf, game.ReasonToNotPlaying, game.ReasonNotEnoughCards,
}

// candidates returns well-formed actions for a decision. Some of them are legal.
func candidates(kind game.Kind, p *position, rng *rand.Rand) []string {
	v := &p.Request.View
	a := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	vertex, edge, hex, seat := rng.IntN(board.Vertices), rng.IntN(board.Edges), rng.IntN(board.Hexes), rng.IntN(game.MaxSeats)
	one, two := board.Resource(rng.IntN(board.Resources)).String(), board.Resource(rng.IntN(board.Resources)).String()
	long := strings.Repeat("é", match.MaxTalk)
	var own, taken int
	for _, town := range v.Towns {
		if taken = town.Vertex; town.Seat == v.Seat {
			own = town.Vertex
		}
	}
	switch kind {
	case game.KindSetup:
		return []string{
			a(`{"settlement":%d,"road":%d}`, vertex, edge),
			a(`{"settlement":%d,"road":%d}`, taken, board.VertexEdges[taken][0]),
			a(`{"settlement":%d,"road":%d}`, board.VertexVertices[taken][0], board.VertexEdges[taken][0]),
			a(`{"settlement":%d,"road":%d}`, board.Vertices, edge),
		}
	case game.KindDiscard:
		half := v.HandCounts[v.Seat] / 2
		return []string{
			a(`{"cards":{%q:%d}}`, one, half), a(`{"cards":{%q:1}}`, one), a(`{"cards":{}}`),
			a(`{"cards":{%q:%d,"gold":1}}`, one, half-1), a(`{"cards":{%q:-1}}`, one),
		}
	case game.KindBandit:
		return []string{
			a(`{"hex":%d}`, v.Board.Bandit), a(`{"hex":%d,"victim":%d}`, hex, seat), a(`{"hex":%d,"victim":%d}`, hex, v.Seat),
			a(`{"hex":19}`), a(`{"hex":%d,"victim":3}`, (v.Board.Bandit+1)%board.Hexes),
			a(`{"hex":%d,"talk":"Sorry."}`, (v.Board.Bandit+1)%board.Hexes), a(`{"hex":%d,"talk":%q}`, (v.Board.Bandit+1)%board.Hexes, long),
		}
	case game.KindTrade:
		return []string{
			`{"accept":true}`, `{"accept":false,"talk":"No."}`, `{"accept":true,"talk":"Yes."}`, `{"accept":false,"talk":""}`,
			a(`{"accept":false,"talk":%q}`, long), a(`{"accept":false,"talk":%q}`, long+"!"),
		}
	}
	road, blocked := edge, edge // edges next to a road of the seat, and next to both such a road and a rival's town
	for _, r := range v.Roads {
		if r.Seat != v.Seat {
			continue
		}
		for _, end := range board.EdgeVertices[r.Edge] {
			for _, next := range board.VertexEdges[end] {
				if next == board.None || slices.ContainsFunc(v.Roads, func(r match.Road) bool { return r.Edge == int(next) }) {
					continue
				}
				if road = int(next); slices.ContainsFunc(v.Towns, func(t match.Town) bool { return t.Vertex == int(end) && t.Seat != v.Seat }) {
					blocked = road
				}
			}
		}
	}
	actions := []string{
		a(`{"type":"build_road","edge":%d}`, edge), a(`{"type":"build_road","edge":%d}`, road), a(`{"type":"build_settlement","vertex":%d}`, vertex), a(`{"type":"build_settlement","vertex":%d}`, taken),
		a(`{"type":"build_city","vertex":%d}`, vertex),
		a(`{"type":"play_knight","hex":%d,"victim":%d}`, hex, seat), a(`{"type":"play_knight","hex":%d,"victim":%d}`, hex, v.Seat),
		a(`{"type":"play_roadworks","edges":[%d,%d]}`, road, edge), a(`{"type":"play_roadworks","edges":[%d,%d]}`, road, road), `{"type":"play_roadworks","edges":[]}`,
		a(`{"type":"play_windfall","take":{%q:2}}`, one), `{"type":"play_windfall","take":{"ore":3}}`,
		a(`{"type":"play_embargo","resource":%q}`, one), `{"type":"play_embargo","resource":"desert"}`,
		a(`{"type":"bank_trade","give":%q,"get":%q}`, one, two),
		a(`{"type":"offer_trade","give":{%q:1},"get":{%q:1}}`, one, two), a(`{"type":"offer_trade","give":{%q:2},"get":{"brick":1,"ore":0},"to":%d}`, one, seat),
		a(`{"type":"offer_trade","give":{%q:1},"get":{%q:1},"talk":"Anyone?"}`, one, two),
		a(`{"type":"offer_trade","give":{%q:1},"get":{}}`, one), a(`{"type":"offer_trade","give":{%q:1},"get":{"brick":1,"gold":0}}`, one),
		`{"type":"end_turn","talk":"Your turn."}`, a(`{"type":"end_turn","talk":%q}`, long), a(`{"type":"end_turn","talk":%q}`, long+"!"),
		a(`{"type":"buy_dev","talk":%q}`, long+"!"), `{"type":"pass"}`,
	}
	always := []string{`{"type":"buy_dev"}`, a(`{"type":"build_city","vertex":%d}`, own), a(`{"type":"build_road","edge":%d}`, blocked)}
	rng.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
	return append(always, actions[:12]...)
}
