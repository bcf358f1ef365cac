package game

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// script is a game that is controlled by the commands in a transcript. These
// commands set up a game:
//
//	new SEATS              the plain board, before the first placement
//	seeded SEATS BYTE      the board of the seed that is BYTE, repeated 32 times
//	turn SEAT N            the middle of turn N
//	settlement|city SEAT VERTEX…
//	road SEAT VERTEX…      along a path of vertices
//	hand SEAT CARDS…       brick=2 ore=1
//	devs|bought SEAT CARDS…
//	knights SEAT N         played so far
//	bandit HEX
//	dice N N               the next roll
//	deck CARD…             the next to be drawn
//	left N                 cards left in the deck
//	scored N               the turn of the last change of a true score
//
// The commands below play or show the game. A road is written as its two ends.
// "setup V W" builds a settlement on V and the road from V to W. "setup V A B"
// builds the road from A to B instead.
//
//	SEAT ACTION…           check and play the action; print the changes, the
//	                       consequences and the decisions owed
//	SEAT default
//	follow                 play the consequences of the current state
//	show
type script struct{ State }

func (p *script) run(words []string) ([]string, error) {
	if seat, err := strconv.ParseUint(words[0], 10, 8); err == nil {
		return p.play(uint8(seat), words[1:])
	}
	switch words[0] {
	case "show":
		return p.show(), nil
	case "follow":
		return p.follow(nil), nil
	}
	return nil, p.arrange(words[0], words[1:])
}

func (p *script) arrange(command string, args []string) error {
	n, cards, err := arguments(args)
	if err != nil {
		return err
	}
	seat, rest := uint8(0), []uint8(nil)
	if len(n) > 0 {
		seat, rest = uint8(n[0]), ids(n[1:])
	}
	switch command {
	case "new":
		p.State = newPlain(n[0])
	case "seeded":
		var s seed.Seed
		for i := range s {
			s[i] = rest[0]
		}
		p.State = New(s, n[0])
	case "turn":
		onTurn(seat, uint16(n[1]))(&p.State)
	case "settlement":
		settlements(seat, rest...)(&p.State)
	case "city":
		cities(seat, rest...)(&p.State)
	case "road":
		roads(seat, rest...)(&p.State)
	case "hand":
		hand(seat, cards)(&p.State)
	case "devs":
		devs(seat, devCards(args[1:]))(&p.State)
	case "bought":
		bought(seat, devCards(args[1:]))(&p.State)
	case "knights":
		p.Knights[seat] = rest[0]
		p.contest()
	case "bandit":
		p.Bandit = seat
	case "dice":
		p.ahead = [2]uint8{seat, rest[0]}
	case "deck":
		for i, name := range args {
			p.deck[DeckSize-int(p.Deck)+i] = uint8(devNamed(name))
		}
	case "left":
		p.Deck = uint8(n[0])
	case "scored":
		p.scored = uint16(n[0])
	default:
		return fmt.Errorf("no command %q", command)
	}
	return nil
}

// arguments splits words into numbers and card counts.
func arguments(words []string) (n []int, cards Cards, err error) {
	for _, word := range words {
		name, count, counted := strings.Cut(word, "=")
		r, known := board.ParseResource(name)
		switch {
		case counted && known:
			k, err := strconv.ParseUint(count, 10, 16)
			if err != nil {
				return nil, cards, err
			}
			cards[r] = uint16(k)
		default:
			if k, err := strconv.Atoi(word); err == nil {
				n = append(n, k)
			}
		}
	}
	return n, cards, nil
}

func devNamed(name string) DevCard {
	for card := range DevCard(DevKinds) {
		if card.String() == name {
			return card
		}
	}
	panic("no card " + name)
}

func devCards(names []string) (cards DevCards) {
	for _, name := range names {
		cards[devNamed(name)]++
	}
	return cards
}

func (p *script) play(seat uint8, words []string) ([]string, error) {
	a, err := p.action(seat, words)
	if err != nil {
		return nil, err
	}
	if err := p.Check(seat, a); err != nil {
		var broken *Illegal
		errors.As(err, &broken)
		return []string{"illegal " + broken.Reason + ": " + broken.Message}, nil
	}
	before := p.State
	collected := p.Act(seat, a)
	out := changes(&before, &p.State)
	if a.Type == PlayEmbargo {
		out = append(out, fmt.Sprintf("collected %v", collected[:p.Seats]))
	}
	if words[0] == "default" {
		out = append([]string{"plays " + describe(a)}, out...)
	}
	return p.follow(out), nil
}

// follow plays the consequences. It appends their descriptions to the parameter out,
// and then the decisions owed after them.
func (p *script) follow(out []string) []string {
	for c, more := p.Next(); more; c, more = p.Next() {
		before := p.State
		p.Apply(c)
		out = append(out, tell(&p.State, c))
		out = append(out, changes(&before, &p.State)...)
	}
	return append(out, p.wait())
}

// action parses an action as people write it in a script.
func (p *script) action(seat uint8, words []string) (Action, error) {
	a := Action{Vertex: none, Edges: [2]uint8{none, none}, Hex: none, Victim: none, To: none}
	numbers, cards, err := arguments(words[1:])
	if err != nil {
		return a, err
	}
	n := ids(numbers)
	a.Victim, a.To = optional(words, "victim"), optional(words, "to")
	t, turn := ParseTurnType(words[0])
	a.Type = t
	switch {
	case words[0] == "default":
		return p.Default(seat), nil
	case words[0] == "setup":
		ends := n[len(n)-2:]
		a.Type, a.Vertex, a.Edges[0] = Setup, n[0], edgeBetween(ends[0], ends[1])
	case words[0] == "discard":
		a.Type, a.Giving = Discard, cards
	case words[0] == "bandit":
		a.Type, a.Hex = MoveBandit, n[0]
	case words[0] == "accept", words[0] == "reject":
		a.Type, a.Accept = Respond, words[0] == "accept"
	case !turn:
		return a, fmt.Errorf("no action %q", words[0])
	case t == BuildRoad:
		a.Edges[0] = edgeBetween(n[0], n[1])
	case t == BuildSettlement, t == BuildCity:
		a.Vertex = n[0]
	case t == PlayKnight:
		a.Hex = n[0]
	case t == PlayRoadworks:
		for i := range len(n) / 2 {
			a.Edges[i] = edgeBetween(n[2*i], n[2*i+1])
		}
	case t == PlayWindfall:
		a.Taking = cards
	case t == PlayEmbargo:
		a.Get = resource(words[1])
	case t == BankTrade:
		a.Give, a.Get = resource(words[1]), resource(words[2])
	case t == OfferTrade:
		give, get, _ := strings.Cut(strings.Join(words[1:], " "), " for ")
		_, a.Giving, _ = arguments(strings.Fields(give))
		_, a.Taking, _ = arguments(strings.Fields(get))
	}
	return a, nil
}

func ids(n []int) (out []uint8) {
	for _, id := range n {
		out = append(out, uint8(id))
	}
	return out
}

func resource(name string) board.Resource {
	if r, ok := board.ParseResource(name); ok {
		return r
	}
	return board.Desert
}

func optional(words []string, key string) uint8 {
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok && name == key {
			n, _ := strconv.ParseUint(value, 10, 8)
			return uint8(n)
		}
	}
	return none
}
