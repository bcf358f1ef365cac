package match

import (
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"hexarena/domain/board"
)

// This file decodes requests by hand. A bot decodes a request for every decision, and
// with reflection it would spend most of its time on that. The code mirrors encode.go. A
// test compares the result with a JSON decoder.

// RequestScanner reads requests in exactly the form that Request.AppendJSON writes. The
// zero value is ready for use. It remembers the last board that it read, because all
// requests of a match have the same hexes and ports. The requests share their memory.
type RequestScanner struct {
	text  string // the hexes and ports as JSON
	board BoardData
}

// Scan reads a request. For any other text, such as a request with an unknown field, ok
// is false. The caller then needs a JSON decoder.
func (b *RequestScanner) Scan(text []byte) (r Request, ok bool) {
	s := scanner{rest: string(text), known: b}
	r = s.request()
	return r, s.done()
}

// scanner reads values in the order in which AppendJSON writes them.
// After something unexpected, failed is true, and the results have no meaning.
type scanner struct {
	rest   string
	failed bool
	spare  []int // for the pointers in the request
	known  *RequestScanner
}

// The method done() reports whether the whole text was read and nothing was unexpected.
func (s *scanner) done() bool { return s.rest == "" && !s.failed }

func (s *scanner) request() (r Request) {
	s.int(`{"id":`, &r.ID)
	s.text(`,"matchId":`, &r.MatchID)
	s.text(`,"mode":`, &r.Mode)
	s.int(`,"seat":`, &r.Seat)
	s.text(`,"kind":`, &r.Kind)
	r.DeadlineMs = int64(s.number(`,"deadlineMs":`))
	if s.has(`,"bankMs":`) {
		bank := int64(s.number(""))
		r.BankMs = &bank
	}
	s.want(`,"view":`)
	s.view(&r.View)
	s.want(`}`)
	return r
}

func (s *scanner) view(v *View) {
	s.int(`{"seat":`, &v.Seat)
	s.common(&v.Common)
	s.board(&v.Board)
	s.int(`,"bandit":`, &v.Board.Bandit)
	s.counts(`},"hand":`, &v.Hand)
	s.texts(`,"devCards":`, &v.DevCards)
	s.texts(`,"devBoughtThisTurn":`, &v.DevBoughtThisTurn)
	s.int(`,"myScore":`, &v.MyScore)
	s.want(`}`)
}

// board reads the hexes and ports, or takes them from the last request.
func (s *scanner) board(b *BoardData) {
	if s.known.text == "" || !s.has(s.known.text) {
		before := s.rest
		scanList(s, `,"board":{"hexes":`, &b.Hexes, board.Hexes, (*scanner).hex)
		scanList(s, `,"ports":`, &b.Ports, len(board.Ports), (*scanner).port)
		if s.failed {
			return
		}
		s.known.text, s.known.board = strings.Clone(before[:len(before)-len(s.rest)]), *b
	}
	*b = s.known.board
}

func (s *scanner) common(c *Common) {
	s.int(`,"seatCount":`, &c.SeatCount)
	s.text(`,"phase":`, &c.Phase)
	s.int(`,"turn":`, &c.Turn)
	if !s.has(`,"dice":null`) {
		c.Dice = new([2]int)
		s.pair(`,"dice":`, c.Dice)
	}
	scanList(s, `,"roads":`, &c.Roads, 32, (*scanner).road)
	scanList(s, `,"towns":`, &c.Towns, 16, (*scanner).town)
	s.ints(`,"handCounts":`, &c.HandCounts)
	s.ints(`,"devCounts":`, &c.DevCounts)
	s.ints(`,"knightsPlayed":`, &c.KnightsPlayed)
	s.ints(`,"scores":`, &c.Scores)
	s.optional(`,"awards":{"largestArmy":`, &c.Awards.LargestArmy)
	s.optional(`,"longestRoad":`, &c.Awards.LongestRoad)
	s.int(`},"deckRemaining":`, &c.DeckRemaining)
	if s.want(`,"openTrade":`); !s.has("null") {
		c.OpenTrade = s.openTrade()
	}
	scanList(s, `,"talkLog":`, &c.TalkLog, TalkLogLen, (*scanner).talk)
}

func (s *scanner) openTrade() *OpenTrade {
	o := &OpenTrade{}
	s.int(`{"from":`, &o.From)
	s.counts(`,"give":`, &o.Give)
	s.counts(`,"get":`, &o.Get)
	if s.has(`,"to":`) {
		o.To = s.pointer()
	}
	if s.has(`,"talk":`) {
		s.text("", &o.Talk)
	}
	s.want(`}`)
	return o
}

func (s *scanner) hex(h *Hex) {
	s.int(`{"id":`, &h.ID)
	s.text(`,"resource":`, &h.Resource)
	s.optional(`,"token":`, &h.Token)
	s.want(`}`)
}

func (s *scanner) port(p *Port) {
	s.pair(`{"vertices":`, &p.Vertices)
	s.int(`,"rate":`, &p.Rate)
	if s.has(`,"resource":`) {
		s.text("", &p.Resource)
	}
	s.want(`}`)
}

func (s *scanner) road(r *Road) {
	s.int(`{"edge":`, &r.Edge)
	s.int(`,"seat":`, &r.Seat)
	s.want(`}`)
}

func (s *scanner) town(t *Town) {
	s.int(`{"vertex":`, &t.Vertex)
	s.int(`,"seat":`, &t.Seat)
	s.bool(`,"city":`, &t.City)
	s.want(`}`)
}

func (s *scanner) talk(t *TableTalk) {
	s.int(`{"seat":`, &t.Seat)
	s.text(`,"message":`, &t.Message)
	s.int(`,"turn":`, &t.Turn)
	s.want(`}`)
}

// Some functions below have a parameter named key, as in encode.go.

// The method has() reports whether the rest begins with text. If so, it skips the text.
func (s *scanner) has(text string) bool {
	rest, ok := strings.CutPrefix(s.rest, text)
	s.rest = rest
	return ok
}

func (s *scanner) want(text string) { s.failed = !s.has(text) || s.failed }

func (s *scanner) number(key string) (n int) {
	s.want(key)
	digits := 0
	for ; digits < len(s.rest) && '0' <= s.rest[digits] && s.rest[digits] <= '9'; digits++ {
		n = 10*n + int(s.rest[digits]-'0')
	}
	s.failed = s.failed || digits == 0 || digits > 15 || digits > 1 && s.rest[0] == '0'
	s.rest = s.rest[digits:]
	return n
}

func (s *scanner) int(key string, into *int) { *into = s.number(key) }

func (s *scanner) bool(key string, into *bool) {
	s.want(key)
	if *into = s.has("true"); !*into {
		s.want("false")
	}
}

func (s *scanner) optional(key string, into **int) {
	if s.want(key); !s.has("null") {
		*into = s.pointer()
	}
}

// pointer reads a number and returns a pointer to it. Most requests have 18 such numbers
// (the tokens of the hexes), and one allocation for all of them saves time.
func (s *scanner) pointer() (n *int) {
	if len(s.spare) == 0 {
		s.spare = make([]int, board.Hexes)
	}
	n, s.spare = &s.spare[0], s.spare[1:]
	*n = s.number("")
	return n
}

func (s *scanner) text(key string, into *string) {
	s.want(key)
	s.want(`"`)
	plain := true
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			*into, s.rest = s.rest[:i], s.rest[i+1:]
			if !plain {
				s.unquote(into)
			}
			return
		case c == '\\':
			i++
			plain = false
		case c < ' ' || c > '~':
			plain = false
		}
	}
	s.failed = true
}

// unquote replaces the escapes in a string. JSON decoders disagree about a string that
// is not valid Unicode, so unquote leaves it to the caller's decoder.
func (s *scanner) unquote(text *string) {
	err := json.Unmarshal([]byte(`"`+*text+`"`), text)
	s.failed = s.failed || err != nil || strings.ContainsRune(*text, utf8.RuneError)
}

func (s *scanner) pair(key string, into *[2]int) {
	s.want(key)
	into[0], into[1] = s.number("["), s.number(",")
	s.want("]")
}

func (s *scanner) counts(key string, into *Counts) {
	s.want(key)
	s.want("{")
	for r, comma := 0, ""; r < board.Resources; r++ {
		if !s.has(comma + resourceKeys[r]) {
			continue
		}
		n := s.number("")
		s.failed = s.failed || n == 0 || n > math.MaxUint16
		into[r], comma = uint16(n), ","
	}
	s.want("}")
}

func (s *scanner) ints(key string, into *[]int) {
	scanList(s, key, into, 4, func(s *scanner, n *int) { s.int("", n) })
}

func (s *scanner) texts(key string, into *[]string) {
	scanList(s, key, into, 0, func(s *scanner, t *string) { s.text("", t) })
}

// scanList reads a list. It expects about size items.
func scanList[T any](s *scanner, key string, into *[]T, size int, item func(*scanner, *T)) {
	s.want(key)
	s.want("[")
	*into = make([]T, 0, size)
	for !s.failed && !s.has("]") {
		if len(*into) > 0 {
			s.want(",")
		}
		var zero T
		*into = append(*into, zero)
		item(s, &(*into)[len(*into)-1])
	}
}

// The variable resourceKeys lists the keys of Counts in the canonical order.
var resourceKeys = func() (keys [board.Resources]string) {
	for r := range keys {
		keys[r] = `"` + board.Resource(r).String() + `":`
	}
	return keys
}()
