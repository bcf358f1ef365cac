package audit_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore/logtest"
)

// vectors has the shape of docs/audit/vectors.json, which docs/audit.md
// describes.
type vectors struct {
	Draws       []drawsVector     `json:"draws"`
	Uniform     []uniformVector   `json:"uniform"`
	Seats       []seatsVector     `json:"seats"`
	Boards      []boardVector     `json:"boards"`
	Decks       []deckVector      `json:"decks"`
	Dice        []diceVector      `json:"dice"`
	IDs         []idVector        `json:"ids"`
	ServerSeeds []serverVector    `json:"serverSeeds"`
	Seeds       []seedVector      `json:"seeds"`
	Ratings     []ratingVector    `json:"ratings"`
	Matches     []json.RawMessage `json:"matches"`
	Forgeries   []forgeryVector   `json:"forgeries"`
	logVectors
	ladderVectors
}

type (
	drawsVector struct {
		Seed    seed.Seed    `json:"seed"`
		Purpose seed.Purpose `json:"purpose"`
		Draws   []uint32     `json:"draws"`
	}
	uniformVector struct {
		Seed    seed.Seed    `json:"seed"`
		Purpose seed.Purpose `json:"purpose"`
		N       uint32       `json:"n"`
		Values  []uint32     `json:"values"`
	}
	seatsVector struct {
		Seed  seed.Seed `json:"seed"`
		Seats int       `json:"seats"`
		Order []int     `json:"order"`
	}
	boardVector struct {
		Seed      seed.Seed `json:"seed"`
		Resources []string  `json:"resources"`
		Tokens    []int     `json:"tokens"`
		Bandit    int       `json:"bandit"`
	}
	deckVector struct {
		Seed  seed.Seed `json:"seed"`
		Cards []string  `json:"cards"`
	}
	diceVector struct {
		Seed  seed.Seed `json:"seed"`
		Rolls [][2]int  `json:"rolls"`
	}
	idVector struct {
		PlatformKey string `json:"platformKey"`
		Mode        string `json:"mode"`
		Revision    uint64 `json:"revision"`
		Index       int    `json:"index"`
		ID          string `json:"id"`
	}
	serverVector struct {
		SeedKey    string    `json:"seedKey"`
		ID         string    `json:"id"`
		ServerSeed seed.Seed `json:"serverSeed"`
		Commitment seed.Seed `json:"commitment"`
	}
	seedVector struct {
		ServerSeed seed.Seed `json:"serverSeed"`
		Nonces     []string  `json:"nonces"`
		Seed       seed.Seed `json:"seed"`
	}
	ratingVector struct {
		Before     []rating.Rating `json:"before"`
		Placements []int           `json:"placements"`
		After      []rating.Rating `json:"after"`
	}
	forgeryVector struct {
		Name  string `json:"name"`
		Match int    `json:"match"`
		Path  []any  `json:"path"`
		Value any    `json:"value"`
		Seq   int    `json:"seq"`
	}
)

var vectorSeeds = []seed.Seed{{}, {1, 2, 3}, seed.Commitment(seed.Seed{7})}

func makeVectors(t testing.TB) vectors {
	t.Helper()
	var v vectors
	for _, s := range vectorSeeds {
		v.addChance(s)
	}
	for i, mode := range ladder.Modes {
		id := ladder.MatchID(sample.PlatformKey, mode, uint64(21*i), 3*i)
		server := seed.Server(sample.SeedKey, id)
		nonces := []string{"", "!~", "0f3c"}
		v.IDs = append(v.IDs, idVector{sample.PlatformKey, mode, uint64(21 * i), 3 * i, id})
		v.ServerSeeds = append(v.ServerSeeds, serverVector{hex.EncodeToString(sample.SeedKey), id, server, seed.Commitment(server)})
		v.Seeds = append(v.Seeds, seedVector{server, nonces, seed.Joint(server, nonces)})
	}
	fresh, old := rating.New(), rating.Rating{Mu: 31.25, Sigma: 1.75}
	for _, places := range [][]int{{1, 2, 3, 4}, {2, 1, 2, 4}, {1, 1, 1, 1}, {3, 2, 1}} {
		before := []rating.Rating{fresh, old, {Mu: 18.5, Sigma: 6.5}, fresh}[:len(places)]
		v.Ratings = append(v.Ratings, ratingVector{before, places, rating.Rate(before, places)})
	}
	v.addRatings(t)
	v.addMatches(t)
	v.addLog(t, v.Matches)
	v.addLadders(t)
	return v
}

func (v *vectors) addChance(s seed.Seed) {
	for _, p := range []seed.Purpose{seed.Dice, seed.BoardTokens} {
		d := drawsVector{Seed: s, Purpose: p}
		var st seed.Stream
		for range 10 {
			d.Draws = append(d.Draws, st.Draw(&s, p))
		}
		v.Draws = append(v.Draws, d)
	}
	for _, n := range []uint32{1, 6, 7, 3 << 30} {
		u := uniformVector{Seed: s, Purpose: seed.Steal, N: n}
		var st seed.Stream
		for range 10 {
			u.Values = append(u.Values, st.Uniform(&s, seed.Steal, n))
		}
		v.Uniform = append(v.Uniform, u)
	}
	for n := 3; n <= 4; n++ {
		v.Seats = append(v.Seats, seatsVector{s, n, s.Seating(n)})
	}
	l := s.Layout()
	b := boardVector{Seed: s, Bandit: int(l.Desert())}
	for h := range board.Hexes {
		b.Resources, b.Tokens = append(b.Resources, l.Resources[h].String()), append(b.Tokens, int(l.Tokens[h]))
	}
	v.Boards = append(v.Boards, b)
	deck := deckVector{Seed: s}
	var cards []uint8
	for card, n := range []int{14, 5, 2, 2, 2} {
		cards = append(cards, bytes.Repeat([]byte{byte(card)}, n)...)
	}
	s.ShuffleDeck(cards)
	for _, c := range cards {
		deck.Cards = append(deck.Cards, game.DevCard(c).String())
	}
	v.Decks = append(v.Decks, deck)
	d := diceVector{Seed: s}
	var st seed.Stream
	for range 12 {
		d.Rolls = append(d.Rolls, [2]int{1 + int(st.Uniform(&s, seed.Dice, 6)), 1 + int(st.Uniform(&s, seed.Dice, 6))})
	}
	v.Dice = append(v.Dice, d)
}

// addMatches adds three small matches: one that was won, one in which defaults
// led to a stalemate, and one that was aborted. It also adds forgeries of the
// first match.
func (v *vectors) addMatches(t testing.TB) {
	t.Helper()
	fits := []struct {
		options sample.Options
		most    int
		words   []string
	}{
		{sample.Options{Bots: 3, Mischief: 4, Build: true}, 60_000, []string{`"reason":"win"`, `"steal"`, `"trade"`, `"award"`, `"illegal"`, `"timeout"`}},
		{sample.Options{Bots: 4, Mischief: 70}, 60_000, []string{`"reason":"stalemate"`, `"resign"`, `"illegal"`}},
		{sample.Options{Bots: 3, Mischief: 10, Abort: 1}, 12_000, []string{`"aborted"`, `"roll"`}},
	}
	for _, f := range fits {
		v.Matches = append(v.Matches, smallest(t, f.options, f.most, f.words))
	}
	won := open(t, v.Matches[0])
	add := func(name string, seq int, value any, path ...any) {
		v.Forgeries = append(v.Forgeries, forgeryVector{name, 0, path, value, seq})
	}
	add("the commitment", 0, seed.Seed{9}, "commitment")
	add("a nonce", 0, "steered", "proof", "nonces", 1)
	add("a token", 1, 12, "replay", 0, "data", "hexes", aHex(won), "token")
	add("a placement", 0, 4, "players", 2, "placement")
	i := won.find("roll", nil)
	add("a die", i+1, []int{1, 1}, "replay", i, "data", "dice")
	i = won.find("steal", nil)
	add("who was robbed", i+1, won.event(i)["seat"], "replay", i, "data", "victim")
	i = won.action("build_road")
	add("an answer", i+1, won.data(1)["action"].(object)["road"], "replay", i, "data", "action", "edge")
	i = won.find("illegal", nil)
	add("a reason", i+1, "deck_empty", "replay", i, "data", "reason")
	i = won.find("timeout", nil)
	add("a strike", i+1, 3, "replay", i, "data", "strikes")
	i = won.find("award", nil)
	add("an award", i+1, "knighthood", "replay", i, "data", "award")
	i = won.find("end", nil)
	add("a score", i+1, []int{9, 9, 9}, "replay", i, "data", "scores")
}

// aHex returns the index of a hex whose token is not 12.
func aHex(f forged) int {
	for i, h := range f.data(0)["hexes"].([]any) {
		if token := h.(object)["token"]; token != nil && number(token) != 12 {
			return i
		}
	}
	return -1
}

// The function smallest() returns the first record of at most the given length that
// contains all the words.
func smallest(t testing.TB, o sample.Options, most int, words []string) []byte {
	t.Helper()
	for o.Chance = 1; o.Chance < 3000; o.Chance++ {
		record := sample.New(o).Tick()[0]
		fits := len(record) <= most
		for _, w := range words {
			fits = fits && bytes.Contains(record, []byte(w))
		}
		if fits {
			return record
		}
	}
	require.Fail(t, "no match is small enough", "%+v", o)
	return nil
}

var vectorsFile = filepath.Join("..", "..", "docs", "audit", "vectors.json")

// The published vectors never change, so this test must reproduce them exactly.
func TestVectors(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(makeVectors(t)))
	made := bytes.ReplaceAll(b.Bytes(), []byte(`},{"`), []byte("},\n{\""))
	logtest.RequireGolden(t, vectorsFile, made)
	v := readVectors(t)
	for _, record := range v.Matches {
		require.Nil(t, verify(t, record, audit.Evidence{PlatformKey: sample.PlatformKey, Required: true}).Difference)
	}
	for _, f := range v.Forgeries {
		record := open(t, v.Matches[f.Match])
		replace(record.object, f.Path, f.Value)
		text, err := json.Marshal(record.object)
		require.NoError(t, err)
		d := verify(t, text, audit.Evidence{}).Difference
		require.NotNil(t, d, f.Name)
		require.Equal(t, f.Seq, d.Seq, f.Name)
	}
}

// readVectors reads the published vectors.
func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	text, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}

// replace sets the value at a path inside a JSON value.
func replace(at any, path []any, value any) {
	for len(path) > 1 {
		if key, ok := path[0].(string); ok {
			at = at.(object)[key]
		} else {
			at = at.([]any)[int(path[0].(float64))]
		}
		path = path[1:]
	}
	if key, ok := path[0].(string); ok {
		at.(object)[key] = value
	} else {
		at.([]any)[int(path[0].(float64))] = value
	}
}
