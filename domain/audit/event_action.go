package audit

import (
	"bytes"
	"encoding/json"

	"hexarena/domain/board"
	"hexarena/domain/match"
)

func readAction(r *reader) *played {
	d := &played{elapsed: nobody}
	var action string
	optional := 0
	found := r.object(false, func(key string) bool {
		switch key {
		case "decision":
			d.decision = r.integer()
		case "kind":
			d.kind = r.str()
		case "action":
			action = r.raw()
		case "default":
			d.isDefault = r.boolean()
		case "elapsedMs":
			d.elapsed = seatOrNobody(r)
		case "collected":
			optional++
			d.collected = r.integers()
		default:
			return false
		}
		return true
	})
	r.need(found-optional == 5, "decision, kind, action, default or elapsedMs")
	kind, ok := kindNamed(d.kind)
	if !ok {
		r.fail("there is no kind of decision %q", d.kind)
	}
	if r.err != nil {
		return d
	}
	d.answer, d.err = match.ReadAction(kind, []byte(action))
	d.whole = d.err == nil && sameText(action, d.answer.Sent)
	return d
}

// sameText says whether JSON is sent, white space aside.
func sameText(action string, sent []byte) bool {
	if action == string(sent) {
		return true
	}
	var b bytes.Buffer
	return json.Compact(&b, []byte(action)) == nil && bytes.Equal(b.Bytes(), sent)
}

// readBoard reads hexes in order, and the ports as they stand.
func readBoard(r *reader) *laid {
	d := new(laid)
	hexes := 0
	found := r.object(false, func(key string) bool {
		switch key {
		case "hexes":
			r.array(func() {
				if hexes < board.Hexes {
					d.layout.Resources[hexes], d.layout.Tokens[hexes] = readHex(r, hexes)
				} else {
					r.fail("there are %d hexes", board.Hexes)
				}
				hexes++
			})
		case "ports":
			r.array(func() { d.ports = append(d.ports, readPort(r)) })
		case "bandit":
			d.bandit = r.integer()
		default:
			return false
		}
		return true
	})
	r.need(found == 3 && hexes == board.Hexes, "hexes, ports or bandit")
	return d
}

func readHex(r *reader, number int) (board.Resource, uint8) {
	res, token, id := board.Desert, 0, -1
	found := r.object(false, func(key string) bool {
		switch key {
		case "id":
			id = r.integer()
		case "resource":
			name := r.str()
			var ok bool
			if res, ok = board.ParseResource(name); !ok {
				res = board.Desert
				r.need(name == res.String(), "a resource")
			}
		case "token":
			if !r.null() {
				token = r.integer()
				r.need(token > 0, "a token above 0")
			}
		default:
			return false
		}
		return true
	})
	r.need(found == 3, "id, resource or token")
	if id != number {
		r.fail("hex %d stands in the place of %d", id, number)
	}
	if token > 12 {
		r.fail("a token of %d", token)
	}
	return res, uint8(token)
}

func readPort(r *reader) match.Port {
	var p match.Port
	var vertices []int
	optional := 0
	found := r.object(false, func(key string) bool {
		switch key {
		case "vertices":
			vertices = r.integers()
		case "rate":
			p.Rate = r.integer()
		case "resource":
			optional++
			p.Resource = r.str()
			r.need(p.Resource != "", "a port's resource")
		default:
			return false
		}
		return true
	})
	r.need(found-optional == 2 && len(vertices) == 2, "vertices or rate")
	copy(p.Vertices[:], vertices)
	return p
}
