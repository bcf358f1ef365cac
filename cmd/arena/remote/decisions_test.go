package remote

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/projections/seats"
)

const twoDecisions = `{"decisions":[
	{"id":1,"seq":2,"kind":"setup","elapsedMs":12,"outcome":"played","answer":"{}","played":{"settlement":0,"road":0}},
	{"id":44,"seq":70,"kind":"turn","elapsedMs":5000,"outcome":"timeout","cause":"deadline","strikes":3,"resigned":true,"newer":true,
	 "request":{"id":44,"seat":1,"kind":"turn","deadlineMs":5000,"view":{"hand":{"brick":2,"ore":1}}},
	 "fault":{"code":"late","message":"came 1,004 ms late"},"late":{"lateMs":1004,"answer":"{\"id\":44,\u001b[2J\n\"action\":{}}"},
	 "played":{"type":"end_turn"}}]}`

func decoded(t *testing.T, text string) (a answer[decisionList]) {
	t.Helper()
	a.Body = []byte(text)
	require.NoError(t, json.Unmarshal(a.Body, &a.value))
	return a
}

// The log shows the facts about a strike, but no control characters from a bot.
func TestPrintLog(t *testing.T) {
	var out strings.Builder
	s := &session{base: "http://arena", out: &out}
	require.NoError(t, show(s, decoded(t, twoDecisions), func(w io.Writer, list decisionList) { s.printLog(w, "m", list, "no decisions") }))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{
		`1   setup  played   12 ms            {"settlement":0,"road":0}`,
		`44  turn   timeout  5000 of 5000 ms  {"type":"end_turn"}`,
		``,
		`Decision 44 (turn), strike 3: deadline: came 1,004 ms late`,
		`  The bot answered after the deadline: {"id":44, [2J "action":{}}`,
		`  The arena played {"type":"end_turn"}.`,
		`  This was the third strike, so the bot resigned.`,
		`  The bot had 2 brick, 1 ore in its hand.`,
	}, lines[:8])
	require.Contains(t, lines[8], `  The whole request: {"id":44,`)
	require.Equal(t, []string{`  http://arena/watch/m#70`, ``}, lines[9:])
}

// The newest match of a bot may have no decision yet.
func TestPrintLogWithoutDecisions(t *testing.T) {
	var out strings.Builder
	s := &session{base: "http://arena", out: &out}
	require.NoError(t, show(s, decoded(t, `{"decisions":[]}`), func(w io.Writer, list decisionList) { s.printLog(w, "m", list, "no strikes") }))
	require.Equal(t, "no strikes in the match m so far\n", out.String())
}

// The JSON of the failed decisions keeps fields that this program does not know.
func TestKeepFailed(t *testing.T) {
	log := decoded(t, twoDecisions)
	require.NoError(t, keepFailed(&log))
	var raw struct{ Decisions []map[string]any }
	require.NoError(t, json.Unmarshal(log.Body, &raw))
	require.Len(t, raw.Decisions, 1)
	require.Equal(t, 44.0, raw.Decisions[0]["id"])
	require.Equal(t, true, raw.Decisions[0]["newer"])

	none := decoded(t, `{"decisions":[]}`)
	require.NoError(t, keepFailed(&none))
	require.JSONEq(t, `{"decisions":[]}`, string(none.Body))
}

func TestPrintHistory(t *testing.T) {
	place, rating, before := 2, 12.34, 10.0
	var out strings.Builder
	printHistory(&out, rest.BotHistory{Points: []rest.HistoryPoint{
		{MatchID: "a", EndedAt: "t1", Placement: &place, Rating: &rating, MatchSeat: seats.Seat{Strikes: 2, RatingBefore: &before, RatingAfter: &rating}},
		{MatchID: "b", EndedAt: "t2", Reason: "operator"},
	}})
	require.Equal(t, "t1\ta\tplace 2\t12.3 (+2.3)\t2 strikes\nt2\tb\taborted: operator\t\t\n", out.String())
}
