package web_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/web"
)

// newViewer returns a viewer of one record, with a fake API.
func newViewer(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	var err error
	s.web, err = web.NewViewer(web.ViewerOptions{Records: s.api(false), BaseURL: base, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.say("GET /matches", `{"name":"results <1>","total":120,"page":2,"pages":3,"matches":[`+strings.TrimSuffix(matchJSON, "}")+`,"turns":88},
		{"id":"aborted-1","status":"aborted","reason":"wall_clock","players":[{"seat":0,"botName":"Lovelace"}],"turns":4}]}`)
	s.say("GET /matches/"+matchID, strings.TrimSuffix(matchJSON, "}")+`,"replay":[{"seq":1},{"seq":2}],"decisionLogs":[{"seat":0,"botId":"`+botID+`","decisions":[]}]}`)
	s.say("GET /matches/"+matchID+"/notes", `{"notes":{"1":"a corner\nwith <ore>\u202e","7":{"value":[0.5]}}}`)
	s.say("GET /matches/"+matchID+"/decisions/7", `{"id":7,"seq":44,"kind":"turn","outcome":"illegal","elapsedMs":3,"reason":"distance_rule","message":"vertex 14 is next to the town on 9",
		"answer":"{\"id\":7}","played":{"type":"end_turn"},"strikes":2,"request":{"deadlineMs":4750,"view":{"hand":{"ore":2}}},"seat":0,"note":{"value":[0.5]},"previous":40,"next":51}`)
	return s
}

func TestViewerPages(t *testing.T) {
	s := newViewer(t)
	for path, holds := range map[string][]string{
		"/": {
			"120 records in <bdi>results &lt;1&gt;</bdi>", "/watch/" + matchID, ">22222222</a>", `class="strong"><bdi>Lovelace</bdi>`, "Greta", "2nd", "resigned", `class="n">88</td>`,
			"aborted: the time limit was reached", `href="/?page=1" rel="prev"`, `href="/?page=3" rel="next"`, "Page 2 of 3",
		},
		"/watch/" + matchID: {
			`data-path="/matches/` + matchID + `"`, `data-events="2"`, "view-decision.mjs", "data-decision", `href="/bot/` + botID + `/log/` + matchID + `"`, "The events of this match follow from its seed",
		},
		"/watch/" + matchID + "/decision/7": {
			"Lovelace</bdi>, decision 7: turn", "illegal", "3 of 4750 ms", "2 strikes", "distance_rule", "vertex 14 is next to the town on 9", `{&#34;id&#34;:7}`, "2 ore in its hand",
			"The bot noted:", "{\n  &#34;value&#34;: [\n    0.5\n  ]\n}", "#40", "#51", `"deadlineMs&#34;: 4750`[1:],
		},
		"/bot/" + botID + "/log/" + matchID: {
			"distance_rule", "a corner\nwith &lt;ore&gt;\uFFFD", "&#34;value&#34;", "41 of 4750 ms",
		},
	} {
		page := s.get(path)
		s.is(page, http.StatusOK, append(holds, "These pages come from <code>arena view</code>")...)
		for _, never := range []string{"/ladder/", "/sign-in", "/docs/", "verify-page.mjs", "og:image", "preview.png", "only you can see"} {
			require.NotContains(t, page.text, never, path)
		}
		require.Equal(t, "no-store", page.Header().Get("Cache-Control"))
	}
	// A viewer has no other pages, and no log of Greta's decisions.
	page := s.get("/watch/" + matchID)
	require.NotContains(t, page.text, "/bot/44444444")
	for _, path := range []string{"/ladder/standard", "/dashboard", "/sign-in", "/docs/rules", "/bot/" + botID, "/watch/nothing"} {
		s.is(s.get(path), http.StatusNotFound, "This page does not exist")
	}
	s.leads(s.post("/theme", "theme=dark&back=/watch/x"), "/watch/x")
	require.Empty(t, s.writes())
}

// Without decision logs, the page of a match has no place for decisions.
func TestViewerOfARecordWithoutLogs(t *testing.T) {
	s := newViewer(t)
	s.say("GET /matches/"+matchID, strings.TrimSuffix(matchJSON, "}")+`,"replay":[]}`)
	page := s.get("/watch/" + matchID)
	s.is(page, http.StatusOK, "Lovelace")
	require.NotContains(t, page.text, "view-decision.mjs")
	require.NotContains(t, page.text, "/log/")
	s.refuse("GET /matches/"+matchID, http.StatusUnprocessableEntity, "unreadable", refusal{"detail": "the record is broken"})
	s.is(s.get("/watch/"+matchID), http.StatusUnprocessableEntity, "The record is broken.")
}
