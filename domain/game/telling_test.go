package game

import (
	"fmt"
	"strings"

	"hexarena/domain/board"
)

// The function changes() describes each seat's changes, and the move of the bandit.
func changes(before, now *State) (out []string) {
	for seat := range now.Seats {
		was, is := facts(before, seat), facts(now, seat)
		var diff []string
		for i := range is {
			if was[i] != is[i] {
				diff = append(diff, fmt.Sprintf("%s %s → %s", is[i].name, was[i].value, is[i].value))
			}
		}
		if diff != nil {
			out = append(out, fmt.Sprintf("seat %d: %s", seat, strings.Join(diff, "; ")))
		}
	}
	if before.Bandit != now.Bandit {
		out = append(out, fmt.Sprintf("bandit %d → %d", before.Bandit, now.Bandit))
	}
	return out
}

type fact struct{ name, value string }

func facts(s *State, seat uint8) []fact {
	return []fact{
		{"roads", fmt.Sprint(s.Roads[seat].Len())},
		{"longest road", fmt.Sprint(s.net.trails[seat])},
		{"settlements", vertices(s.Settlements[seat])},
		{"cities", vertices(s.Cities[seat])},
		{"hand", s.Hands[seat].String()},
		{"devs", devList(s.Devs[seat])},
		{"bought", devList(s.Bought[seat])},
		{"knights", fmt.Sprint(s.Knights[seat])},
		{"score", fmt.Sprint(s.Score(seat))},
		{"true score", fmt.Sprint(s.TrueScore(seat))},
	}
}

func vertices(set board.VertexSet) string {
	if set == 0 {
		return "none"
	}
	var ids []string
	for ; set != 0; set = set.Rest() {
		ids = append(ids, fmt.Sprint(set.First()))
	}
	return strings.Join(ids, " ")
}

func devList(cards DevCards) string {
	var names []string
	for card, n := range cards {
		for range n {
			names = append(names, DevCard(card).String())
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, " ")
}

func tell(s *State, c Consequence) string {
	switch c.Kind {
	case Stole:
		return fmt.Sprintf("steal: %d robs %d", c.Seat, c.To)
	case Traded:
		return fmt.Sprintf("trade: %d gives %v to %d for %v", c.From, c.Give, c.To, c.Get)
	case AwardMoved:
		return fmt.Sprintf("award: %v from %s to %s", c.Award, seatName(c.From), seatName(c.To))
	case Ended:
		return fmt.Sprintf("end: %v in turn %d, placements %v", c.Reason, s.Turn, places(s))
	default:
		return fmt.Sprintf("roll: turn %d of seat %d, %d and %d", c.Turn, c.Seat, c.Dice[0], c.Dice[1])
	}
}

func places(s *State) []uint8 {
	places := s.Placements()
	return places[:s.Seats]
}

func seatName(seat uint8) string {
	if seat == board.None {
		return "nobody"
	}
	return fmt.Sprintf("seat %d", seat)
}

func describe(a Action) string {
	switch a.Type {
	case Setup:
		ends := board.EdgeVertices[a.Edges[0]]
		return fmt.Sprintf("setup on %d, road %d-%d", a.Vertex, ends[0], ends[1])
	case Discard:
		return fmt.Sprintf("discard of %v", a.Giving)
	case MoveBandit:
		return fmt.Sprintf("bandit to %d, victim %s", a.Hex, seatName(a.Victim))
	case Respond:
		return map[bool]string{true: "accept", false: "reject"}[a.Accept]
	default:
		return a.Type.String()
	}
}

// wait describes the decisions that are owed.
func (p *script) wait() string {
	if p.Over {
		return "over"
	}
	kind, seats := p.Owed()
	var who []string
	for seat := range p.Seats {
		if seats>>seat&1 != 0 {
			who = append(who, fmt.Sprint(seat))
		}
	}
	return fmt.Sprintf("owed: %v by %s", kind, strings.Join(who, ", "))
}

func (p *script) show() (out []string) {
	phase := map[Phase]string{PhaseSetup: "setup", PhaseMain: "main"}[p.Phase]
	out = append(out, fmt.Sprintf("%s, turn %d of seat %d, bandit on %d, deck %d", phase, p.Turn, p.Seat, p.Bandit, p.Deck))
	for seat := range p.Seats {
		var parts []string
		for _, f := range facts(&p.State, seat) {
			parts = append(parts, f.name+" "+f.value)
		}
		out = append(out, fmt.Sprintf("seat %d: %s", seat, strings.Join(parts, "; ")))
	}
	return append(out, p.wait())
}
