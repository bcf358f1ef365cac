package stats

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/search"
	"hexarena/domain/seed"
)

// Outlook is each seat's chance to win at one point of a match.
type Outlook struct {
	Turn  int       `json:"turn" doc:"The chances are from before the roll of this turn; 0 is before the first placement. The last outlook is the result."`
	Seq   int       `json:"seq" doc:"The last event before this point."`
	Wins  []float64 `json:"wins" nullable:"false" doc:"The share of play-outs that each seat won. Seats that share a first place share the win."`
	Error []float64 `json:"error" nullable:"false" doc:"The standard error of each share."`
}

// WinProbability estimates each seat's chance to win at every turn of an ended match. At
// each turn, the cheap rules of the house bot search play the match to its end. All hands
// stay as they are. The dice, the order of the deck and the steals are new; the match's
// seed determines them. The last outlook of a completed match is its result.
// WinProbability calls pause after each play-out, and stops if pause returns an error.
func WinProbability(m match.Match, events []match.Event, playouts int, pause func() error) (list []Outlook, err error) {
	list = []Outlook{}
	var finisher *search.Finisher
	for _, e := range events {
		roll, rolls := e.(match.DiceRolled)
		if rolls {
			o, err := outlook(&m, roll.Turn, finisher, playouts, pause)
			if err != nil {
				return nil, err
			}
			list = append(list, o)
		}
		m = match.Evolve(m, e)
		if _, laid := e.(match.BoardLaid); laid {
			finisher = search.NewFinisher(m.Game.Layout)
			o, err := outlook(&m, 0, finisher, playouts, pause)
			if err != nil {
				return nil, err
			}
			list = append(list, o)
		}
	}
	if m.End != nil {
		list = append(list, Outlook{Turn: int(m.Game.Turn), Seq: m.Seq, Wins: winners(&m.Game), Error: make([]float64, m.Game.Seats)})
	}
	return list, nil
}

func outlook(m *match.Match, turn int, f *search.Finisher, playouts int, pause func() error) (Outlook, error) {
	o := Outlook{Turn: turn, Seq: m.Seq, Wins: make([]float64, m.Game.Seats), Error: make([]float64, m.Game.Seats)}
	for i := range playouts {
		g := m.Game
		g.Reseed(fresh(m.Seed, turn, i))
		f.Finish(&g)
		for seat, share := range winners(&g) {
			o.Wins[seat] += share
		}
		if err := pause(); err != nil {
			return o, err
		}
	}
	n := float64(playouts)
	for seat, wins := range o.Wins {
		p := (wins + 1) / (n + 2) // so that the error is not 0 if all play-outs agree
		o.Wins[seat], o.Error[seat] = wins/n, math.Sqrt(p*(1-p)/n)
	}
	return o, nil
}

// fresh returns the seed of one play-out: SHA-256 of a fixed text, the match's seed, the
// turn and the number of the play-out.
func fresh(s seed.Seed, turn, playout int) seed.Seed {
	b := append([]byte("hexarena/win-probability/1\x00"), s[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(turn))
	return sha256.Sum256(binary.BigEndian.AppendUint32(b, uint32(playout)))
}

// winners returns each seat's share of the win of a game that is over.
func winners(g *game.State) []float64 {
	shares, first := make([]float64, g.Seats), 0
	places := g.Placements()
	for seat := range shares {
		if places[seat] == 1 {
			first++
		}
	}
	for seat := range shares {
		if places[seat] == 1 {
			shares[seat] = 1 / float64(first)
		}
	}
	return shares
}
