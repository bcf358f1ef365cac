package audit

import (
	"bytes"
	"encoding/json"

	"hexarena/domain/board"
	"hexarena/domain/match"
	"hexarena/domain/strictjson"
)

func readAction(r *strictjson.Reader) *played {
	d := &played{elapsed: nobody}
	var action string
	r.Object(need("decision", &d.decision), need("kind", &d.kind), need("action", func() { action = r.Raw() }),
		need("default", &d.isDefault), need("elapsedMs", func() { d.elapsed = seatOrNobody(r) }), may("collected", &d.collected))
	kind, ok := kindNamed(d.kind)
	if !ok {
		r.Fail("there is no kind of decision %q", d.kind)
	}
	if r.Err() != nil {
		return d
	}
	d.answer, d.err = match.ReadAction(kind, []byte(action))
	d.whole = d.err == nil && sameText(action, d.answer.Sent)
	return d
}

// sameText reports whether JSON equals sent, except for white space.
func sameText(action string, sent []byte) bool {
	if action == string(sent) {
		return true
	}
	var b bytes.Buffer
	return json.Compact(&b, []byte(action)) == nil && bytes.Equal(b.Bytes(), sent)
}

// readBoard reads the hexes, which must be in order, and the ports.
func readBoard(r *strictjson.Reader) *laid {
	d := new(laid)
	hexes := 0
	hex := func() {
		if hexes < board.Hexes {
			d.layout.Resources[hexes], d.layout.Tokens[hexes] = readHex(r, hexes)
		} else {
			r.Fail("there are %d hexes", board.Hexes)
		}
		hexes++
	}
	r.Object(need("hexes", func() { r.Array(hex) }), need("ports", func() { d.ports = strictjson.List(r, func() match.Port { return readPort(r) }) }),
		need("bandit", &d.bandit))
	r.Want(hexes == board.Hexes, "a hex")
	return d
}

func readHex(r *strictjson.Reader, number int) (board.Resource, uint8) {
	var name string
	token, id := 0, -1
	r.Object(need("id", &id), need("resource", &name), need("token", func() {
		if !r.Null() {
			token = r.Integer()
			r.Want(token > 0, "a token above 0")
		}
	}))
	res, ok := board.ParseResource(name)
	if !ok {
		res = board.Desert
		r.Want(name == res.String(), "a resource")
	}
	if id != number {
		r.Fail("hex %d is at the place of hex %d", id, number)
	}
	if token > 12 {
		r.Fail("a token of %d", token)
	}
	return res, uint8(token)
}

func readPort(r *strictjson.Reader) (p match.Port) {
	var vertices []int
	r.Object(need("vertices", &vertices), need("rate", &p.Rate), may("resource", func() {
		p.Resource = r.Text()
		r.Want(p.Resource != "", "a port's resource")
	}))
	r.Want(len(vertices) == len(p.Vertices), "one of two vertices")
	copy(p.Vertices[:], vertices)
	return p
}
