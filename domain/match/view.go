package match

import (
	"encoding/json"
	"fmt"
	"strings"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// Counts is the ResourceCounts of the protocol. On the wire it is an object that maps
// resource names to counts. A missing resource counts as zero.
type Counts game.Cards

// Words lists the cards in words: "2 brick, 1 ore".
func (c Counts) Words() string {
	var list []string
	for r, n := range c {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, board.Resource(r)))
		}
	}
	if len(list) == 0 {
		return "no cards"
	}
	return strings.Join(list, ", ")
}

// MarshalJSON writes the counts above zero, in the canonical order.
func (c Counts) MarshalJSON() ([]byte, error) { return c.appendJSON(nil), nil }

// UnmarshalJSON reads an object of counts. An unknown resource is an error.
func (c *Counts) UnmarshalJSON(b []byte) error {
	v, err := parseJSON(b)
	if err != nil {
		return err
	}
	var r fieldReader
	cards := r.counts("counts", v)
	*c = Counts(cards)
	return r.err()
}

// Hex is one hex of a board.
type Hex struct {
	ID       int    `json:"id"`
	Resource string `json:"resource"`
	Token    *int   `json:"token"` // null on the desert
}

// Port is one port of a board.
type Port struct {
	Vertices [2]int `json:"vertices"`
	Rate     int    `json:"rate"`
	Resource string `json:"resource,omitempty"` // absent if the port takes any resource
}

// Road is a placed road.
type Road struct {
	Edge int `json:"edge"`
	Seat int `json:"seat"`
}

// Town is a settlement or a city.
type Town struct {
	Vertex int  `json:"vertex"`
	Seat   int  `json:"seat"`
	City   bool `json:"city"`
}

// Awards contains the seats that hold the awards. The seat of an award that nobody
// holds is null.
type Awards struct {
	LargestArmy *int `json:"largestArmy"`
	LongestRoad *int `json:"longestRoad"`
}

// OpenTrade is an offer that awaits responses.
type OpenTrade struct {
	From int    `json:"from"`
	Give Counts `json:"give"`
	Get  Counts `json:"get"`
	To   *int   `json:"to,omitempty"`
	Talk string `json:"talk,omitempty"`
}

// TableTalk is one message of the table talk.
type TableTalk struct {
	Seat    int    `json:"seat"`
	Message string `json:"message"`
	Turn    int    `json:"turn"`
}

// Common holds the fields that View and Frame share.
type Common struct {
	SeatCount     int         `json:"seatCount"`
	Phase         string      `json:"phase"` // setup or main
	Turn          int         `json:"turn"`  // 0 during setup
	Dice          *[2]int     `json:"dice"`  // null during setup
	Roads         []Road      `json:"roads"`
	Towns         []Town      `json:"towns"`
	HandCounts    []int       `json:"handCounts"`
	DevCounts     []int       `json:"devCounts"`
	KnightsPlayed []int       `json:"knightsPlayed"`
	Scores        []int       `json:"scores"` // public points
	Awards        Awards      `json:"awards"`
	DeckRemaining int         `json:"deckRemaining"`
	OpenTrade     *OpenTrade  `json:"openTrade"`
	TalkLog       []TableTalk `json:"talkLog"` // the last 20 messages, most recent last
}

// View is the GameView of docs/protocol.md. It shows the game as one seat sees
// it.
type View struct {
	Seat int `json:"seat"`
	Common
	Board             BoardData `json:"board"`
	Hand              Counts    `json:"hand"`
	DevCards          []string  `json:"devCards"`
	DevBoughtThisTurn []string  `json:"devBoughtThisTurn"`
	MyScore           int       `json:"myScore"`

	boardJSON []byte // what appendFixed writes, or nil; a Match encodes it once for all views
}

// View returns the game as a seat currently sees it.
func (m *Match) View(seat int) View {
	g := &m.Game
	board := m.board
	board.Bandit = int(g.Bandit)
	return View{
		Seat:              seat,
		Common:            common(&g.Public, &m.table),
		Board:             board,
		Hand:              Counts(g.Hands[seat]),
		DevCards:          devNames(g.Devs[seat]),
		DevBoughtThisTurn: devNames(g.Bought[seat]),
		MyScore:           g.TrueScore(uint8(seat)),
		boardJSON:         m.boardJSON,
	}
}

func common(p *game.Public, t *table) Common {
	seats := int(p.Seats)
	numbers := make([]int, 4*seats)
	c := Common{
		SeatCount:     seats,
		Phase:         "setup",
		Turn:          int(p.Turn),
		Roads:         roads(p),
		Towns:         towns(p),
		HandCounts:    numbers[0*seats : 1*seats],
		DevCounts:     numbers[1*seats : 2*seats],
		KnightsPlayed: numbers[2*seats : 3*seats],
		Scores:        numbers[3*seats : 4*seats],
		Awards:        Awards{LargestArmy: seatOrNil(p.Holders[game.LargestArmy]), LongestRoad: seatOrNil(p.Holders[game.LongestRoad])},
		DeckRemaining: int(p.Deck),
		OpenTrade:     openTrade(p, t),
		TalkLog:       t.talk,
	}
	if c.TalkLog == nil {
		c.TalkLog = []TableTalk{}
	}
	if p.Phase == game.PhaseMain {
		c.Phase = "main"
	}
	if p.Turn > 0 {
		c.Dice = &[2]int{int(p.Dice[0]), int(p.Dice[1])}
	}
	for s := range seats {
		c.HandCounts[s] = int(p.HandCounts[s])
		c.DevCounts[s] = int(p.DevCounts[s])
		c.KnightsPlayed[s] = int(p.Knights[s])
		c.Scores[s] = p.Score(uint8(s))
	}
	return c
}

// seatOrNil returns a pointer to the seat, or nil for board.None.
func seatOrNil(seat uint8) *int {
	if seat == board.None {
		return nil
	}
	s := int(seat)
	return &s
}

func openTrade(p *game.Public, t *table) *OpenTrade {
	if !p.Offer.Open {
		return nil
	}
	return &OpenTrade{
		From: int(p.Offer.From),
		Give: Counts(p.Offer.Give),
		Get:  Counts(p.Offer.Get),
		To:   seatOrNil(p.Offer.To),
		Talk: t.offerTalk,
	}
}

func roads(p *game.Public) []Road {
	total := 0
	for s := range p.Seats {
		total += p.Roads[s].Len()
	}
	list := make([]Road, 0, total)
	for s := range p.Seats {
		for set := p.Roads[s]; !set.Empty(); set = set.Rest() {
			list = append(list, Road{int(set.First()), int(s)})
		}
	}
	return list
}

func towns(p *game.Public) []Town {
	total := 0
	for s := range p.Seats {
		total += p.Settlements[s].Len() + p.Cities[s].Len()
	}
	list := make([]Town, 0, total)
	for s := range p.Seats {
		for set := p.Settlements[s] | p.Cities[s]; set != 0; set = set.Rest() {
			v := set.First()
			list = append(list, Town{int(v), int(s), p.Cities[s].Has(v)})
		}
	}
	return list
}

// Board returns the data of the board event of a game before its first
// placement.
func Board(p *game.Public) BoardData {
	data := BoardData{Hexes: make([]Hex, board.Hexes), Ports: make([]Port, len(board.Ports)), Bandit: int(p.Bandit)}
	tokens := make([]int, board.Hexes)
	for h, r := range p.Layout.Resources {
		data.Hexes[h] = Hex{ID: h, Resource: r.String()}
		if r != board.Desert {
			tokens[h] = int(p.Layout.Tokens[h])
			data.Hexes[h].Token = &tokens[h]
		}
	}
	for i, port := range board.Ports {
		data.Ports[i] = Port{Vertices: [2]int{int(port.Vertices[0]), int(port.Vertices[1])}, Rate: int(port.Rate)}
		if port.Resource != board.Desert {
			data.Ports[i].Resource = port.Resource.String()
		}
	}
	return data
}

// Layout returns the layout of a board from its public data.
func (d BoardData) Layout() board.Layout {
	var l board.Layout
	for i, h := range d.Hexes[:min(len(d.Hexes), board.Hexes)] {
		r, ok := board.ParseResource(h.Resource)
		if !ok {
			r = board.Desert
		}
		l.Resources[i] = r
		if h.Token != nil {
			l.Tokens[i] = uint8(*h.Token)
		}
	}
	return l
}

func devNames(cards game.DevCards) []string {
	names := make([]string, 0, cards.Total())
	for kind, n := range cards {
		for range n {
			names = append(names, game.DevCard(kind).String())
		}
	}
	return names
}

// Request is a DecisionRequest, as sent to a bot.
type Request struct {
	ID         int    `json:"id"`
	MatchID    string `json:"matchId"`
	Mode       string `json:"mode"`
	Seat       int    `json:"seat"`
	Kind       string `json:"kind"`
	DeadlineMs int64  `json:"deadlineMs"`
	BankMs     *int64 `json:"bankMs,omitempty"` // absent without a time bank
	View       View   `json:"view"`
}

// Response is a DecisionResponse, as a bot sends it.
type Response struct {
	ID     int             `json:"id"`
	Action json.RawMessage `json:"action"`
}
