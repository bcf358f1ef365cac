package web_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// The dashboard says whether a bot works, and shows its latest error and when it gets
// its next table.
func TestDashboardShowsHealth(t *testing.T) {
	const lastError = `{"matchId":"` + matchID + `","seq":44,"at":"2026-09-06T12:03:00.000Z","code":"wrong_type","message":"/action/edge must be an integer, got the string \"\u202e\u003cb>\""}`
	for name, c := range map[string]struct {
		health, seating string
		want, not       []string
	}{
		"unknown": {`null`, `null`, []string{"Lovelace"}, []string{"Latest error", `id="health"`, "Waiting"}},
		"untested": {
			`{"state":"untested","since":"2026-09-06T12:00:00.000Z","lastError":null,"recent":{}}`,
			`{"state":"waiting","since":"2026-09-06T12:00:00.000Z"}`,
			[]string{">untested</span>", "Waiting for a table since 6 Sep 12:00 UTC."},
			[]string{"Latest error", "tag bad"},
		},
		"failing": {
			`{"state":"failing","since":"2026-09-06T12:04:00.000Z","lastError":` + lastError + `,"recent":{"matches":2,"strikes":6,"timeouts":6,"resigned":2}}`,
			`{"state":"resting","since":"2026-09-06T12:04:00.000Z","until":"2026-09-06T14:03:00.000Z"}`,
			[]string{
				`<span class="tag bad" title="since 6 September 2026, 12:04 UTC">failing</span>`, "Resting until 6 Sep 14:03 UTC.",
				"got the string &#34;\uFFFD&lt;b&gt;&#34;", `<a href="/watch/` + matchID + `#44">Show this moment</a>`,
			}, []string{"\u202e", "<b>"},
		},
		"unreachable": {
			`{"state":"unreachable","since":"2026-09-06T12:04:00.000Z","lastError":` + lastError + `,"recent":{"matches":1}}`,
			`{"state":"suspended","since":"2026-09-06T12:04:00.000Z","reason":"floods"}`,
			[]string{">unreachable</span>", "Suspended: floods."}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			bot := `{"id":"` + botID + `","name":"Lovelace","mode":"standard","url":"https://bots.example.org/ada","status":"active","health":` + c.health + `,"seating":` + c.seating + `}`
			s.say("GET /bots", `{"bots":[`+bot+`]}`)
			s.say("GET /bots/"+botID, bot)
			for _, path := range []string{"/dashboard", "/dashboard/bots/" + botID} {
				page := s.get(path)
				s.is(page, http.StatusOK, c.want...)
				for _, text := range c.not {
					require.NotContains(t, page.text, text, path)
				}
			}
		})
	}
}

func TestBotPageExplainsHealth(t *testing.T) {
	s := newSite(t)
	for state, sentence := range map[string]string{
		"untested": "The bot has not yet played a match that counts.", "ok": "The bot works. Since", "failing": "in each of its last two matches. Since",
		"unreachable": "could not connect to the bot for three decisions in a row.",
	} {
		s.say("GET /bots/"+botID, `{"id":"`+botID+`","name":"Lovelace","mode":"standard","status":"active",
			"health":{"state":"`+state+`","since":"2026-09-06T12:04:00.000Z","recent":{"matches":20,"timeouts":1,"illegal":6,"resigned":2}}}`)
		s.is(s.get("/dashboard/bots/"+botID), http.StatusOK, sentence, "In the last 20 matches: 1 decision without a usable answer, 6 illegal answers, resigned in 2, missed 0.")
	}
}

// The owner of a suspended bot cannot unpause it, so no page offers that.
func TestSuspendedBotsCannotBeUnpaused(t *testing.T) {
	s := newSite(t)
	bot := `{"id":"` + botID + `","name":"Lovelace","mode":"standard","url":"https://bots.example.org/ada","status":"paused","seating":{"state":"suspended","since":"2026-09-06T12:04:00.000Z"}}`
	s.say("GET /bots", `{"bots":[`+bot+`]}`)
	s.say("GET /bots/"+botID, bot)
	for _, path := range []string{"/dashboard", "/dashboard/bots/" + botID, "/bot/" + botID} {
		page := s.get(path, signedIn)
		s.is(page, http.StatusOK, `<span class="tag bad">suspended</span>`)
		require.NotContains(t, page.text, `value="unpause"`)
		require.NotContains(t, page.text, ">paused</span>")
	}
	s.is(s.get("/dashboard/bots/"+botID), http.StatusOK, "Only an operator can restore it.")
}
