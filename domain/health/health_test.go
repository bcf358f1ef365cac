package health_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/health"
	"hexarena/domain/match"
)

// fold folds facts. Each word is one match, and most letters are one decision: "s" is a
// silent timeout, "d" is a failed dial, "i" is an illegal answer, and "a" is an answer.
// At the third strike, the bot resigns. The match ends as missed if the word contains
// "m", and as aborted if it contains "x". Otherwise it ends as played. If the word ends
// with "…", the match is still open. The nth fact happens n seconds after the start.
func fold(words ...string) health.Bot {
	var b health.Bot
	now := start
	for n, word := range words {
		id := string(rune('A' + n))
		strikes, dials := 0, 0
		open := strings.HasSuffix(word, "…")
		for _, fact := range strings.TrimSuffix(word, "…") {
			now = now.Add(time.Second)
			switch fact {
			case 's', 'd':
				if dials++; fact == 's' {
					dials = 0
				}
				strikes++
				b.TimedOut(id, match.DecisionTimedOut{TimeoutData: match.TimeoutData{Decision: strikes, Kind: "turn", Cause: match.CauseDropped}}, 7, dials, now)
			case 'a':
				dials = 0
			case 'i':
				dials = 0
				strikes++
				b.Rejected(id, match.AnswerRejected{IllegalData: match.IllegalData{Decision: strikes, Reason: "cannot_afford", Message: "You cannot afford it."}}, 8, now)
			}
			if strikes == match.MaxStrikes {
				b.Resigned(id, now)
			}
		}
		if !open {
			now = now.Add(time.Second)
			b.Ended(id, strings.Contains(word, "m"), strings.Contains(word, "x"), now)
		}
	}
	return b
}

var start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// The facts of a bot's matches determine its state, and the time of the last change of
// the state.
func TestState(t *testing.T) {
	for name, c := range map[string]struct {
		given []string
		then  health.State
		since int // seconds after the start; 0: never changed
	}{
		"no match":                                   {nil, "", 0},
		"an open match without a strike":             {[]string{"…"}, "", 0},
		"an open match with three strikes":           {[]string{"sss…"}, "", 0},
		"one match":                                  {[]string{"p"}, health.OK, 2},
		"one resigned match":                         {[]string{"sss"}, health.OK, 4},
		"the second resigned match ends":             {[]string{"sss", "iii"}, health.Failing, 8},
		"the second resigned match is open":          {[]string{"sss", "iii…"}, health.OK, 4},
		"resigned, then missed":                      {[]string{"sss", "m"}, health.Failing, 6},
		"three resigned matches":                     {[]string{"iii", "iii", "iii"}, health.Failing, 8},
		"a good match between two":                   {[]string{"sss", "p", "sss"}, health.OK, 4},
		"recovers":                                   {[]string{"sss", "sss", "p"}, health.OK, 10},
		"two strikes are no failure":                 {[]string{"ss", "ii"}, health.OK, 3},
		"fails again":                                {[]string{"sss", "sss", "p", "sss", "sss"}, health.Failing, 18},
		"an aborted match says nothing":              {[]string{"x"}, "", 0},
		"an aborted match between two":               {[]string{"sss", "ssx", "sss"}, health.Failing, 12},
		"an aborted match is no recovery":            {[]string{"sss", "sss", "x"}, health.Failing, 8},
		"resigned in an aborted match":               {[]string{"sss", "sssx"}, health.Failing, 9},
		"the third failed dial":                      {[]string{"ddd…"}, health.Unreachable, 3},
		"two failed dials":                           {[]string{"dd…"}, "", 0},
		"still unreachable at the end":               {[]string{"dddm"}, health.Unreachable, 3},
		"unreachable in an aborted match":            {[]string{"dddx"}, health.Unreachable, 3},
		"answers between the dials":                  {[]string{"dadad"}, health.OK, 6},
		"dies in the first match":                    {[]string{"sdd"}, health.OK, 4},
		"dies in the first match, dead in the next":  {[]string{"sdd", "ddd"}, health.Unreachable, 7},
		"unreachable, then open":                     {[]string{"ddd", "…"}, health.Unreachable, 3},
		"unreachable, then illegal":                  {[]string{"ddd", "iii"}, health.Failing, 8},
		"unreachable, then aborted":                  {[]string{"ddd", "x"}, health.Unreachable, 3},
		"unreachable, then recovers":                 {[]string{"ddd", "p"}, health.OK, 6},
		"failing, then unreachable":                  {[]string{"iii", "iii", "ddd"}, health.Unreachable, 11},
		"unreachable, then recovers, and resigns":    {[]string{"ddd", "p", "sss"}, health.OK, 6},
		"unreachable, then resigns, and then misses": {[]string{"ddd", "sss", "m"}, health.Failing, 8},
	} {
		t.Run(name, func(t *testing.T) {
			b := fold(c.given...)
			require.Equal(t, c.then, b.State)
			if c.since == 0 {
				require.Zero(t, b.Since)
				return
			}
			require.Equal(t, start.Add(time.Duration(c.since)*time.Second), b.Since)
		})
	}
}

// Given a bot in trouble, then Trouble is the time at which the trouble began, whatever
// its states were in between. It stays when the bot recovers.
func TestTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		given []string
		then  int // seconds after the start; 0: never
	}{
		"always worked":               {[]string{"ss", "p"}, 0},
		"failing":                     {[]string{"sss", "sss"}, 8},
		"failing, then unreachable":   {[]string{"iii", "iii", "ddd"}, 8},
		"unreachable, then failing":   {[]string{"ddd", "iii"}, 3},
		"recovered":                   {[]string{"sss", "sss", "p", "sss"}, 8},
		"failing again":               {[]string{"sss", "sss", "p", "sss", "sss"}, 18},
		"unreachable at its first":    {[]string{"ddd…"}, 3},
		"unreachable, after recovery": {[]string{"sss", "sss", "p", "ddd…"}, 13},
	} {
		t.Run(name, func(t *testing.T) {
			b := fold(c.given...)
			if c.then == 0 {
				require.Zero(t, b.Trouble)
				return
			}
			require.Equal(t, start.Add(time.Duration(c.then)*time.Second), b.Trouble)
		})
	}
}

// Recent counts only the last twenty matches that have ended.
func TestRecent(t *testing.T) {
	require.Zero(t, health.Bot{}.Recent())
	bad := []string{"sii", "m", "ssx", "s…"}
	require.Equal(t, health.Recent{Matches: 3, Strikes: 5, Resigned: 1, Missed: 1, Timeouts: 3, Illegal: 2}, fold(bad...).Recent())
	many := append(slices.Repeat([]string{"iii"}, 30), slices.Repeat([]string{"p"}, health.KeptMatches-1)...)
	require.Equal(t, health.Recent{Matches: 20, Strikes: 3, Resigned: 1, Illegal: 3}, fold(many...).Recent())
}

// Whatever their order, the details of a match explain the latest error in the same way
// as the decision log.
func TestLastError(t *testing.T) {
	b := fold("s…")
	want := health.Error{MatchID: "A", Decision: 1, Seq: 7, At: start.Add(time.Second), Code: "dropped", Message: "the connection was lost, or did not open in time"}
	require.Equal(t, want, *b.LastError)

	explain := func(matchID string, decision int, code string) {
		b.Explained(matchID, match.TimeoutExplained{Decision: decision, Fault: match.Fault{Code: code, Message: code}})
	}
	explain("B", 1, "of another match")
	explain("A", 2, "of another decision")
	require.Equal(t, want, *b.LastError)
	explain("A", 1, "status")
	explain("A", 1, "repeated")
	require.Equal(t, []string{"status", "status"}, []string{b.LastError.Code, b.LastError.Message})
	b.Explained("A", match.NewLateAnswer(0, 1, nil, 1004))
	b.Explained("A", match.NewLateAnswer(0, 1, nil, 2))
	explain("A", 1, "silent")
	require.Equal(t, []string{"late", "came 1,004 ms late"}, []string{b.LastError.Code, b.LastError.Message})

	b = fold("i")
	require.Equal(t, health.Error{MatchID: "A", Decision: 1, Seq: 8, At: start.Add(time.Second), Code: "cannot_afford", Message: "You cannot afford it."}, *b.LastError)
	require.Nil(t, fold("p").LastError)
}
