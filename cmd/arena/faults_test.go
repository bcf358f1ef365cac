package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"nhooyr.io/websocket"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// fault describes a bot that breaks the protocol, and the penalty that the
// specification defines ("Errors", "Missed games").
type fault struct {
	name    string
	conduct conduct
	instead http.HandlerFunc // answers the upgrades of matches

	want    func(kind string) penalty // the penalty for each kind of decision
	strikes int
	missed  bool
	sockets int      // number of accepted sockets; not checked if 0
	details []string // code and message of each strike in the decision log; not checked if nil
}

// penalty is the event of a strike.
type penalty struct {
	kind   string // timeout or illegal
	why    string // cause of the timeout, or reason why the answer was illegal
	answer string // the bot's raw frame, if it is always the same
}

func timeout(cause, answer string) func(string) penalty {
	return func(string) penalty { return penalty{"timeout", cause, answer} }
}

func allFaults() []fault {
	return []fault{
		{
			name: "silent", strikes: 3, missed: true, sockets: 1, want: timeout(match.CauseDeadline, ""),
			conduct: func(context.Context, *websocket.Conn, decision) error { return nil },
			details: thrice("silent: nothing came"),
		},
		{
			name: "late", strikes: 3, sockets: 1, want: timeout(match.CauseDeadline, ""),
			conduct: oneBehind(),
			details: []string{"late: came", "late: came", "stale: only answers to earlier decisions came"},
		},
		{
			name: "malformed", strikes: 3, sockets: 1, want: timeout(match.CauseMalformed, `{"id":`),
			conduct: says(websocket.MessageText, func(decision) []byte { return []byte(`{"id":`) }),
			details: thrice("syntax: unexpected end of JSON input at byte 6"),
		},
		{
			name: "binary", strikes: 3, sockets: 1, want: timeout(match.CauseMalformed, `[]`),
			conduct: says(websocket.MessageBinary, func(decision) []byte { return []byte(`[]`) }),
			details: thrice("binary: the message is a binary frame; send text frames"),
		},
		{
			name: "never asked", strikes: 3, sockets: 1, want: timeout(match.CauseMalformed, `{"id":0,"action":{}}`),
			conduct: says(websocket.MessageText, func(decision) []byte { return []byte(`{"id":0,"action":{}}`) }),
			details: thrice("wrong_id: /id must be "),
		},
		{
			name: "oversized", strikes: 3, sockets: 3, want: timeout(match.CauseOversized, ""),
			conduct: says(websocket.MessageText, func(d decision) []byte { return padded(d.answer, 65_537) }),
			details: thrice("oversized: the message has more than 65,536 bytes"),
		},
		{
			name: "illegal", strikes: 3, sockets: 1, want: contradicted,
			conduct: says(websocket.MessageText, func(d decision) []byte {
				if d.Kind == "setup" {
					return misplaced(d)
				}
				return contrary(d)
			}),
		},
		{
			name: "contrary", strikes: 3, sockets: 1, want: contradicted,
			conduct: says(websocket.MessageText, contrary),
		},
		{
			name: "drops", strikes: 3, missed: true, sockets: 3, want: timeout(match.CauseDropped, ""),
			conduct: func(_ context.Context, conn *websocket.Conn, _ decision) error { return conn.CloseNow() },
			details: thrice("ended: the bot ended the connection without a close frame"),
		},
		{
			name: "closes", strikes: 3, missed: true, sockets: 3, want: timeout(match.CauseDropped, ""),
			conduct: func(_ context.Context, conn *websocket.Conn, _ decision) error {
				return conn.Close(websocket.StatusInternalError, "internal error")
			},
			details: thrice(`closed: closed by the bot with code 1011 "internal error"`),
		},
		{
			name: "resets", strikes: 3, missed: true, sockets: 3, want: timeout(match.CauseDropped, ""),
			conduct: resets,
			details: thrice("reset: the bot reset the connection"),
		},
		{
			name: "refuses", instead: responds(http.StatusUnauthorized), strikes: 3, missed: true, want: timeout(match.CauseDropped, ""),
			details: thrice("status: the server responded with status 401 instead of 101"),
		},
		{
			name: "hangs", instead: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, strikes: 3, missed: true, want: timeout(match.CauseDropped, ""),
			details: thrice("no_http: the server sent no usable HTTP response in time"),
		},
		{
			name: "twice wrong", strikes: 2, sockets: 1, want: contradicted,
			conduct: says(websocket.MessageText, func(d decision) []byte {
				if d.Kind == "setup" {
					return misplaced(d)
				}
				return d.answer
			}),
		},
		{name: "large", sockets: 1, conduct: says(websocket.MessageText, func(d decision) []byte {
			if d.number == 1 {
				return padded(d.answer, 65_536)
			}
			return d.answer
		})},
		{name: "repeats itself", sockets: 1, conduct: func(ctx context.Context, conn *websocket.Conn, d decision) error {
			for range 3 {
				if err := conn.Write(ctx, websocket.MessageText, d.answer); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

func thrice(detail string) []string { return []string{detail, detail, detail} }

// The function contradicted() returns the penalty for a bot that answers with
// misplaced() or contrary().
func contradicted(kind string) penalty {
	switch kind {
	case "setup":
		return penalty{kind: "illegal", why: game.ReasonRoadNotAtSettlement}
	case "turn":
		return penalty{kind: "illegal", why: game.ReasonOutOfRange}
	case "bandit":
		return penalty{kind: "illegal", why: game.ReasonBanditMustMove}
	case "discard":
		return penalty{kind: "illegal", why: game.ReasonDiscardCount}
	default:
		return penalty{kind: "timeout", why: match.CauseMalformed}
	}
}

func says(typ websocket.MessageType, what func(decision) []byte) conduct {
	return func(ctx context.Context, conn *websocket.Conn, d decision) error {
		return conn.Write(ctx, typ, what(d))
	}
}

// The function resets() closes the TCP connection with a reset instead of sending an
// answer.
func resets(ctx context.Context, _ *websocket.Conn, _ decision) error {
	tcp := ctx.Value(connKey{}).(*net.TCPConn)
	return errors.Join(tcp.SetLinger(0), tcp.Close())
}

// The function responds() returns a handler that answers an upgrade with the given
// status.
func responds(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// oneBehind answers each decision only when it receives the next decision of the match.
// So the deadline of the answered decision has passed, even on the clock of an arena that
// was paused.
func oneBehind() conduct {
	var mu sync.Mutex
	owed := map[string][]byte{} // by match
	return func(ctx context.Context, conn *websocket.Conn, d decision) error {
		mu.Lock()
		late := owed[d.MatchID]
		owed[d.MatchID] = d.answer
		mu.Unlock()
		if late == nil {
			return nil
		}
		return conn.Write(ctx, websocket.MessageText, late)
	}
}

func padded(answer []byte, size int) []byte {
	return append(answer, bytes.Repeat([]byte(" "), size-len(answer))...)
}

// The function misplaced() answers a setup decision with a road that is far from its
// settlement.
func misplaced(d decision) []byte {
	var a struct {
		Action struct{ Settlement, Road int }
	}
	if err := json.Unmarshal(d.answer, &a); err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"id":%d,"action":{"settlement":%d,"road":%d}}`, d.ID, a.Action.Settlement, (a.Action.Road+36)%72)
}

// The function contrary() breaks a rule in every kind of decision except setup.
func contrary(d decision) []byte {
	switch d.Kind {
	case "turn":
		return fmt.Appendf(nil, `{"id":%d,"action":{"type":"build_road","edge":72}}`, d.ID)
	case "bandit":
		return fmt.Appendf(nil, `{"id":%d,"action":{"hex":%d}}`, d.ID, d.View.Board.Bandit)
	case "discard":
		return fmt.Appendf(nil, `{"id":%d,"action":{"cards":{}}}`, d.ID)
	case "trade":
		return fmt.Appendf(nil, `{"id":%d,"action":{"accept":"yes"}}`, d.ID)
	default:
		return d.answer
	}
}
