package match

import (
	"encoding/json"
	"strconv"

	"hexarena/domain/board"
)

// This file encodes the view of every decision by hand. It is the hottest path of
// the arena, and reflection would take most of its time. A test compares it with
// encoding/json byte for byte.

// AppendJSON appends the request as JSON, the same bytes that encoding/json
// writes.
func (r *Request) AppendJSON(b []byte) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, int64(r.ID), 10)
	b = append(b, `,"matchId":`...)
	b = appendString(b, r.MatchID)
	b = append(b, `,"mode":`...)
	b = appendString(b, r.Mode)
	b = appendInt(b, `,"seat":`, r.Seat)
	b = append(b, `,"kind":`...)
	b = appendString(b, r.Kind)
	b = append(b, `,"deadlineMs":`...)
	b = strconv.AppendInt(b, r.DeadlineMs, 10)
	b = append(b, `,"view":`...)
	b = r.View.AppendJSON(b)
	return append(b, '}')
}

// AppendJSON appends the view as JSON, the same bytes that encoding/json
// writes.
func (v *View) AppendJSON(b []byte) []byte {
	b = appendInt(b, `{"seat":`, v.Seat)
	b = v.Common.appendFields(b)
	b = append(b, `,"board":{"hexes":`...)
	b = appendList(b, v.Board.Hexes, appendHex)
	b = append(b, `,"ports":`...)
	b = appendList(b, v.Board.Ports, appendPort)
	b = appendInt(b, `,"bandit":`, v.Board.Bandit)
	b = append(b, `},"hand":`...)
	b = v.Hand.appendJSON(b)
	b = append(b, `,"devCards":`...)
	b = appendList(b, v.DevCards, appendString)
	b = append(b, `,"devBoughtThisTurn":`...)
	b = appendList(b, v.DevBoughtThisTurn, appendString)
	b = appendInt(b, `,"myScore":`, v.MyScore)
	return append(b, '}')
}

// appendFields appends the fields of c, each after a comma.
func (c *Common) appendFields(b []byte) []byte {
	b = appendInt(b, `,"seatCount":`, c.SeatCount)
	b = append(b, `,"phase":`...)
	b = appendString(b, c.Phase)
	b = appendInt(b, `,"turn":`, c.Turn)
	b = append(b, `,"dice":`...)
	if c.Dice == nil {
		b = append(b, "null"...)
	} else {
		b = appendList(b, c.Dice[:], appendNumber)
	}
	b = append(b, `,"roads":`...)
	b = appendList(b, c.Roads, appendRoad)
	b = append(b, `,"towns":`...)
	b = appendList(b, c.Towns, appendTown)
	b = append(b, `,"handCounts":`...)
	b = appendList(b, c.HandCounts, appendNumber)
	b = append(b, `,"devCounts":`...)
	b = appendList(b, c.DevCounts, appendNumber)
	b = append(b, `,"knightsPlayed":`...)
	b = appendList(b, c.KnightsPlayed, appendNumber)
	b = append(b, `,"scores":`...)
	b = appendList(b, c.Scores, appendNumber)
	b = append(b, `,"awards":{"largestArmy":`...)
	b = appendSeat(b, c.Awards.LargestArmy)
	b = append(b, `,"longestRoad":`...)
	b = appendSeat(b, c.Awards.LongestRoad)
	b = appendInt(b, `},"deckRemaining":`, c.DeckRemaining)
	b = append(b, `,"openTrade":`...)
	b = c.OpenTrade.appendJSON(b)
	b = append(b, `,"talkLog":`...)
	return appendList(b, c.TalkLog, appendTalk)
}

func (o *OpenTrade) appendJSON(b []byte) []byte {
	if o == nil {
		return append(b, "null"...)
	}
	b = appendInt(b, `{"from":`, o.From)
	b = append(b, `,"give":`...)
	b = o.Give.appendJSON(b)
	b = append(b, `,"get":`...)
	b = o.Get.appendJSON(b)
	if o.To != nil {
		b = appendInt(b, `,"to":`, *o.To)
	}
	if o.Talk != "" {
		b = append(b, `,"talk":`...)
		b = appendString(b, o.Talk)
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

func appendHex(b []byte, h Hex) []byte {
	b = appendInt(b, `{"id":`, h.ID)
	b = append(b, `,"resource":`...)
	b = appendString(b, h.Resource)
	b = append(b, `,"token":`...)
	b = appendSeat(b, h.Token)
	return append(b, '}')
}

func appendPort(b []byte, p Port) []byte {
	b = append(b, `{"vertices":`...)
	b = appendList(b, p.Vertices[:], appendNumber)
	b = appendInt(b, `,"rate":`, p.Rate)
	if p.Resource != "" {
		b = append(b, `,"resource":`...)
		b = appendString(b, p.Resource)
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
	b = append(b, `,"message":`...)
	b = appendString(b, t.Message)
	b = appendInt(b, `,"turn":`, t.Turn)
	return append(b, '}')
}

func appendInt(b []byte, key string, n int) []byte {
	b = append(b, key...)
	return strconv.AppendInt(b, int64(n), 10)
}

func appendNumber(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// appendSeat appends an optional number.
func appendSeat(b []byte, n *int) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(*n), 10)
}

// appendString appends a JSON string as encoding/json escapes it.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // strings always encode
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendList[T any](b []byte, list []T, item func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, v)
	}
	return append(b, ']')
}
