package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/projections/arenatest"
)

// The type rivals is an arena in which two owners, ada and bob, have bots at the same
// table. Each owner has a key with all scopes.
type rivals struct {
	*arena
	play     *arenatest.Arena
	ada, bob *client
	bots     []string // ada's bot, followed by bob's three bots
}

func newRivals(t *testing.T, edit ...func(*api.Options)) *rivals {
	t.Helper()
	a := newArena(t, edit...)
	r := &rivals{arena: a, play: arenatest.New(t, a.log, 3)}
	enter := func(name string) *client {
		public, private, err := ed25519.GenerateKey(nil)
		require.NoError(t, err)
		r.play.Own(name, owner.SignedUp{OwnerID: name}, owner.APIKeyRegistered{KeyID: name + "'s key", Name: "k", PublicKey: public, Scopes: owner.AllScopes()})
		return &client{arena: a, keyID: name + "'s key", key: private}
	}
	r.ada, r.bob = enter("ada"), enter("bob")
	r.bots = append(r.play.Register("ada", ladder.Standard, "Ann"), r.play.Register("bob", ladder.Standard, "Bea", "Cat", "Dot")...)
	require.NoError(t, a.Wait(t.Context(), 0))
	return r
}

func (r *rivals) log(c *client, bot string, g *arenatest.Game, query string) *answer {
	r.t.Helper()
	return c.do(http.MethodGet, "/bots/"+bot+"/matches/"+g.MatchID+"/decisions"+query, nil)
}

// The method decided() returns the decisions in a response.
func (a *answer) decided() []map[string]any {
	a.t.Helper()
	a.is(http.StatusOK)
	list := []map[string]any{}
	for _, d := range a.json["decisions"].([]any) {
		list = append(list, d.(map[string]any))
	}
	return list
}

func TestDecisionLog(t *testing.T) {
	r := newRivals(t)
	g := r.play.Complete(ladder.Standard, r.bots...)
	r.read.sync()

	var asked, struck int
	seat := g.State.Started.Seats
	for i, s := range seat {
		who := r.ada
		if s.OwnerID == "bob" {
			who = r.bob
		}
		for _, d := range r.log(who, s.BotID, g, "").decided() {
			request := d["request"].(map[string]any)
			require.Equal(t, float64(i), request["seat"])
			require.Equal(t, d["id"], request["id"])
			require.Equal(t, d["kind"], request["kind"])
			require.Equal(t, g.MatchID, request["matchId"])
			require.Contains(t, []any{5000.0, 4750.0}, request["deadlineMs"], "the time after redialing")
			require.NotContains(t, request, "bankMs")
			require.Equal(t, float64(i), request["view"].(map[string]any)["seat"])
			require.NotNil(t, d["played"])
			asked++
			if d["outcome"] != "played" {
				struck++
				continue
			}
			var answer map[string]any
			require.NoError(t, json.Unmarshal([]byte(d["answer"].(string)), &answer))
			require.Equal(t, d["played"], answer["action"])
		}
	}
	closed, failed := 0, 0
	for _, e := range g.Events {
		switch e := e.(type) {
		case match.ActionPlayed:
			if e.ElapsedMs != nil {
				closed++
			}
		case match.DecisionTimedOut, match.AnswerRejected:
			closed++
			failed++
		}
	}
	require.Equal(t, closed, asked)
	require.Equal(t, failed, struck)
	require.NotZero(t, failed)
}

func TestDecisionLogPages(t *testing.T) {
	r := newRivals(t)
	g := r.play.Complete(ladder.Standard, r.bots...)
	r.read.sync()
	all := r.log(r.ada, r.bots[0], g, "").decided()
	var paged []map[string]any
	for after := "0"; ; {
		page := r.log(r.ada, r.bots[0], g, "?limit=7&after="+after).decided()
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 7)
		paged = append(paged, page...)
		seq, err := json.Marshal(page[len(page)-1]["seq"])
		require.NoError(t, err)
		after = string(seq)
	}
	require.Equal(t, all, paged)
	r.log(r.ada, r.bots[0], g, "?limit=0").is(http.StatusUnprocessableEntity, "invalid").names("limit")
	r.log(r.ada, r.bots[0], g, "?seat=1").is(http.StatusUnprocessableEntity, "invalid").names("seat")
}

// Only a bot's owner sees its decision log. Other callers cannot find out whether
// the log exists.
func TestDecisionLogIsPrivate(t *testing.T) {
	r := newRivals(t)
	g := r.play.Complete(ladder.Standard, r.bots...)
	other := r.play.Complete(ladder.Standard, r.bots[1:]...)
	r.read.sync()
	theirs := r.log(r.bob, r.bots[0], g, "").is(http.StatusNotFound, "not_found")
	nobodys := r.log(r.bob, "none", g, "").is(http.StatusNotFound, "not_found")
	require.Equal(t, nobodys.json["detail"], theirs.json["detail"])
	r.log(r.ada, r.bots[0], other, "").is(http.StatusNotFound, "not_found")
	r.ada.do(http.MethodGet, "/bots/"+r.bots[0]+"/matches/none/decisions", nil).is(http.StatusNotFound, "not_found")
	r.anyone().do(http.MethodGet, "/bots/"+r.bots[0]+"/matches/"+g.MatchID+"/decisions", nil).is(http.StatusUnauthorized, "unauthenticated")
}

// After a bot is removed, its owner can still read the bot's decision log, and nobody
// else can.
func TestDecisionLogOfARemovedBot(t *testing.T) {
	r := newRivals(t)
	g := r.play.Complete(ladder.Standard, r.bots...)
	r.read.sync()
	before := r.log(r.ada, r.bots[0], g, "").decided()
	r.ada.do(http.MethodDelete, "/bots/"+r.bots[0], nil).is(http.StatusNoContent)
	require.Equal(t, before, r.log(r.ada, r.bots[0], g, "").decided())
	r.log(r.bob, r.bots[0], g, "").is(http.StatusNotFound, "not_found")
	r.log(r.ada, r.bots[1], g, "").is(http.StatusNotFound, "not_found")
}

// While a match is running, owners see their bots' closed decisions. If the process has
// the seed key, the log also contains the requests, which the process rebuilds. The log
// never reveals the seed.
func TestDecisionLogOfARunningMatch(t *testing.T) {
	for name, key := range map[string]func(context.Context, string) ([]byte, bool){
		"with the seed key":     arenatest.SeedKey,
		"without a seed key":    nil,
		"with another seed key": func(context.Context, string) ([]byte, bool) { return nil, false },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRivals(t, func(o *api.Options) { o.SeedKey = key })
			g := r.play.Seat(ladder.Standard, r.bots...)[0]
			g.Start()
			g.Play(6)
			r.read.sync()
			got := r.log(r.ada, r.bots[0], g, "")
			list := got.decided()
			require.NotEmpty(t, list)
			for _, d := range list {
				require.Equal(t, name == "with the seed key", d["request"] != nil)
			}
			require.NotContains(t, string(got.body), g.State.Seed.String())
			require.NotContains(t, string(got.body), g.State.ServerSeed.String())
			open := map[float64]bool{}
			for _, d := range g.State.Asks() {
				open[float64(d.ID)] = true
			}
			for _, d := range list {
				require.False(t, open[d["id"].(float64)])
			}
		})
	}
}

// The method all() returns a bot's whole log after a cursor. It reads the log in
// responses of at most limit lines.
func (r *rivals) all(c *client, bot, since string, limit int) (list []map[string]any) {
	r.t.Helper()
	for {
		got := c.do(http.MethodGet, fmt.Sprintf("/bots/%s/decisions?limit=%d%s", bot, limit, since), nil).is(http.StatusOK)
		require.Equal(r.t, "application/x-ndjson", got.header.Get("Content-Type"))
		if len(got.body) == 0 {
			return list
		}
		n := 0
		for line := range bytes.Lines(got.body) {
			var d map[string]any
			require.NoError(r.t, json.Unmarshal(line, &d))
			list, n = append(list, d), n+1
		}
		require.LessOrEqual(r.t, n, limit)
		since = "&since=" + list[len(list)-1]["cursor"].(string)
	}
}

// A bot's log consists of the decision logs of its matches, oldest first. From any
// cursor, the log continues without gaps or repeats, even if new decisions close in the
// meantime.
func TestAllDecisionsOfABot(t *testing.T) {
	r := newRivals(t)
	require.Empty(t, r.all(r.ada, r.bots[0], "", 5))
	games := []*arenatest.Game{r.play.Complete(ladder.Standard, r.bots...), r.play.Seat(ladder.Standard, r.bots...)[0]}
	aborted := games[1] // before its first decision
	aborted.Start()
	aborted.Abort(match.Operator)
	aborted.Conclude()
	for range 11 { // more matches than one response reads
		g := r.play.Seat(ladder.Standard, r.bots...)[0]
		g.Start()
		g.Play(3)
		g.Abort(match.Operator)
		g.Conclude()
		games = append(games, g)
	}
	running := r.play.Seat(ladder.Standard, r.bots...)[0]
	running.Start()
	running.Play(6)
	games = append(games, running)
	r.read.sync()

	expected := func() (list []map[string]any) {
		for _, g := range games {
			for _, d := range r.log(r.ada, r.bots[0], g, "").decided() {
				list = append(list, map[string]any{"cursor": fmt.Sprintf("%s:%v", g.MatchID, d["seq"]), "matchId": g.MatchID, "decision": d})
			}
		}
		return list
	}
	want := expected()
	for _, limit := range []int{40, 1000} {
		require.Equal(t, want, r.all(r.ada, r.bots[0], "", limit), "limit %d", limit)
	}
	for i := range want {
		ends := i+1 < len(want) && want[i+1]["matchId"] != want[i]["matchId"]
		if i > 3 && i < len(want)-4 && !ends {
			continue // in the middle of a match
		}
		limit := 1000
		if ends && want[i]["matchId"] == games[0].MatchID {
			limit = 1 // a response must skip the match without decisions
		}
		require.Equal(t, want[i+1:], append([]map[string]any{}, r.all(r.ada, r.bots[0], "&since="+want[i]["cursor"].(string), limit)...))
	}
	last := want[len(want)-1]["cursor"].(string)
	running.Play(12)
	r.read.sync()
	more := expected()[len(want):]
	require.NotEmpty(t, more)
	require.Equal(t, more, r.all(r.ada, r.bots[0], "&since="+last, 1000))

	r.ada.do(http.MethodDelete, "/bots/"+r.bots[0], nil).is(http.StatusNoContent)
	require.Equal(t, more, r.all(r.ada, r.bots[0], "&since="+last, 1000), "a removed bot")
}

func TestAllDecisionsOfABotArePrivate(t *testing.T) {
	r := newRivals(t)
	g := r.play.Complete(ladder.Standard, r.bots...)
	other := r.play.Complete(ladder.Standard, r.bots[1:]...)
	r.read.sync()
	path := "/bots/" + r.bots[0] + "/decisions"
	theirs := r.bob.do(http.MethodGet, path, nil).is(http.StatusNotFound, "not_found")
	nobodys := r.bob.do(http.MethodGet, "/bots/none/decisions", nil).is(http.StatusNotFound, "not_found")
	require.Equal(t, nobodys.json["detail"], theirs.json["detail"])
	r.anyone().do(http.MethodGet, path, nil).is(http.StatusUnauthorized, "unauthenticated")
	for _, since := range []string{"x", "1", ":1", g.MatchID, g.MatchID + ":", g.MatchID + ":-1", "none:1", other.MatchID + ":1"} {
		r.ada.do(http.MethodGet, path+"?since="+since, nil).is(http.StatusUnprocessableEntity, "invalid").names("since")
	}
	r.ada.do(http.MethodGet, path+"?limit=1001", nil).is(http.StatusUnprocessableEntity, "invalid").names("limit")
}

// Each match after the first counts as one additional call of the account.
func TestAllDecisionsOfABotCountAsSeveral(t *testing.T) {
	r := newRivals(t, withLimits)
	for range 3 {
		r.play.Complete(ladder.Standard, r.bots...)
	}
	r.read.sync()
	got := r.ada.do(http.MethodGet, "/bots/"+r.bots[0]+"/decisions", nil, from("192.0.2.1")).is(http.StatusOK)
	require.Contains(t, got.header.Get("RateLimit"), `"match-reads";r=117;`)
	last := got.body[bytes.LastIndexByte(got.body[:len(got.body)-1], '\n')+1:]
	var d map[string]any
	require.NoError(t, json.Unmarshal(last, &d))
	got = r.ada.do(http.MethodGet, "/bots/"+r.bots[0]+"/decisions?since="+d["cursor"].(string), nil, from("192.0.2.2")).is(http.StatusOK)
	require.Contains(t, got.header.Get("RateLimit"), `"match-reads";r=116;`)
	require.Empty(t, got.body)
}
