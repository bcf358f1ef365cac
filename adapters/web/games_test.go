package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const rivalID = "44444444-4444-4444-8444-444444444444"

// The method asked() returns the calls for matches that the last page made.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, c := range s.calls {
		if strings.HasPrefix(c.Target, "/matches?") {
			list = append(list, c.Target)
		}
	}
	s.calls = nil
	return list
}

func TestGames(t *testing.T) {
	s := newSite(t)
	s.say("GET /matches", `{"matches":[`+strings.TrimSuffix(matchJSON, "}")+`,"scores":[10,7],"turns":72}],"next":"older"}`)
	page := s.get("/games")
	s.is(page, http.StatusOK, "Lovelace", "1st, 10 points, +1.1", "72 turns, 4 min 0 s", `href="/games?before=older"`, `data-seen="`+matchID+` completed"`)
	require.Equal(t, []string{"/matches?limit=25"}, s.asked())

	all := "bot=" + botID + "&from=2026-09-01&mode=standard&rival=" + rivalID + "&status=completed&to=2026-09-06"
	page = s.get("/games?before=x&" + all)
	s.is(page, http.StatusOK, `href="/bot/`+botID+`/against/`+rivalID+`"`, `value="Lovelace"`, `value="Greta"`, `<option value="completed" selected>`, "← Newest")
	require.Equal(t, []string{"/matches?before=x&bot=" + botID + "&from=2026-09-01&limit=25&mode=standard&rival=" + rivalID + "&status=completed&to=2026-09-06"}, s.asked())
	require.NotContains(t, page.text, "data-poll", "an older page does not change")

	s.say("GET /matches", `{"matches":[],"next":null}`)
	s.is(s.get("/games"), http.StatusOK, "No match has been played yet")
	s.is(s.get("/games?mode=parley"), http.StatusOK, "No match fits these filters", `href="/games">Clear`)
	s.refuse("GET /matches", http.StatusUnprocessableEntity, "invalid", nil)
	s.is(s.get("/games?from=x"), http.StatusUnprocessableEntity, "A sentence about invalid.")
}

// The form contains names. The page turns them into ids.
func TestGamesOfNamedBots(t *testing.T) {
	s := newSite(t)
	s.say("GET /leaderboard", `{"rows":[{"rank":1,"botId":"`+botID+`","name":"Lovelace","owner":"ada"},{"rank":2,"botId":"`+rivalID+`","name":"Greta"},{"rank":3,"botId":"a","name":"Twin","owner":"bo"},{"rank":4,"botId":"b","name":"twin"}]}`)
	s.leads(s.get("/games?mode=standard&bot=lovelace&rival=Greta"), "/games?bot="+botID+"&mode=standard&rival="+rivalID)
	s.leads(s.get("/games?mode=standard&rival=Greta"), "/games?bot="+rivalID+"&mode=standard")
	s.is(s.get("/games?mode=standard&bot="+botID+"&rival=Twin"), http.StatusOK,
		"Several bots have the name", `href="/games?bot=`+botID+`&amp;mode=standard&amp;rival=a">rank 3, rating 0.0, of @bo</a>, <a href="/games?bot=`+botID+`&amp;mode=standard&amp;rival=b">`)
	s.is(s.get("/games?bot=Nobody"), http.StatusOK, "No bot on the ladder has the name <bdi>Nobody</bdi>")
	s.is(s.get("/games?bot="+botID+"&rival="+botID), http.StatusUnprocessableEntity, "Choose two different bots.")
}

// A cookie hides results on every page, also without a script.
func TestSpoilersAreHidden(t *testing.T) {
	s := newSite(t)
	p := s.post("/spoilers", values("spoilers", "hide", "back", "/games?mode=parley"))
	s.leads(p, "/games?mode=parley")
	require.Contains(t, p.Header().Get("Set-Cookie"), "spoilers=hide")
	s.leads(s.post("/spoilers", values("spoilers", "show", "back", "//evil.example")), "/")
	s.is(s.post("/spoilers", "spoilers=some"), http.StatusUnprocessableEntity)
	hide := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "spoilers", Value: "hide"}) }
	for _, path := range []string{"/", "/games", "/bot/" + botID, "/watch/" + matchID, "/@ada", "/bot/" + botID + "/against/" + rivalID} {
		require.NotContains(t, s.get(path).text, "data-spoilers", path)
		page := s.get(path, hide)
		s.is(page, http.StatusOK, `data-spoilers="hide"`, `value="show"`)
		if strings.HasPrefix(path, "/watch/") {
			s.is(page, http.StatusOK, `data-status="completed" data-events="3" data-replay`) // watch.css hides the marks and the charts
			continue
		}
		for _, part := range page.all("li") {
			for n := range part.Descendants() {
				if strings.Contains(n.Data, "1st") || strings.Contains(n.Data, "resigned") {
					require.Contains(t, attribute(n.Parent, "class")+attribute(n.Parent.Parent, "class"), "spoiler", path)
				}
			}
		}
	}
	css := s.get("/assets/x/style.css").text
	require.Contains(t, css, `[data-spoilers="hide"] .spoiler, `)
}

// The page of an owner shows only bots on ladders. A handle without such bots looks like an
// unknown one.
func TestOwnerPage(t *testing.T) {
	s := newSite(t)
	page := s.get("/@ada")
	s.is(page, http.StatusOK, "<h1>@ada</h1>", "Lovelace", "/watch/"+matchID)
	require.Equal(t, []string{"/matches?bot=" + botID + "&limit=10"}, slices.Compact(s.asked()))
	for _, path := range []string{"/@nobody", "/@", "/@ADA", "/@ad"} {
		s.is(s.get(path), http.StatusNotFound, "No bot on a ladder belongs to an owner with this handle.")
	}
	s.is(s.get("/@ada/x"), http.StatusNotFound)
	r := s.post("/@ada", "x=y")
	require.Equal(t, http.StatusMethodNotAllowed, r.Code)
	s.is(s.get("/bot/"+botID), http.StatusOK, `href="/@ada"`)
	s.is(s.get("/ladder/standard"), http.StatusOK, `href="/@ada"`)
}

func TestPageOfTwoBots(t *testing.T) {
	s := newSite(t)
	path := "/bot/" + botID + "/against/" + rivalID
	s.is(s.get(path), http.StatusOK, "<dt>Games</dt><dd>7</dd>", "<dt>Ahead</dt><dd>2</dd>", "<dt>Behind</dt><dd>1</dd>", "<dt>Level</dt><dd>4</dd>",
		`href="/games?bot=`+botID+`&amp;rival=`+rivalID+`"`, `href="/bot/`+rivalID+"/against/"+botID+`"`)
	require.Equal(t, 1+4, s.counted)
	require.Equal(t, []string{"/matches?bot=" + botID + "&limit=25&rival=" + rivalID}, s.asked())
	s.is(s.get("/bot/"+botID+"/against/"+botID), http.StatusNotFound)
	s.say("GET /matches", `{"matches":[],"next":null}`)
	s.is(s.get(path), http.StatusNotFound, "have not played against each other")
}

// A page that follows a ladder shows the match with the strongest bots.
func TestFollowingALadder(t *testing.T) {
	s := newSite(t)
	running := func(id string, bots ...string) string {
		var players []string
		for i, bot := range bots {
			players = append(players, fmt.Sprintf(`{"seat":%d,"botId":%q,"botName":%q}`, i, bot, bot))
		}
		m := `{"id":"` + id + `","mode":"standard","status":"running","startedAt":"2026-09-06T12:00:00.000Z","endedAt":null,"players":[` + strings.Join(players, ",") + `],"replay":[]}`
		s.say("GET /matches/"+id, m)
		return m
	}
	s.say("GET /leaderboard", `{"rows":[{"botId":"a","rating":30},{"botId":"b","rating":20},{"botId":"c","rating":5}]}`)
	s.say("GET /matches", `{"matches":[`+running("m1", "a", "c", "new")+","+running("m2", "a", "b", "c")+","+running("m3", "c", "b", "c")+`],"next":null}`)
	page := s.get("/watch/top/standard?kiosk=1")
	s.is(page, http.StatusOK, `data-watch="m2"`, `data-follow="/matches?limit=200&amp;mode=standard&amp;status=running"`, `data-queue="/queue?mode=standard"`, "follow.mjs", `class="wide kiosk"`)
	require.Empty(t, page.all("footer"))
	require.Empty(t, page.all("nav"))
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
	plain := s.get("/watch/m2")
	require.NotContains(t, plain.text, "data-follow")
	s.is(plain, http.StatusOK, `href="/watch/m2/previous/a"`, `href="/watch/m2/next/c"`)

	s.say("GET /matches", `{"matches":[],"next":null}`)
	page = s.get("/watch/top/parley")
	s.is(page, http.StatusOK, "Waiting for the next parley match", `http-equiv="refresh"`, "data-follow")
	require.Empty(t, s.get("/watch/top/parley?kiosk=1").all("footer"))
}

func TestFollowingABot(t *testing.T) {
	s := newSite(t)
	s.is(s.get("/bot/"+botID+"/live"), http.StatusOK, "Waiting for the next match of Lovelace", `href="/watch/`+matchID+`"`)
	m := strings.Replace(matchJSON, `"completed"`, `"running"`, 1)
	s.say("GET /matches", `{"matches":[`+m+`],"next":null}`)
	s.say("GET /matches/"+matchID, strings.TrimSuffix(m, "}")+`,"replay":[]}`)
	s.is(s.get("/bot/"+botID+"/live"), http.StatusOK, `data-watch="`+matchID+`"`, `data-follow="/matches?bot=`+botID+`&amp;limit=1&amp;status=running"`)
	s.say("GET /matches", `{"matches":[],"next":null}`)
	s.is(s.get("/bot/"+botID+"/live"), http.StatusNotFound, "This bot does not exist.")
	s.is(s.get("/bot/newcomer/live"), http.StatusOK, "Waiting for the next match of Newcomer")
	s.is(s.get("/bot/unknown-yet/live"), http.StatusServiceUnavailable, "The arena cannot look up this bot at the moment.")
}

// The page of a match links to the previous and the next match of each bot.
func TestOtherMatchesOfABot(t *testing.T) {
	s := newSite(t)
	s.answers["GET /matches"] = json.RawMessage(`{"matches":[` + strings.Replace(matchJSON, matchID, "m2", 1) + `],"next":null}`)
	s.leads(s.get("/watch/m1/next/"+botID), "/watch/m2")
	s.leads(s.get("/watch/m3/previous/"+botID), "/watch/m2")
	require.Equal(t, []string{"/matches?after=m1&bot=" + botID + "&limit=1", "/matches?before=m3&bot=" + botID + "&limit=1"}, s.asked())
	s.say("GET /matches", `{"matches":[],"next":null}`)
	s.leads(s.get("/watch/m1/next/"+botID), "/bot/"+botID+"/live")
	s.is(s.get("/watch/m1/previous/"+botID), http.StatusNotFound, "the first match of this bot")
	s.refuse("GET /matches", http.StatusUnprocessableEntity, "invalid", nil)
	s.is(s.get("/watch/x/next/"+botID), http.StatusUnprocessableEntity)
}
