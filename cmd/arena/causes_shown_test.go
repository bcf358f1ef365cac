package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/health"
	"hexarena/domain/match"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// In REST, on the dashboard, on the page of the log and in the output of the command,
// the owner of a broken bot finds a sentence that names the cause and no other cause.
func TestOwnersSeeWhyTheirBotsFail(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	var shown atomic.Pointer[tls.Certificate]
	shown.Store(c.valid)
	tlsBot := func(t testing.TB, name string) *testBot {
		b := newUnstartedBot(t, name)
		b.server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{*shown.Load()}}, nil
		}}
		b.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo) // the arena rejects many handshakes
		b.server.StartTLS()
		b.url = b.server.URL
		return b
	}
	tables := tablesOfCauses(tlsBot, func(*testing.T, *testBot) { shown.Store(c.expired) })

	s := newTestArena(t, "--tick", "1h", "--rest-standard", "1h", "--decision-standard", faultyDecision.String())
	s.env = []string{"SSL_CERT_FILE=" + c.file}
	s.start("--no-play")
	var causes []cause
	nth, broken := map[string]int{}, map[string]*testBot{}
	for i, table := range tables {
		var late *lateBot
		for _, f := range table {
			b := f.bot(t)
			if f.lateness > 0 {
				late = &lateBot{f.lateness, make(chan struct{}), make(chan struct{})}
				b.conduct = late.answer
			}
			nth[f.name], broken[f.name] = len(s.players), b
			s.join(b)
			causes = append(causes, f)
		}
		for n := range 4 - len(table) {
			good := newTestBot(t, fmt.Sprintf("good bot %d at table %d", n+1, i+1))
			if late != nil {
				good.hold = late.await
			}
			s.join(good)
		}
	}
	s.stop()
	for _, f := range causes {
		if f.breaks != nil {
			f.breaks(t, broken[f.name])
		}
	}
	s.start() // the first tick fills tables in the order of registration
	s.finish(len(tables))
	played := map[string]matches.Summary{} // by the name of a bot
	for _, m := range s.list(matches.Completed) {
		for _, p := range m.Players {
			played[p.BotName] = m
		}
	}
	var readers []*logReader
	for n := range s.owners {
		readers = append(readers, newLogReader(s, n))
	}
	for _, f := range causes {
		t.Run(f.name, func(t *testing.T) {
			m := played[f.name]
			for _, p := range m.Players {
				if p.BotName == f.name {
					readers[nth[f.name]/5].requireCause(t, f, causes, p.BotID, m.ID)
				}
			}
		})
	}
}

// logReader is an owner who reads the dashboard and decision logs in a browser, over
// REST and on a terminal.
type logReader struct {
	session *client.Client
	env     []string // environment variables for the commands
	flags   []string
}

// newLogReader signs in the nth owner again.
func newLogReader(s *testArena, n int) *logReader {
	s.t.Helper()
	anyone, err := client.New(client.Options{Base: s.base()})
	s.must(err)
	address := fmt.Sprintf("owner-%d@example.org", n+1)
	_, err = anyone.Call(s.t.Context(), http.MethodPost, "/sign-in", rest.SignIn{Email: address})
	s.must(err)
	token, err := remote.MailedToken(filepath.Join(s.data, "mail"), address)
	s.must(err)
	confirmed, err := anyone.Call(s.t.Context(), http.MethodPost, "/sign-in/confirm", rest.SignInConfirmation{Token: token})
	s.must(err)
	cookie := confirmed.Cookies[len(confirmed.Cookies)-1]
	session, err := client.New(client.Options{Base: s.base(), Session: cookie.Name + "=" + cookie.Value})
	s.must(err)

	der, err := x509.MarshalPKCS8PrivateKey(s.owners[n].Key)
	s.must(err)
	dir := s.t.TempDir()
	file := filepath.Join(dir, "key.pem")
	s.must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return &logReader{session, []string{"XDG_CONFIG_HOME=" + dir}, []string{"--arena", s.base(), "--key", file, "--key-id", s.owners[n].KeyID}}
}

func (o *logReader) get(t *testing.T, path string) []byte {
	t.Helper()
	a, err := o.session.Call(t.Context(), http.MethodGet, path, nil)
	require.NoError(t, err)
	return a.Body
}

func (o *logReader) requireCause(t *testing.T, f cause, all []cause, botID, matchID string) {
	t.Helper()
	var listed rest.Decisions
	require.NoError(t, json.Unmarshal(o.get(t, "/bots/"+botID+"/matches/"+matchID+"/decisions"), &listed))
	strikes := 0
	for _, d := range listed.Decisions {
		if d.Outcome == frames.Played {
			continue
		}
		strikes++
		f.requireOnly(t, "GET …/decisions", d.Why(), all)
		if f.lateness > 0 {
			require.GreaterOrEqual(t, d.Late.LateMs, f.lateness.Milliseconds())
		}
	}
	require.Equal(t, match.MaxStrikes, strikes)

	var lines []rest.Decision
	for line := range bytes.Lines(o.get(t, "/bots/"+botID+"/decisions")) {
		var d rest.BotDecision
		require.NoError(t, json.Unmarshal(line, &d))
		require.Equal(t, matchID, d.MatchID)
		lines = append(lines, d.Decision)
	}
	require.Equal(t, listed.Decisions, lines)
	last := listed.Decisions[slices.IndexFunc(listed.Decisions, func(d rest.Decision) bool { return d.Strikes == match.MaxStrikes })]
	o.requireLatestError(t, f, all, botID, fmt.Sprintf("/watch/%s#%d", matchID, last.Seq))

	f.requireOnly(t, "the page", html.UnescapeString(string(o.get(t, "/bot/"+botID+"/log/"+matchID))), all)
	command := launchIn(t, processOptions{env: o.env}, append([]string{"bots", "log", f.name, "--failed"}, o.flags...)...)
	command.awaitExit()
	printed := command.out.String()
	f.requireOnly(t, "arena bots log", printed, all)
	require.Equal(t, match.MaxStrikes, strings.Count(printed, "The arena played "))
}

// requireLatestError requires that the bot's card on the dashboard, the page that
// manages the bot, and GET /bots/{id} name the cause, and lead to the given moment. They
// also show the state: if no connection could be opened, the bot is unreachable.
func (o *logReader) requireLatestError(t *testing.T, f cause, all []cause, botID, moment string) {
	t.Helper()
	var b rest.Bot
	eventually(t, "the health shows the third strike", func() bool {
		require.NoError(t, json.Unmarshal(o.get(t, "/bots/"+botID), &b))
		e := b.Health.LastError
		return e != nil && fmt.Sprintf("/watch/%s#%d", e.MatchID, e.Seq) == moment && (e.Code == match.CodeLate) == (f.lateness > 0)
	})
	f.requireOnly(t, "GET /bots/{id}", b.Health.LastError.Message, all)
	state := health.OK // failing needs a second match
	if f.breaks != nil || f.instead != nil {
		state = health.Unreachable
	}
	require.EqualValues(t, state, b.Health.State)
	recent := b.Health.Recent
	require.Equal(t, []int{1, match.MaxStrikes, 1}, []int{recent.Matches, recent.Strikes, recent.Resigned})

	dashboard := html.UnescapeString(string(o.get(t, "/dashboard")))
	_, card, found := strings.Cut(dashboard, `<a class="name" href="/dashboard/bots/`+botID+`">`)
	require.True(t, found)
	card, _, _ = strings.Cut(card, "</li>")
	for where, text := range map[string]string{
		"the dashboard":         card,
		"the bot's manage page": html.UnescapeString(string(o.get(t, "/dashboard/bots/"+botID))),
	} {
		f.requireOnly(t, where, text, all)
		require.Contains(t, text, `<a href="`+moment+`">`, where)
	}
}
