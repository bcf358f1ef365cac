package simulate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"hexarena/adapters/housebot"
	"hexarena/domain/match"
)

// Bot is a simulated bot.
type Bot struct {
	Name    string // also the first label of its host
	Conduct Conduct
}

// Host returns the host of the bot's URL.
func (b *Bot) Host() string { return strings.ToLower(b.Name) + ".bots.example" }

// URL returns the bot's URL.
func (b *Bot) URL() string { return "http://" + b.Host() }

// Conduct is how a bot behaves. Only the rates of bad conduct of a good bot are 0.
type Conduct struct {
	Strategy   string        // one of housebot.Names
	LeastThink time.Duration // how long the bot thinks
	MostThink  time.Duration
	Flaky      bool    // the network to the bot has faults
	Slow       float64 // the rate of answers after the deadline
	Hostile    float64 // the rate of decisions to which the bot sends anything
}

// Good reports whether the bot answers each request in time and correctly.
func (c Conduct) Good() bool { return !c.Flaky && c.Slow == 0 && c.Hostile == 0 }

// reply is one frame of a bot.
type reply struct {
	after time.Duration // since the previous reply or the request
	frame []byte
	cause string // why the frame is bad, as in referee.Line
	ends  bool   // whether the bot closes the line instead
	why   string // for the trace; empty for a good answer
}

// decide returns the id of a request, and the good answer.
func (b *Bot) decide(p *housebot.Player, frame []byte) (id int, answer []byte, err error) {
	if answer, err = p.Answer(frame); err != nil {
		return 0, nil, err
	}
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(answer, []byte(`{"id":`)), []byte(","))
	id, err = strconv.Atoi(string(digits))
	return id, answer, err
}

// replies returns what the bot sends after a request.
func (c Conduct) replies(r *rand.Rand, id int, good []byte) []reply {
	think := c.LeastThink + time.Duration(r.Int64N(int64(c.MostThink-c.LeastThink)))
	answer := reply{after: think, frame: good}
	switch {
	case r.Float64() < c.Slow:
		answer.after, answer.why = think+time.Duration(r.Int64N(int64(20*time.Second))), "answers slowly"
	case r.Float64() < c.Hostile:
		return hostile(r, id, answer)
	}
	return []reply{answer}
}

// hostile returns bad frames, sometimes with a good answer.
func hostile(r *rand.Rand, id int, good reply) []reply {
	bad := reply{after: good.after}
	switch r.IntN(8) {
	case 0:
		bad.why, bad.frame = "sends an illegal action", fmt.Appendf(nil, `{"id":%d,"action":{"type":"build_road","edge":%d}}`, id, r.IntN(100))
	case 1:
		bad.why, bad.frame, bad.cause = "sends malformed data", []byte("\xef\xbf\xbd"), match.CauseMalformed
	case 2:
		bad.why, bad.cause = "sends too much data", match.CauseOversized
		return []reply{bad, {after: time.Millisecond, ends: true, why: "is cut"}}
	case 3:
		bad.why, bad.frame = "answers another decision", fmt.Appendf(nil, `{"id":%d,"action":{"type":"end_turn"}}`, id+r.IntN(5)-2)
		return []reply{bad, good}
	case 4:
		bad.why, bad.ends = "closes the line", true
	case 5:
		return nil // silence
	case 6:
		again := good
		again.after, again.why = time.Millisecond, "answers twice"
		return []reply{good, again}
	default:
		flood := make([]reply, 0, 21)
		for i := range 20 {
			flood = append(flood, reply{after: time.Millisecond, frame: fmt.Appendf(nil, `{"id":%d,"action":%d}`, id+1000+i, i), why: fmt.Sprintf("floods (%d)", i)})
		}
		return append(flood, good)
	}
	return []reply{bad}
}
