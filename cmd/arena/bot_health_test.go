package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/demo"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections/matches"
)

// The type ailing is an arena in which the bot "dead" runs in its own process. The bot
// "striking" breaks the rules while the field strikes is true.
type ailing struct {
	*testArena
	t       *testing.T
	owner   *demo.Owner
	dead    *process
	address string // of the bot "dead"
	strikes atomic.Bool
}

func newAiling(t *testing.T) *ailing {
	a := &ailing{t: t, testArena: newTestArena(t, "--tick", "250ms", "--rest-standard", "0s", "--decision-standard", "2s")}
	a.start("--no-play")
	a.revive("127.0.0.9:0") // another test is unlikely to get its port while it is dead
	striking := newTestBot(t, "striking")
	striking.conduct = func(ctx context.Context, conn *websocket.Conn, d decision) error {
		if !a.strikes.Load() {
			return conn.Write(ctx, websocket.MessageText, d.answer)
		}
		if d.Kind == "setup" {
			return conn.Write(ctx, websocket.MessageText, misplaced(d))
		}
		return conn.Write(ctx, websocket.MessageText, contrary(d))
	}
	a.join(striking, newTestBot(t, "good"), newTestBot(t, "better"))
	a.owner = a.owners[0]
	a.must(a.owner.Register(t.Context(), "dead", ladder.Standard, "http://"+a.address))
	require.Equal(t, "untested", a.bot("good").Health.State)
	a.stop()
	return a
}

// revive starts the bot "dead" at an address.
func (a *ailing) revive(address string) {
	a.t.Helper()
	a.dead = launch(a.t, "bot", "greedy", "--listen", address, "--think", "1ms")
	a.address = a.dead.await(`http://(\S+)\n`)[1]
}

func (a *ailing) bot(name string) rest.Bot {
	a.t.Helper()
	var list rest.Bots
	a.must(a.owner.Call(a.t.Context(), http.MethodGet, "/bots", nil, &list))
	i := slices.IndexFunc(list.Bots, func(b rest.Bot) bool { return b.Name == name })
	require.GreaterOrEqual(a.t, i, 0)
	return list.Bots[i]
}

func (a *ailing) becomes(name, state string) rest.Bot {
	a.t.Helper()
	eventually(a.t, name+" is "+state, func() bool { return a.bot(name).Health.State == state })
	return a.bot(name)
}

// The method shown() returns the output of `arena bots show` for a bot.
func (a *ailing) shown(name string) string {
	a.t.Helper()
	return command(a.t, append([]string{"bots", "show", name}, a.as(a.owner)...)...)
}

// s.as returns the flags that make a command act as an owner.
func (s *testArena) as(o *demo.Owner) []string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(o.Key)
	s.must(err)
	s.must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return []string{"--arena", s.base(), "--key", file, "--key-id", o.KeyID}
}

// The method told() requires that the events of an owner include one about a bot. The
// event has the given type, and the time since when the bot is in its state.
func (s *testArena) told(o *demo.Owner, kind string, b rest.Bot) {
	s.t.Helper()
	p := launch(s.t, append([]string{"follow", "--all", "--json"}, s.as(o)...)...)
	p.await(fmt.Sprintf(`"type":"%s","at":"%s","botId":"%s"`, regexp.QuoteMeta(kind), regexp.QuoteMeta(b.Health.Since), b.ID))
	p.end(syscall.SIGTERM)
}

// dashboard signs the first owner in and returns the owner's dashboard.
func (a *ailing) dashboard() string {
	a.t.Helper()
	c, err := client.New(client.Options{Base: a.base()})
	a.must(err)
	const address = "owner-1@example.org"
	_, err = c.Call(a.t.Context(), http.MethodPost, "/sign-in", rest.SignIn{Email: address})
	a.must(err)
	token, err := remote.MailedToken(filepath.Join(a.data, "mail"), address)
	a.must(err)
	answer, err := c.Call(a.t.Context(), http.MethodPost, "/sign-in/confirm", rest.SignInConfirmation{Token: token})
	a.must(err)
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.base()+"/dashboard", nil)
	a.must(err)
	for _, cookie := range answer.Cookies {
		r.AddCookie(cookie)
	}
	page, err := http.DefaultClient.Do(r)
	a.must(err)
	defer page.Body.Close()
	require.Equal(a.t, http.StatusOK, page.StatusCode)
	text, err := io.ReadAll(page.Body)
	a.must(err)
	return string(text)
}

// A bot whose process is dead becomes unreachable in its first match. A bot that breaks
// the rules becomes failing at the end of its second match. REST, the command and the
// dashboard show this, even after a restart and a rebuild. Both bots recover.
func TestFailingBotsAreShown(t *testing.T) {
	t.Parallel()
	a := newAiling(t)
	a.strikes.Store(true)
	a.dead.kill()
	a.start()
	dead, striking := a.becomes("dead", "unreachable"), a.becomes("striking", "failing")
	good := a.becomes("good", "ok")
	require.NotNil(t, good.Seating)
	a.settle()
	a.start()

	played := a.list(matches.Completed)
	slices.Reverse(played)
	require.GreaterOrEqual(t, len(played), 2)
	require.Less(t, dead.Health.Since, *played[0].EndedAt)
	require.GreaterOrEqual(t, striking.Health.Since, *played[1].EndedAt)
	if len(played) > 2 {
		require.Less(t, striking.Health.Since, played[2].StartedAt)
	}

	dead, striking = a.bot("dead"), a.bot("striking")
	require.Equal(t, "unreachable", dead.Health.LastError.Code)
	require.Contains(t, dead.Health.LastError.Message, "no connection could be made")
	// While the bots are paused one by one, a tick may seat a match without some of them.
	matchesOf := func(b rest.Bot) (n int) {
		for _, m := range played {
			if slices.ContainsFunc(m.Players, func(p matches.Player) bool { return p.BotID == b.ID }) {
				n++
			}
		}
		return n
	}
	require.Equal(t, matchesOf(dead), dead.Health.Recent.Missed)
	n := matchesOf(striking)
	require.Equal(t, []int{match.MaxStrikes * n, n, 0}, []int{striking.Health.Recent.Strikes, striking.Health.Recent.Resigned, striking.Health.Recent.Missed})
	require.Equal(t, "paused", striking.Seating.State)
	a.told(a.owner, "bot.unreachable", dead)
	a.told(a.owner, "bot.failing", striking)
	page := a.dashboard()
	for _, b := range []rest.Bot{dead, striking} {
		e := b.Health.LastError
		moment := fmt.Sprintf("/watch/%s#%d", e.MatchID, e.Seq)
		text := a.shown(b.Name)
		require.Contains(t, text, b.Health.State+" since ")
		require.Contains(t, text, e.Message+" ("+e.Code+")")
		require.Contains(t, text, "see "+a.base()+moment+"\n")
		require.Contains(t, page, `href="`+moment+`"`)
		require.Contains(t, page, ">"+b.Health.State+"</span>")
		r := a.record(e.MatchID)
		i := slices.IndexFunc(r.Replay, func(ev event) bool { return ev.Seq == e.Seq })
		require.GreaterOrEqual(t, i, 0)
		require.Contains(t, []string{"timeout", "illegal"}, r.Replay[i].Kind)
		require.Equal(t, b.ID, r.Players[*r.Replay[i].Seat].BotID)
	}

	a.stop()
	a.must(os.Remove(filepath.Join(a.data, "projections", "health.db")))
	a.revive(a.address)
	a.strikes.Store(false)
	a.start("--no-play")
	eventually(t, "the rebuild is done", func() bool { return a.bot("dead").Health.State != "untested" })
	require.Equal(t, []*rest.BotHealth{dead.Health, striking.Health}, []*rest.BotHealth{a.bot("dead").Health, a.bot("striking").Health})
	a.stop()

	a.start()
	a.setStatus("active")
	for _, name := range []string{"dead", "striking"} {
		b := a.becomes(name, "ok")
		a.told(a.owner, "bot.recovered", b)
	}
	require.Contains(t, a.dashboard(), ">ok</span>")
}
