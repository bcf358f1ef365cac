package match

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/seed"
)

// A timeout is explained when its outcome is settled.
func TestExplain(t *testing.T) {
	long := `{"id":1,"action":{"settlement":"` + strings.Repeat("x", 5000) + `","road":0}}`
	closed := &Fault{Code: CodeClosed, Message: `closed by the bot with code 1011 "internal error"`}
	for name, c := range map[string]struct {
		given Outcome
		then  []Event
	}{
		"played":    {Outcome{Frame: []byte(`{"id":1,"action":{"settlement":0,"road":0}}`)}, nil},
		"illegal":   {Outcome{Frame: []byte(`{"id":1,"action":{"settlement":99,"road":0}}`)}, nil},
		"silent":    {Outcome{Cause: CauseDeadline}, []Event{TimeoutExplained{Decision: 1, Fault: Fault{Code: CodeSilent, Message: "nothing came"}}}},
		"stale":     {Outcome{Cause: CauseDeadline, Heard: true}, []Event{TimeoutExplained{Decision: 1, Fault: stale}}},
		"no time":   {Outcome{Cause: CauseDeadline, Unasked: true}, []Event{TimeoutExplained{Decision: 1, Fault: noTime}}},
		"oversized": {Outcome{Cause: CauseOversized}, []Event{TimeoutExplained{Decision: 1, Fault: oversized}}},
		"dropped":   {Outcome{Cause: CauseDropped, Fault: closed}, []Event{TimeoutExplained{Decision: 1, Fault: *closed}}},
		"unknown":   {Outcome{Cause: CauseDropped}, nil},
		"malformed": {Outcome{Frame: []byte(`{"id":"1"}`)}, []Event{TimeoutExplained{Decision: 1, Fault: Fault{CodeWrongID, "/id", `/id must be 1, got the string "1"`}}}},
		"binary":    {Outcome{Frame: []byte(`{"id":"1"}`), Cause: CauseMalformed}, []Event{TimeoutExplained{Decision: 1, Fault: Fault{Code: CodeBinary, Message: "the message is a binary frame; send text frames"}}}},
		"not UTF-8": {Outcome{Frame: []byte("{\uFFFD"), Cause: CauseMalformed}, []Event{TimeoutExplained{Decision: 1, Fault: Fault{Code: CodeNotUTF8, Message: "the message is not valid UTF-8"}}}},
		"long": {Outcome{Frame: []byte(long)}, []Event{TimeoutExplained{Decision: 1, Fault: Fault{
			CodeWrongType, "/action/settlement", `/action/settlement must be an integer from 0 to 53, got the string "` + strings.Repeat("x", 24) + `…"`,
		}}}},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := begin(t, seed.Seed{1}, 3)
			c.given.Decision = m.Asks()[0].ID
			events, err := m.Settle([]Outcome{c.given})
			require.NoError(t, err)
			for i, e := range c.then {
				e := e.(TimeoutExplained)
				e.Seat = m.Asks()[0].Seat
				c.then[i] = e
			}
			require.Equal(t, c.then, m.Explain([]Outcome{c.given}, events))
		})
	}
}

// A late answer takes precedence over the fault, whichever event comes first. Later
// events of the same type change nothing.
func TestDetails(t *testing.T) {
	explained := TimeoutExplained{Decision: 7, Fault: silent}
	answered := NewLateAnswer(0, 7, []byte(strings.Repeat("é", 3000)), 1_001_004)
	for _, events := range [][]Event{{explained, answered}, {answered, explained}, {explained, answered, NewLateAnswer(0, 7, nil, 3), explained}} {
		d := NewDetails()
		for _, e := range events {
			d.Evolve(e)
		}
		require.Equal(t, &Fault{Code: CodeLate, Message: "came 1,001,004 ms late"}, d.FaultOf(7))
		require.Equal(t, strings.Repeat("é", 2048), d.LateAnswerTo(7).Answer)
		require.Nil(t, d.FaultOf(8))
		require.Nil(t, d.LateAnswerTo(8))
	}
	d := NewDetails()
	d.Evolve(explained)
	require.Equal(t, &silent, d.FaultOf(7))
	require.Equal(t, "1", thousands(1))
	require.Equal(t, "100", thousands(100))
	require.Equal(t, "1,000", thousands(1000))
}
