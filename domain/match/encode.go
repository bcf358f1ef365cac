package match

import (
	"encoding/json"
	"strconv"

	"hexarena/domain/board"
)

// This file encodes views by hand. The arena encodes a view for every decision,
// and with reflection it would spend most of its time on that. A test compares
// the result with encoding/json byte for byte.

// AppendJSON appends the request as JSON. It writes the same bytes as
// encoding/json.
func (r *Request) AppendJSON(b []byte) []byte {
	b = appendInt(b, `{"id":`, r.ID)
	b = appendText(b, `,"matchId":`, r.MatchID)
	b = appendText(b, `,"mode":`, r.Mode)
	b = appendInt(b, `,"seat":`, r.Seat)
	b = appendText(b, `,"kind":`, r.Kind)
	b = appendInt(b, `,"deadlineMs":`, int(r.DeadlineMs))
	if r.BankMs != nil {
		b = appendInt(b, `,"bankMs":`, int(*r.BankMs))
	}
	b = append(b, `,"view":`...)
	b = r.View.AppendJSON(b)
	return append(b, '}')
}

// AppendJSON appends the view as JSON. It writes the same bytes as
// encoding/json.
func (v *View) AppendJSON(b []byte) []byte {
	b = appendInt(b, `{"seat":`, v.Seat)
	b = v.Common.appendFields(b)
	b = append(b, `,"board":`...)
	if v.boardJSON != nil {
		b = append(b, v.boardJSON...)
	} else {
		b = v.Board.appendFixed(b)
	}
	b = appendInt(b, `,"bandit":`, v.Board.Bandit)
	b = appendCounts(b, `},"hand":`, v.Hand)
	b = appendList(b, `,"devCards":`, v.DevCards, appendString)
	b = appendList(b, `,"devBoughtThisTurn":`, v.DevBoughtThisTurn, appendString)
	b = appendInt(b, `,"myScore":`, v.MyScore)
	return append(b, '}')
}

// AppendJSON appends the frame as JSON. It writes the same bytes as encoding/json. The
// frame must be one of a running match: it has no data and no cards.
func (f *Frame) AppendJSON(b []byte) []byte {
	b = appendInt(b, `{"seq":`, f.Seq)
	b = appendInt(b, `,"event":{"seq":`, f.Event.Seq)
	b = appendText(b, `,"at":`, f.Event.At)
	b = appendText(b, `,"kind":`, f.Event.Kind)
	if f.Event.Seat != nil {
		b = appendInt(b, `,"seat":`, *f.Event.Seat)
	}
	b = append(b, '}')
	b = f.Common.appendFields(b)
	b = appendInt(b, `,"board":{"bandit":`, f.Board.Bandit)
	b = appendList(b, `},"owed":`, f.Owed, appendNumber)
	return append(b, '}')
}

// appendFields appends the fields of c, each after a comma.
func (c *Common) appendFields(b []byte) []byte {
	b = appendInt(b, `,"seatCount":`, c.SeatCount)
	b = appendText(b, `,"phase":`, c.Phase)
	b = appendInt(b, `,"turn":`, c.Turn)
	if c.Dice == nil {
		b = append(b, `,"dice":null`...)
	} else {
		b = appendList(b, `,"dice":`, c.Dice[:], appendNumber)
	}
	b = appendList(b, `,"roads":`, c.Roads, appendRoad)
	b = appendList(b, `,"towns":`, c.Towns, appendTown)
	b = appendList(b, `,"handCounts":`, c.HandCounts, appendNumber)
	b = appendList(b, `,"devCounts":`, c.DevCounts, appendNumber)
	b = appendList(b, `,"knightsPlayed":`, c.KnightsPlayed, appendNumber)
	b = appendList(b, `,"scores":`, c.Scores, appendNumber)
	b = appendOptional(b, `,"awards":{"largestArmy":`, c.Awards.LargestArmy)
	b = appendOptional(b, `,"longestRoad":`, c.Awards.LongestRoad)
	b = appendInt(b, `},"deckRemaining":`, c.DeckRemaining)
	b = c.OpenTrade.appendJSON(append(b, `,"openTrade":`...))
	return appendList(b, `,"talkLog":`, c.TalkLog, appendTalk)
}

func (o *OpenTrade) appendJSON(b []byte) []byte {
	if o == nil {
		return append(b, "null"...)
	}
	b = appendInt(b, `{"from":`, o.From)
	b = appendCounts(b, `,"give":`, o.Give)
	b = appendCounts(b, `,"get":`, o.Get)
	if o.To != nil {
		b = appendInt(b, `,"to":`, *o.To)
	}
	if o.Talk != "" {
		b = appendText(b, `,"talk":`, o.Talk)
	}
	return append(b, '}')
}

func (c Counts) appendJSON(b []byte) []byte {
	b = append(b, '{')
	comma := false
	for r, n := range c {
		if n == 0 {
			continue
		}
		if comma {
			b = append(b, ',')
		}
		comma = true
		b = appendString(b, board.Resource(r).String())
		b = append(b, ':')
		b = strconv.AppendUint(b, uint64(n), 10)
	}
	return append(b, '}')
}

// appendFixed appends the part that never changes during a match.
func (d *BoardData) appendFixed(b []byte) []byte {
	b = appendList(b, `{"hexes":`, d.Hexes, appendHex)
	return appendList(b, `,"ports":`, d.Ports, appendPort)
}

func appendHex(b []byte, h Hex) []byte {
	b = appendInt(b, `{"id":`, h.ID)
	b = appendText(b, `,"resource":`, h.Resource)
	b = appendOptional(b, `,"token":`, h.Token)
	return append(b, '}')
}

func appendPort(b []byte, p Port) []byte {
	b = appendList(b, `{"vertices":`, p.Vertices[:], appendNumber)
	b = appendInt(b, `,"rate":`, p.Rate)
	if p.Resource != "" {
		b = appendText(b, `,"resource":`, p.Resource)
	}
	return append(b, '}')
}

func appendRoad(b []byte, r Road) []byte {
	b = appendInt(b, `{"edge":`, r.Edge)
	b = appendInt(b, `,"seat":`, r.Seat)
	return append(b, '}')
}

func appendTown(b []byte, t Town) []byte {
	b = appendInt(b, `{"vertex":`, t.Vertex)
	b = appendInt(b, `,"seat":`, t.Seat)
	b = append(b, `,"city":`...)
	b = strconv.AppendBool(b, t.City)
	return append(b, '}')
}

func appendTalk(b []byte, t TableTalk) []byte {
	b = appendInt(b, `{"seat":`, t.Seat)
	b = appendText(b, `,"message":`, t.Message)
	b = appendInt(b, `,"turn":`, t.Turn)
	return append(b, '}')
}

// Some functions below have a parameter named key. They append the key, with the
// punctuation around it, before the value.

func appendInt(b []byte, key string, n int) []byte { return appendNumber(append(b, key...), n) }

func appendText(b []byte, key, s string) []byte { return appendString(append(b, key...), s) }

func appendCounts(b []byte, key string, c Counts) []byte { return c.appendJSON(append(b, key...)) }

func appendOptional(b []byte, key string, n *int) []byte {
	b = append(b, key...)
	if n == nil {
		return append(b, "null"...)
	}
	return appendNumber(b, *n)
}

func appendList[T any](b []byte, key string, list []T, item func([]byte, T) []byte) []byte {
	b = append(b, key...)
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, v)
	}
	return append(b, ']')
}

func appendNumber(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// appendString appends a JSON string as encoding/json escapes it.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // strings can always be encoded
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
