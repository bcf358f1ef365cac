package conformance

// This file imports only the standard library. It is a bot that was written from
// docs/protocol.md and docs/rules.md, so it shares no error with the arena.

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// stranger serves the bot.
type stranger struct {
	masked bool // violate the WebSocket protocol: mask the frames, as only clients do
}

type strangerView struct {
	ID   int
	Kind string
	View struct {
		Towns []struct{ Vertex int }
		Hand  map[string]int
		Board struct{ Bandit int }
	}
}

func (s stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/ping") {
		_, _ = io.WriteString(w, "pong")
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	nonce := hmac.New(sha256.New, []byte("a secret"))
	nonce.Write([]byte(r.Header.Get("x-arena-match")))
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		base64.StdEncoding.EncodeToString(accept[:]) + "\r\nx-arena-nonce: " + hex.EncodeToString(nonce.Sum(nil)) + "\r\nx-arena-version: 1\r\n\r\n")
	for rw.Flush() == nil {
		opcode, text, err := readFrame(rw.Reader)
		if err != nil {
			return
		}
		if opcode == 8 {
			s.writeFrame(rw.Writer, 8, text)
			_ = rw.Flush()
			return
		}
		var v strangerView
		if err := json.Unmarshal(text, &v); err != nil {
			panic(err)
		}
		answer, err := json.Marshal(map[string]any{"id": v.ID, "action": v.action()})
		if err != nil {
			panic(err)
		}
		s.writeFrame(rw.Writer, 1, answer)
	}
}

// readFrame reads one masked frame of a client (RFC 6455, 5.2).
func readFrame(r *bufio.Reader) (opcode byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	size := uint64(head[1] & 127)
	more := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
	if _, err := io.ReadFull(r, more); err != nil {
		return 0, nil, err
	}
	if len(more) > 0 {
		size = binary.BigEndian.Uint64(append(make([]byte, 8-len(more)), more...))
	}
	data := make([]byte, 4+size)
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, nil, err
	}
	mask, payload := data[:4], data[4:]
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	return head[0] & 15, payload, nil
}

func (s stranger) writeFrame(w *bufio.Writer, opcode byte, payload []byte) {
	size := byte(len(payload)) // all answers are short
	if s.masked {
		size |= 128
	}
	_, _ = w.Write([]byte{128 | opcode, size})
	if s.masked {
		_, _ = w.Write(make([]byte, 4)) // a mask of zeros changes nothing
	}
	_, _ = w.Write(payload)
}

func (v *strangerView) action() any {
	switch v.Kind {
	case "setup":
		edges := strangerEdges()
		taken := map[int]bool{}
		for _, town := range v.View.Towns {
			taken[town.Vertex] = true
			for _, e := range edges {
				if e[0] == town.Vertex || e[1] == town.Vertex {
					taken[e[0]], taken[e[1]] = true, true
				}
			}
		}
		vertex := 0
		for taken[vertex] {
			vertex++
		}
		road := slices.IndexFunc(edges, func(e [2]int) bool { return e[0] == vertex || e[1] == vertex })
		return map[string]int{"settlement": vertex, "road": road}
	case "discard":
		total, cards := 0, map[string]int{}
		for _, n := range v.View.Hand {
			total += n
		}
		left := total / 2
		for name, n := range v.View.Hand {
			cards[name] = min(n, left)
			left -= cards[name]
		}
		return map[string]any{"cards": cards}
	case "bandit":
		return map[string]int{"hex": (v.View.Board.Bandit + 1) % 19}
	case "trade":
		return map[string]bool{"accept": false}
	}
	return map[string]string{"type": "end_turn"}
}

// strangerEdges returns the ends of each edge ("The board" in docs/rules.md).
func strangerEdges() (edges [][2]int) {
	type point struct{ y, x int }
	compare := func(a, b point) int {
		if a.y != b.y {
			return a.y - b.y
		}
		return a.x - b.x
	}
	var hexes [][6]point
	var vertices []point
	for row, n := range []int{3, 4, 5, 4, 3} {
		for column := range n {
			x, y := 2*column+[]int{2, 1, 0, 1, 2}[row], 3*row
			corners := [6]point{{y - 2, x}, {y - 1, x + 1}, {y + 1, x + 1}, {y + 2, x}, {y + 1, x - 1}, {y - 1, x - 1}}
			hexes, vertices = append(hexes, corners), append(vertices, corners[:]...)
		}
	}
	slices.SortFunc(vertices, compare)
	vertices = slices.Compact(vertices)
	for _, corners := range hexes {
		for i, a := range corners {
			ends := [2]int{slices.Index(vertices, a), slices.Index(vertices, corners[(i+1)%6])}
			slices.Sort(ends[:])
			edges = append(edges, ends)
		}
	}
	slices.SortFunc(edges, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(edges)
}
