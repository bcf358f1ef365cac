// Package health decides from a bot's matches whether the bot works: it is untested,
// ok, failing or unreachable (docs/protocol.md, "Health"). The package contains only
// the fold and the rule. A read model, or any other reader of the log, calls the
// methods of Bot for the facts of each match, in the order of the log. The state
// changes only in these methods, so a reader that compares the state before and after
// a call finds every change. State and Since depend only on the facts.
package health

import (
	"slices"
	"time"

	"hexarena/domain/match"
)

// State says whether a bot works.
type State string

// The states of a bot.
const (
	Untested    State = "untested"    // no match counts yet
	OK          State = "ok"          // the bot is in none of the other states
	Failing     State = "failing"     // resigned or missed in each of the last two matches
	Unreachable State = "unreachable" // no dial succeeded for three decisions in a row
)

const (
	// KeptMatches is the number of a bot's ended matches that Recent counts.
	KeptMatches = 20
	failedDials = 3 // this many decisions in a row without a successful dial make a bot unreachable
	badMatches  = 2 // this many resigned or missed matches in a row make a bot failing
)

// Match summarizes one match of a bot.
type Match struct {
	ID          string `json:"id,omitempty"` // only while the match is open
	Timeouts    int    `json:"timeouts,omitempty"`
	Illegal     int    `json:"illegal,omitempty"`
	Resigned    bool   `json:"resigned,omitempty"`
	Missed      bool   `json:"missed,omitempty"`
	Unreachable bool   `json:"unreachable,omitempty"` // at its latest strike, no dial had succeeded for failedDials decisions in a row
	Aborted     bool   `json:"aborted,omitempty"`
}

// The method counts() reports whether the state depends on the match. An open match
// counts once the bot is unreachable in it. An aborted match counts only if the bot
// resigned in it. Otherwise, an aborted match does not show whether the bot works.
func (m Match) counts() bool {
	switch {
	case m.Unreachable:
		return true
	case m.ID != "":
		return false
	}
	return !m.Aborted || m.Resigned
}

// StateOf returns the state of a bot with these matches, oldest first.
func StateOf(matches []Match) State {
	counted, bad := 0, 0
	for _, m := range slices.Backward(matches) {
		if !m.counts() {
			continue
		}
		if counted == 0 && m.Unreachable {
			return Unreachable
		}
		if counted++; m.Resigned || m.Missed || m.Unreachable {
			bad++
		}
		if counted == badMatches {
			break
		}
	}
	switch {
	case counted == 0:
		return Untested
	case bad == badMatches:
		return Failing
	}
	return OK
}

// Bot is the health of one bot. The zero value is a bot without a match.
type Bot struct {
	State     State     `json:"state"`
	Since     time.Time `json:"since,omitzero"`   // the time of the event that changed the state; zero for an untested bot
	Trouble   time.Time `json:"trouble,omitzero"` // when the bot last became failing or unreachable after it had been neither
	Matches   []Match   `json:"matches"`          // oldest first; the last one may be open
	LastError *Error    `json:"lastError,omitempty"`
}

// Error is the latest failed decision of a bot.
type Error struct {
	MatchID  string    `json:"matchId"`
	Decision int       `json:"decision"`
	Seq      int       `json:"seq"` // of the public event that closed the decision
	At       time.Time `json:"at"`
	Code     string    `json:"code"`
	Message  string    `json:"message"`
	Late     bool      `json:"late,omitempty"`      // a late answer explains the error
	Known    bool      `json:"explained,omitempty"` // a detail explains the error
}

// Recent counts what went wrong in the last KeptMatches matches that have ended.
type Recent struct {
	Matches  int `json:"matches"`
	Strikes  int `json:"strikes"`
	Resigned int `json:"resigned"`
	Missed   int `json:"missed"`
	Timeouts int `json:"timeouts"`
	Illegal  int `json:"illegal"`
}

// Recent returns the counts of the ended matches.
func (b Bot) Recent() (r Recent) {
	for _, m := range b.Matches {
		if m.ID != "" {
			continue
		}
		r.Matches++
		r.Timeouts += m.Timeouts
		r.Illegal += m.Illegal
		if m.Resigned {
			r.Resigned++
		}
		if m.Missed {
			r.Missed++
		}
	}
	r.Strikes = r.Timeouts + r.Illegal
	return r
}

// TimedOut folds a strike for a timeout. The parameter failed is the number of the
// bot's latest decisions in a row for which no dial succeeded.
func (b *Bot) TimedOut(matchID string, e match.DecisionTimedOut, seq, failed int, at time.Time) {
	m := b.open(matchID)
	m.Timeouts++
	m.Unreachable = failed >= failedDials
	f := e.KnownFault()
	b.LastError = &Error{MatchID: matchID, Decision: e.Decision, Seq: seq, At: at, Code: f.Code, Message: f.Message}
	b.settle(at)
}

// Rejected folds a strike for an illegal answer.
func (b *Bot) Rejected(matchID string, e match.AnswerRejected, seq int, at time.Time) {
	m := b.open(matchID)
	m.Illegal++
	m.Unreachable = false
	b.LastError = &Error{MatchID: matchID, Decision: e.Decision, Seq: seq, At: at, Code: e.Reason, Message: e.Message}
	b.settle(at)
}

// Resigned folds the third strike of a match.
func (b *Bot) Resigned(matchID string, at time.Time) {
	b.open(matchID).Resigned = true
	b.settle(at)
}

// Ended folds the end of a match, as its ladder stores it.
func (b *Bot) Ended(matchID string, missed, aborted bool, at time.Time) {
	m := b.open(matchID)
	m.ID, m.Missed, m.Aborted = "", missed, aborted
	b.Matches = b.Matches[max(0, len(b.Matches)-KeptMatches):]
	b.settle(at)
}

// Explained folds a detail of a match. It explains only the latest error. As in
// match.Details, the first explanation counts, and a late answer replaces it.
func (b *Bot) Explained(matchID string, detail match.Event) {
	e := b.LastError
	if e == nil || e.MatchID != matchID {
		return
	}
	switch d := detail.(type) {
	case match.TimeoutExplained:
		if d.Decision == e.Decision && !e.Known && !e.Late {
			e.Code, e.Message, e.Known = d.Code, d.Message, true
		}
	case match.LateAnswerReceived:
		if d.Decision == e.Decision && !e.Late {
			f := d.Fault()
			e.Code, e.Message, e.Late = f.Code, f.Message, true
		}
	}
}

// open returns the bot's entry for a match that has not ended.
func (b *Bot) open(matchID string) *Match {
	if n := len(b.Matches); n > 0 && b.Matches[n-1].ID == matchID {
		return &b.Matches[n-1]
	}
	b.Matches = append(b.Matches, Match{ID: matchID})
	return &b.Matches[len(b.Matches)-1]
}

// settle updates the state after a change of the matches.
func (b *Bot) settle(at time.Time) {
	s := StateOf(b.Matches)
	if s == b.state() {
		return
	}
	if s.bad() && !b.state().bad() {
		b.Trouble = at
	}
	b.State, b.Since = s, at
}

// bad reports whether the bot is in trouble.
func (s State) bad() bool { return s == Failing || s == Unreachable }

func (b *Bot) state() State {
	if b.State == "" {
		return Untested
	}
	return b.State
}
