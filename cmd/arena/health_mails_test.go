package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// healthMails returns the emails about a bot's health in the arena's mail folder, oldest
// first, without carriage returns.
func (s *testArena) healthMails(bot rest.Bot) (texts []string) {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.data, "mail"))
	s.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // not complete yet
		}
		raw, err := os.ReadFile(filepath.Join(s.data, "mail", e.Name()))
		s.must(err)
		text := strings.ReplaceAll(string(raw), "\r\n", "\n")
		if strings.Contains(text, "\nBot: "+bot.Name+" (") {
			texts = append(texts, text)
		}
	}
	return texts
}

// awaitMails waits until there are n emails about the health of a bot, and returns the
// latest one.
func (a *ailing) awaitMails(bot rest.Bot, n int) string {
	a.t.Helper()
	eventually(a.t, "the owner gets an email about "+bot.Name, func() bool { return len(a.healthMails(bot)) >= n })
	texts := a.healthMails(bot)
	require.Len(a.t, texts, n)
	return texts[n-1]
}

// mailEvents returns the events about emails about a bot, in the log of the stopped
// arena.
func (s *testArena) mailEvents(botID string) (types []string) {
	s.t.Helper()
	log, closeLog := openLog(s.t, s.data)
	defer closeLog()
	for r, err := range log.ReadAll(s.t.Context(), 0, eventstore.ReadOptions{}) {
		s.must(err)
		if _, ok := owner.ParseAccountStream(string(r.Stream)); !ok {
			continue
		}
		e, err := owner.Decode(r.Type, r.Data)
		s.must(err)
		switch e := e.(type) {
		case owner.BotMailDecided:
			if e.BotID == botID {
				types = append(types, "decided "+e.About)
			}
		case owner.Notified:
			if e.BotID == botID {
				types = append(types, "sent "+e.About)
			}
		}
	}
	return types
}

// mailedError finds the sentence of the error in an email, and the id of its match.
var mailedError = regexp.MustCompile(`(?s)Latest error, \S+ \S+ UTC: ([^\r\n]+) \(\w+\)\r?\n.*?/log/(\S+)`)

// requireError requires that an email names a strike of the bot, with the sentence that
// REST and the command show, and a link to the log of its match. A match that was running
// when the email was sent may have caused later strikes.
func (a *ailing) requireError(text string, bot rest.Bot) {
	a.t.Helper()
	found := mailedError.FindStringSubmatch(text)
	require.NotNil(a.t, found, text)
	message, matchID := found[1], found[2]
	var list rest.Decisions
	a.must(a.owner.Call(a.t.Context(), http.MethodGet, "/bots/"+bot.ID+"/matches/"+matchID+"/decisions", nil, &list))
	require.True(a.t, slices.ContainsFunc(list.Decisions, func(d rest.Decision) bool {
		return d.Why() == message
	}), "no decision of match %s failed because %s", matchID, message)
	shown := command(a.t, append([]string{"bots", "log", bot.ID, matchID}, a.as(a.owner)...)...)
	require.Contains(a.t, shown, message)
}

// switchMails signs the first owner in at a terminal and runs arena mails there.
func (a *ailing) switchMails(want string, flags ...string) {
	a.t.Helper()
	at := processOptions{env: []string{"XDG_CONFIG_HOME=" + a.t.TempDir()}}
	in := launchIn(a.t, at, "sign-in", "owner-1@example.org", "--mail-dir", filepath.Join(a.data, "mail"), "--arena", a.base())
	in.awaitExit()
	p := launchIn(a.t, at, append([]string{"mails"}, flags...)...)
	p.awaitExit()
	require.Equal(a.t, want, strings.Join(strings.Fields(p.out.String()), " "), p.err.String())
}

// The owner of a bot that strikes out in two matches gets one email, with the sentence
// that REST and the command show, and one when the bot recovers. An owner who has
// switched a kind of email off gets none of that kind.
func TestOwnerIsMailedAboutABot(t *testing.T) {
	t.Parallel()
	a := newAiling(t)
	a.strikes.Store(true)
	a.dead.kill()
	a.start()
	a.switchMails("failing on unreachable off recovered on", "--unreachable=off")
	striking := a.becomes("striking", "failing")
	dead := a.becomes("dead", "unreachable")
	a.retire()
	a.finish(2)

	text := a.awaitMails(striking, 1)
	require.Contains(t, text, "Subject: Your bot striking is failing\n")
	require.Contains(t, text, "\n"+a.base()+"/bot/"+striking.ID+"/log/")
	a.requireError(text, striking)
	require.Contains(t, text, "\nTo: <owner-1@example.org>\n")

	a.arena.kill()
	a.strikes.Store(false)
	a.revive(a.address)
	a.start()
	a.setStatus("active")
	a.becomes("striking", "ok")
	a.becomes("dead", "ok")
	a.retire() // the next look may be 30 s away, and needs no matches
	a.finish(0)
	text = a.awaitMails(striking, 2)
	require.Contains(t, text, "Subject: Your bot striking plays again\n")
	require.Contains(t, text, "\n"+a.base()+"/bot/"+striking.ID+"\n")
	a.stop()

	require.Equal(t, []string{"decided failing", "sent failing", "decided recovered", "sent recovered"}, a.mailEvents(striking.ID))
	require.Empty(t, a.mailEvents(dead.ID))
	require.Empty(t, a.healthMails(dead))
}

// A process that is killed after it has decided to send an email loses nothing: the next
// process sends it, once.
func TestMailIsSentAfterAKill(t *testing.T) {
	t.Parallel()
	mails := newMailServer(t)
	a := newAiling(t)
	a.strikes.Store(true)
	a.flags = append(a.flags, "--mail", mails.setting)
	release := sync.OnceFunc(mails.hold())
	defer release()
	a.start()
	striking := a.becomes("striking", "failing")
	a.retire()
	select {
	case <-mails.reached:
	case <-time.After(patience):
		require.FailNow(t, "the arena sends no email")
	}
	a.arena.kill()
	require.Equal(t, []string{"decided failing"}, a.mailEvents(striking.ID))
	require.Empty(t, mails.to("owner-1@example.org"))

	release()
	a.start()
	m := mails.await(t, "owner-1@example.org", 1)
	require.Equal(t, "Your bot striking is failing", m.header.Get("Subject"))
	a.requireError(m.text, striking)
	a.stop()
	require.Equal(t, []string{"decided failing", "sent failing"}, a.mailEvents(striking.ID))

	a.start() // the first look after a start is immediate
	eventually(t, "the arena is ready", func() bool { return a.bot("striking").Health.State == "failing" })
	a.stop()
	require.Len(t, mails.to("owner-1@example.org"), 1)
}
