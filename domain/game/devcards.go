package game

// DevCard is a development card.
type DevCard uint8

// The development cards, in the order of an unshuffled deck.
const (
	Knight DevCard = iota
	VictoryPoint
	Roadworks
	Windfall
	Embargo
)

// DevKinds is the number of kinds of development cards. DeckSize is the number
// of cards in a full deck.
const (
	DevKinds = 5
	DeckSize = 25
)

// deckCounts counts the cards of a full deck.
var deckCounts = DevCards{Knight: 14, VictoryPoint: 5, Roadworks: 2, Windfall: 2, Embargo: 2}

var devNames = [...]string{"knight", "victory_point", "roadworks", "windfall", "embargo"}

// String returns the card's name on the wire.
func (d DevCard) String() string { return nameOf(devNames[:], uint8(d)) }

// DevCards counts development cards by kind.
type DevCards [DevKinds]uint8

// Total returns the number of cards in d.
func (d DevCards) Total() int {
	return int(d[0]) + int(d[1]) + int(d[2]) + int(d[3]) + int(d[4])
}

// plus returns the sum of d and e.
func (d DevCards) plus(e DevCards) DevCards {
	for k := range d {
		d[k] += e[k]
	}
	return d
}
