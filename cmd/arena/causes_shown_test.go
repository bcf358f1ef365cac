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
	"regexp"
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
// A bot that the arena cannot reach is unreachable in its first match. Any other broken
// bot is failing at the end of its second match. The owner's events say so too.
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
	all := slices.Concat(tables...)
	for _, table := range tables {
		t.Run("table of "+table[0].name, func(t *testing.T) {
			t.Parallel()
			s := newTestArena(t, "--rest-standard", "0s", "--decision-standard", "6s") // enough for good bots, even on a busy machine
			s.env = []string{"SSL_CERT_FILE=" + c.file}
			played := s.playTwice(t, table)
			reader := newLogReader(s, 0)
			for _, f := range table {
				t.Run(f.name, func(t *testing.T) {
					i := slices.IndexFunc(played[1].Players, func(p matches.Player) bool { return p.BotName == f.name })
					bot := reader.requireCause(t, f, all, played[1].Players[i].BotID, played)
					s.told(s.owners[0], "bot."+bot.Health.State, bot)
				})
			}
		})
	}
}

// playTwice registers the bots of a table. It then breaks the bots that have a cause to
// fail, and plays two matches, which it returns in the order of play.
func (s *testArena) playTwice(t *testing.T, table []cause) []matches.Summary {
	s.t.Helper()
	s.start("--no-play")
	var late *lateBot
	for _, f := range table {
		b := f.bot(t)
		if f.lateness > 0 {
			late = &lateBot{by: f.lateness}
			b.conduct = late.answer
		}
		s.join(b)
	}
	for n := range 4 - len(table) {
		good := newTestBot(t, fmt.Sprint("good bot ", n+1))
		if late != nil {
			good.hold = late.await
		}
		s.join(good)
	}
	for i, f := range table {
		if f.breaks != nil {
			f.breaks(t, s.players[i])
		}
	}
	for n := range 2 {
		s.stop()
		s.start("--tick", "1h") // the first tick, at the start, seats the only table
		s.finish(n + 1)
	}
	played := s.list(matches.Completed)
	slices.Reverse(played)
	require.Len(s.t, played, 2)
	return played
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

// requireCause requires that everything that the owner can see about the bot's second
// match names the cause. It returns the bot.
func (o *logReader) requireCause(t *testing.T, f cause, all []cause, botID string, played []matches.Summary) rest.Bot {
	t.Helper()
	matchID := played[1].ID
	var listed rest.Decisions
	var failed []rest.Decision
	named := regexp.MustCompile("(?i)" + f.sentence)
	eventually(t, "the decision log names the cause", func() bool { // the match may end before the details of the last decisions are stored
		listed = rest.Decisions{}
		require.NoError(t, json.Unmarshal(o.get(t, "/bots/"+botID+"/matches/"+matchID+"/decisions"), &listed))
		failed = slices.DeleteFunc(slices.Clone(listed.Decisions), func(d rest.Decision) bool { return d.Outcome == frames.Played })
		return !slices.ContainsFunc(failed, func(d rest.Decision) bool {
			return !named.MatchString(d.Why()) || f.lateness > 0 && d.Late == nil
		})
	})
	require.Len(t, failed, match.MaxStrikes)
	for _, d := range failed {
		f.requireOnly(t, "GET …/decisions", d.Why(), all)
		if f.lateness > 0 {
			require.GreaterOrEqual(t, d.Late.LateMs, f.lateness.Milliseconds())
		}
	}

	var lines []rest.Decision
	for line := range bytes.Lines(o.get(t, "/bots/"+botID+"/decisions")) {
		var d rest.BotDecision
		require.NoError(t, json.Unmarshal(line, &d))
		if d.MatchID == matchID {
			lines = append(lines, d.Decision)
		}
	}
	require.Equal(t, listed.Decisions, lines)
	last := listed.Decisions[slices.IndexFunc(listed.Decisions, func(d rest.Decision) bool { return d.Strikes == match.MaxStrikes })]
	bot := o.requireHealth(t, f, all, botID, fmt.Sprintf("/watch/%s#%d", matchID, last.Seq))
	if bot.Health.State == string(health.Unreachable) {
		require.Less(t, bot.Health.Since, *played[0].EndedAt)
	} else {
		require.GreaterOrEqual(t, bot.Health.Since, *played[1].EndedAt)
	}

	f.requireOnly(t, "the page", html.UnescapeString(string(o.get(t, "/bot/"+botID+"/log/"+matchID))), all)
	command := launchIn(t, processOptions{env: o.env}, append([]string{"bots", "log", f.name, "--failed"}, o.flags...)...)
	command.awaitExit()
	printed := command.out.String()
	f.requireOnly(t, "arena bots log", printed, all)
	require.Equal(t, match.MaxStrikes, strings.Count(printed, "The arena played "))
	return bot
}

// requireHealth requires that the bot's card on the dashboard, the page that manages the
// bot, and GET /bots/{id} show the bot's state and name the cause, and that they lead to
// the given moment. It returns the bot.
func (o *logReader) requireHealth(t *testing.T, f cause, all []cause, botID, moment string) (b rest.Bot) {
	t.Helper()
	state := string(health.Failing)
	if f.breaks != nil || f.instead != nil {
		state = string(health.Unreachable)
	}
	eventually(t, "the health shows the second match", func() bool {
		require.NoError(t, json.Unmarshal(o.get(t, "/bots/"+botID), &b))
		e := b.Health.LastError
		return b.Health.State == state && b.Health.Recent.Matches == 2 && e != nil &&
			fmt.Sprintf("/watch/%s#%d", e.MatchID, e.Seq) == moment && (e.Code == match.CodeLate) == (f.lateness > 0)
	})
	f.requireOnly(t, "GET /bots/{id}", b.Health.LastError.Message, all)
	require.Equal(t, []int{2 * match.MaxStrikes, 2}, []int{b.Health.Recent.Strikes, b.Health.Recent.Resigned})

	dashboard := html.UnescapeString(string(o.get(t, "/dashboard")))
	_, card, found := strings.Cut(dashboard, `<a class="name" href="/dashboard/bots/`+botID+`">`)
	require.True(t, found)
	card, _, _ = strings.Cut(card, "</li>")
	require.Contains(t, card, ">"+state+"</span>")
	for where, text := range map[string]string{
		"the dashboard":         card,
		"the bot's manage page": html.UnescapeString(string(o.get(t, "/dashboard/bots/"+botID))),
	} {
		f.requireOnly(t, where, text, all)
		require.Contains(t, text, `<a href="`+moment+`">`, where)
	}
	return b
}
