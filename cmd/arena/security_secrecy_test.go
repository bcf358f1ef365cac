package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// The constant mark is part of the URL of each bot in the test, and occurs nowhere
// else.
const mark = "a-path-that-only-its-owner-knows"

// The test reads a match through every public call and page, once while the match is
// paused and once after it has ended. Data that becomes public at the end must not
// appear earlier. Private data must never appear.
func TestSecuritySecrecy(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t, "--rest-standard", "1h", "--decision-standard", "5m")
	key := f.member(t).newKey(everyScope()...)
	held, release := make(chan struct{}), make(chan struct{})
	var players []*testBot
	for i := range 4 {
		p := newTestBot(t, fmt.Sprint("bot-", i))
		p.url += "/" + mark
		if i == 0 {
			p.hold = stopAt(25, held, release)
		}
		players = append(players, p)
	}
	for _, p := range players {
		key.do("POST", "/bots", map[string]string{"name": p.name, "mode": "standard", "url": p.url}).is(201)
	}
	f.stop()
	f.start("--tick", "250ms") // seats all four bots at one table
	key = key.elsewhere(f.address())
	<-held
	seated := f.awaitRunning()
	id, bot := seated.ID, seated.Players[0].BotID
	running := f.everything(t, id, bot)
	require.Contains(t, running["GET /matches/"+id], `"status":"running"`)
	log := f.events(t)
	close(release)
	f.finish(1)
	r := f.record(id)
	ended := f.everything(t, id, bot)

	t.Run("the seed of a running match", func(t *testing.T) {
		require.Contains(t, running["GET /matches/"+id], `"seed":null`)
		require.Contains(t, running["GET /matches/"+id], `"replay":[]`)
		commitment := seed.Commitment(r.Proof.ServerSeed).String()
		require.Contains(t, running["GET /matches/"+id], commitment, "the commitment is public from the start")
		require.Contains(t, log, commitment)
		for _, hidden := range []string{r.Seed, r.Proof.ServerSeed.String()} {
			raw, err := hex.DecodeString(hidden)
			require.NoError(t, err)
			for _, spelled := range []string{hidden, strings.ToUpper(hidden), base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw)} {
				requireNowhere(t, running, spelled)
				require.NotContains(t, log, spelled)
				require.NotContains(t, f.arena.err.String(), spelled)
			}
		}
		for _, p := range players {
			for _, q := range p.memory(id).requests {
				require.NotContains(t, q.frame, r.Seed)
			}
		}
		require.Contains(t, ended["GET /matches/"+id], r.Seed)
	})
	t.Run("hands, discards and refused answers of a running match", func(t *testing.T) {
		frames := running["GET /matches/"+id+"/frames"]
		require.Contains(t, frames, `"handCounts":`)
		for _, hidden := range []string{`"data":`, `"hand":`, `"devCards":`, `"devBoughtThisTurn":`, `"myScore":`, `"answer":`} {
			for what, page := range running {
				if !strings.HasPrefix(what, "GET /openapi.json") { // the examples in this document show ended matches
					require.NotContains(t, page, hidden, what)
				}
			}
		}
		for _, seat := range []string{"0", "3", "all"} {
			require.Contains(t, running["GET /matches/"+id+"/frames?seat="+seat], "422 ")
		}
		require.Contains(t, ended["GET /matches/"+id+"/frames?seat=all"], `"hand":`)
	})
	t.Run("the deck and the stolen card are not in the log", func(t *testing.T) {
		log := f.events(t)
		require.Contains(t, log, " CardStolen ")
		require.Contains(t, log, `"type":"buy_dev"`)
		for line := range strings.Lines(log) {
			stream, rest, _ := strings.Cut(line, " ")
			kind, rest, _ := strings.Cut(rest, " ")
			switch {
			case kind == "CardStolen":
				require.Regexp(t, `^\{"seat":\d,"victim":\d\} `, rest, "the event contains only the two seats")
			case strings.HasPrefix(stream, "match-") && kind != "ActionPlayed":
				require.NotContains(t, rest, "deck")
				require.NotContains(t, rest, "victory_point")
			}
		}
	})
	t.Run("another owner's bot URL", func(t *testing.T) {
		require.Contains(t, string(key.do("GET", "/bots", nil).is(200).body), mark, "the owner sees it")
		requireNowhere(t, running, mark)
		requireNowhere(t, ended, mark)
		eve := f.member(t)
		var mine struct{ Bots []struct{ ID string } }
		require.NoError(t, json.Unmarshal(key.do("GET", "/bots", nil).body, &mine))
		for _, path := range []string{"/bots", "/bots/" + mine.Bots[0].ID, "/bots/" + mine.Bots[0].ID + "/matches/" + id + "/decisions"} {
			require.NotContains(t, eve.do("GET", path, nil).seen(), mark)
		}
		decisions := key.do("GET", "/bots/"+mine.Bots[0].ID+"/matches/"+id+"/decisions", nil).is(200)
		require.NotContains(t, string(decisions.body), mark)
		for _, p := range players {
			port := p.url[strings.LastIndex(p.url, ":")+1 : strings.Index(p.url, "/"+mark)]
			requireNowhere(t, ended, "127.0.0.1:"+port)
		}
		require.NotContains(t, f.arena.err.String(), mark, "the log lines")
		require.NotContains(t, f.metrics(t), mark)
	})
}

// stopAt delays a bot's nth answer until the channel release is closed.
func stopAt(n int, held, release chan struct{}) func(*match.Request) {
	asked := 0
	return func(*match.Request) {
		if asked++; asked == n {
			close(held)
			<-release
		}
	}
}

func requireNowhere(t *testing.T, pages map[string]string, text string) {
	t.Helper()
	for what, page := range pages {
		require.NotContains(t, page, text, what)
	}
}

// The method everything() returns the responses to all public GET calls of the API,
// including their status and headers. It calls each path with existing and with unknown
// ids.
func (f *securityArena) everything(t *testing.T, matchID, botID string) map[string]string {
	t.Helper()
	who := f.anonymous(t)
	pages := map[string]string{}
	for _, path := range publicReads(t, who) {
		id := matchID
		if strings.HasPrefix(path, "/bots") {
			id = botID
		}
		targets := []string{strings.ReplaceAll(path, "{id}", id), strings.ReplaceAll(path, "{id}", "none"), strings.ReplaceAll(path, "{id}", id) + "?x=1"}
		if path == "/matches/{id}/frames" {
			for _, seat := range []string{"0", "1", "2", "3", "all"} {
				targets = append(targets, targets[0]+"?seat="+seat)
			}
		}
		for _, target := range targets {
			pages["GET "+target] = who.glance(target)
		}
	}
	pages["GET /bots"] = who.glance("/bots")
	pages["metrics"] = f.metrics(t)
	return pages
}

// publicReads returns the paths in the OpenAPI description that can be read with GET
// without credentials.
func publicReads(t *testing.T, who *caller) []string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			Security []map[string][]string
		}
	}
	require.NoError(t, json.Unmarshal(who.do("GET", "/openapi.json", nil).is(200).body, &document))
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		if read, ok := document.Paths[path]["get"]; ok && len(read.Security) == 0 {
			paths = append(paths, path)
		}
	}
	require.Contains(t, paths, "/matches/{id}")
	return paths
}

// glance reads a response. If the response does not end, glance reads only its
// beginning.
func (c *caller) glance(target string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, target, nil)
	require.NoError(c.t, err)
	res, err := c.client.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		time.AfterFunc(300*time.Millisecond, cancel) // a paused match sends no more data
	}
	body, err := io.ReadAll(res.Body)
	if !errors.Is(err, context.Canceled) {
		require.NoError(c.t, err)
	}
	var text strings.Builder
	require.NoError(c.t, res.Header.Write(&text))
	return res.Status + "\n" + text.String() + string(body)
}

// The method metrics() returns the response of /metrics, one of the operators'
// endpoints.
func (f *securityArena) metrics(t *testing.T) string {
	t.Helper()
	res, err := http.Get("http://" + f.admin() + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(body)
}
