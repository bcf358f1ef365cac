package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"hexarena/adapters/botwire"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// deploy repeats the deploy check of an arena.
func (r *run) deploy(ctx context.Context) {
	url, err := r.Address(ctx)
	if err != nil {
		r.down = err.Error()
		return
	}
	for step := range r.dialer.Check(ctx, r.BotID, url) {
		id := step.Name
		if id == "resolve" {
			id = "ping"
		}
		switch {
		case step.OK:
			r.pass(id)
		case id == "upgrade" && strings.Contains(step.Detail, "status 401"):
			step.Detail += "; the bot rejects the signature: give it the public key and the recipient of check-bot (docs/practice.md, \"Signatures\")"
			fallthrough
		default:
			r.fail(id, &failure{Exchange: Exchange{Kind: "deploy-check", Code: id, Reason: step.Detail}})
			if id == "upgrade" {
				r.down = "the bot does not accept the upgrade"
			}
		}
		if id == "upgrade" && strings.Contains(step.Detail, "ignores the x-arena-version") {
			r.report.advise("version", "the arena ignores the x-arena-version of the bot: send it once, with 1 to 40 printable ASCII characters")
		}
	}
}

// greeted looks at the headers of the response to an upgrade.
func (r *run) greeted(id string, a botwire.Accepted) {
	before, again := r.nonces[id]
	r.nonces[id] = a.Nonce
	switch {
	case a.Nonce == "":
		r.report.advise("nonce", "the bot sends no valid x-arena-nonce; send the HMAC-SHA256 of the match id, keyed with your own secret (docs/protocol.md, \"Accept the upgrade\")")
	case again && before != a.Nonce:
		r.report.advise("nonce", "the bot sends another nonce when it is called again for the same match, so you cannot check the record; use an HMAC of the match id")
	case r.repeats(id, a.Nonce):
		r.report.advise("nonce", "the bot sends the same nonce in different matches, so others can predict it; use an HMAC of the match id")
	default:
		r.pass("nonce")
	}
	if a.Version == "" {
		r.report.advise("version", "the bot sends no x-arena-version; with it, the arena counts placements by version")
		return
	}
	r.pass("version")
}

func (r *run) repeats(id, nonce string) bool {
	for other, n := range r.nonces {
		if other != id && n == nonce {
			return true
		}
	}
	return false
}

// formats writes the same requests in other ways that JSON allows, and adds fields.
func (r *run) formats(ctx context.Context) {
	positions := chosenPositions().threeSeats
	r.special(ctx, "order", positions, reordered)
	r.special(ctx, "unknown", positions, extended)
}

// reordered sorts the fields, and uses white space and escapes.
func reordered(req *match.Request) []byte {
	text, _ := json.MarshalIndent(decode(req), " ", "\t") // it was JSON before
	var b bytes.Buffer
	for _, c := range string(text) {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

// addedFields are the fields that a later version of the protocol might have.
const addedFields = `,"futureList":[1,"two",null,{}],"futureText":"added } by a later version","futureNull":null`

// extended adds fields to all objects that later versions may extend. The other fields
// keep their order.
func extended(req *match.Request) []byte {
	var out bytes.Buffer
	var names []string // of the open objects
	name, text := "", req.AppendJSON(nil)
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			end := at + 1
			for text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if text[end+1] == ':' {
				name = string(text[at+1 : end])
			}
			out.Write(text[at:end])
			at = end
		case '{':
			names = append(names, name)
		case '}':
			// These objects are maps from names to values, not lists of fields.
			if !slices.Contains([]string{"hand", "give", "get", "awards"}, names[len(names)-1]) {
				out.WriteString(addedFields)
			}
			names = names[:len(names)-1]
		}
		out.WriteByte(text[at])
	}
	return out.Bytes()
}

func decode(req *match.Request) map[string]any {
	var root map[string]any
	d := json.NewDecoder(bytes.NewReader(req.AppendJSON(nil)))
	d.UseNumber()
	_ = d.Decode(&root) // the arena writes valid JSON
	return root
}

// clocks asks for decisions with the clock of parley and with a time bank.
func (r *run) clocks(ctx context.Context) {
	positions := chosenPositions().threeSeats
	r.special(ctx, "clocks", positions, func(req *match.Request) []byte {
		deadline, _ := ladder.Clocks(ladder.Parley)
		req.Mode, req.DeadlineMs = ladder.Parley, deadline.Milliseconds()
		return req.AppendJSON(nil)
	})
	r.special(ctx, "clocks", positions[:min(2, len(positions))], func(req *match.Request) []byte {
		bank := int64(150_000)
		req.BankMs = &bank
		return req.AppendJSON(nil)
	})
}

// deadlineOf returns the time to answer that a request names.
func deadlineOf(frame []byte) time.Duration {
	var req struct {
		DeadlineMs int64 `json:"deadlineMs"`
	}
	_ = json.Unmarshal(frame, &req) // without a number, the time is 0
	return time.Duration(req.DeadlineMs) * time.Millisecond
}

// reconnects breaks the connection in mid-match: first between two requests, and then
// after a request, which it repeats.
func (r *run) reconnects(ctx context.Context) {
	if !r.ready("reconnect", "repeat") || !r.soundKind(kinds[game.KindSetup]) || !r.soundKind(kinds[game.KindTurn]) {
		return
	}
	s := r.sit(reconnectGame, 3, 0)
	defer s.close()
	if _, f := s.next(ctx); f != nil {
		return
	}
	if _, ok := s.toBeginning(ctx); !ok {
		return
	}
	s.redial()
	for range 2 {
		played, f := s.next(ctx)
		if f != nil {
			r.fail("reconnect", f)
			if unreachable(f) {
				r.down = "the bot accepts no connections any more, since the check reconnect"
			}
			return
		}
		if played {
			r.pass("reconnect")
		}
	}
	d, ok := s.toBeginning(ctx)
	if !ok {
		return
	}
	if _, f := r.ask(ctx, s.line, &s.m, d, nil); f != nil {
		return // the bot failed before the request was repeated
	}
	s.redial()
	if _, f := r.ask(ctx, s.line, &s.m, d, nil); f != nil {
		r.fail("repeat", f)
		return
	}
	r.pass("repeat")
}

// slowAnswer is the part of the time for a decision from which an answer is slow.
const slowAnswer = 0.4

// advise looks at the times of all answers.
func (r *run) advise(context.Context) {
	if len(r.took) == 0 || r.report.failed("time") { // the failure says enough
		return
	}
	slices.Sort(r.took)
	longest := r.took[len(r.took)-1]
	if float64(longest) > slowAnswer*float64(r.Decision) {
		r.report.advise("speed", fmt.Sprintf("the slowest of %d answers took %v, and the limit is %v; a busy machine or network may add more",
			len(r.took), longest.Round(time.Millisecond), r.Decision))
		return
	}
	r.pass("speed")
}
