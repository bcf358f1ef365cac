package mail

import (
	"mime"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/health"
	"hexarena/domain/owner"
)

var noon = time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)

const (
	from = "Hex Arena <arena@arena.example>"
	link = "https://arena.example/sign-in/confirm?token=AbC-_0123456789AbC-_0123456789AbC-_0123456789AbC-_0123456789AbC-_0123456789"
)

var paused = owner.Bot{ID: "b1", Name: `Ada "é"`, Mode: "standard", StatusSince: noon}

const page = "https://arena.example/dashboard"

// The function files() returns the names of the files in a folder, sorted.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFolderHoldsMailAsPrivateFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "mail")
	m, err := Open("file:"+dir, from, func() time.Time { return noon })
	require.NoError(t, err)
	require.NoError(t, m.SendSignInLink(t.Context(), "ada@example.org", link, noon.Add(15*time.Minute)))

	names := files(t, dir)
	require.Len(t, names, 1)
	require.Regexp(t, `^20260906T120000\.000000000Z-\w+\.eml$`, names[0])
	path := filepath.Join(dir, names[0])
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "the file contains an address and a link")

	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	parsed, err := mail.ReadMessage(strings.NewReader(string(raw)))
	require.NoError(t, err)
	to, err := parsed.Header.AddressList("To")
	require.NoError(t, err)
	require.Equal(t, []*mail.Address{{Address: "ada@example.org"}}, to)
	date, err := parsed.Header.Date()
	require.NoError(t, err)
	require.True(t, noon.Equal(date))
	require.Equal(t, "Sign in to Hex Arena", parsed.Header.Get("Subject"))
	require.NotEmpty(t, parsed.Header.Get("Message-ID"))
	require.Contains(t, string(raw), "\r\n"+link+"\r\n", "the link is on a line of its own")
	require.Contains(t, string(raw), "2026-09-06 12:15 UTC")
}

func TestFileNamesSortByTime(t *testing.T) {
	dir := t.TempDir()
	now := noon
	m, err := Open("file:"+dir, from, func() time.Time { return now })
	require.NoError(t, err)
	var byTime []string
	for _, step := range []time.Duration{0, 1, time.Microsecond, time.Second, time.Hour, 40 * 24 * time.Hour} {
		now = now.Add(step)
		before := files(t, dir)
		require.NoError(t, m.SendSignInLink(t.Context(), "ada@example.org", link, now))
		for _, name := range files(t, dir) {
			if !slices.Contains(before, name) {
				byTime = append(byTime, name)
			}
		}
	}
	require.Equal(t, files(t, dir)[1:], byTime[1:])
	require.Len(t, byTime, 6)
}

func TestMailsOfTheSameTimeHaveDifferentNames(t *testing.T) {
	dir := t.TempDir()
	m, err := Open("file:"+dir, from, func() time.Time { return noon })
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, m.SendSignInLink(t.Context(), "ada@example.org", link, noon))
	}
	require.Len(t, files(t, dir), 20)
}

func TestAddressCannotAddHeader(t *testing.T) {
	dir := t.TempDir()
	m, err := Open("file:"+dir, from, func() time.Time { return noon })
	require.NoError(t, err)
	require.Error(t, m.SendSignInLink(t.Context(), "ada@example.org\r\nBcc: eve@example.org", link, noon))
	require.Empty(t, files(t, dir), "no partial files are left")
}

func TestRepeatedMailReplacesItsFile(t *testing.T) {
	dir := t.TempDir()
	m, err := Open("file:"+dir, from, time.Now)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, m.SendBotPaused(t.Context(), "ada@example.org", paused, page))
	}
	other := paused
	other.ID = "b2"
	require.NoError(t, m.SendBotPaused(t.Context(), "ada@example.org", other, page))
	names := files(t, dir)
	require.Len(t, names, 2)
	for _, name := range names {
		require.True(t, strings.HasPrefix(name, "20260906T120000.000000000Z-"), name)
	}
	raw, err := os.ReadFile(filepath.Join(dir, names[0]))
	require.NoError(t, err)
	parsed, err := mail.ReadMessage(strings.NewReader(string(raw)))
	require.NoError(t, err)
	require.Equal(t, "Hex Arena has paused your bot", parsed.Header.Get("Subject"))
	require.Contains(t, string(raw), "Bot: Ada \"é\" (standard)\r\nPaused: 2026-09-06 12:00 UTC\r\n")
	require.Contains(t, string(raw), "\r\nhttps://arena.example/dashboard\r\n")
	m.Run(t.Context(), nil) // returns immediately, because nothing is queued
}

func TestSendKeyMoved(t *testing.T) {
	dir := t.TempDir()
	m, err := Open("file:"+dir, from, time.Now)
	require.NoError(t, err)
	moved := owner.Key{ID: "k1", Name: "laptop \"é\"", RevokedAt: time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)}
	for range 2 {
		require.NoError(t, m.SendKeyMoved(t.Context(), "ada@example.org", moved, "https://arena.example/dashboard/keys"))
	}
	names := files(t, dir)
	require.Len(t, names, 1, "the same email, sent again")
	raw, err := os.ReadFile(filepath.Join(dir, names[0]))
	require.NoError(t, err)
	require.Contains(t, string(raw), "Key: laptop \"é\"\r\nRevoked: 2026-09-06 12:00 UTC\r\n")
	require.Contains(t, string(raw), "\r\nhttps://arena.example/dashboard/keys\r\n")
	require.Contains(t, string(raw), "The key's id was k1.")
}

func TestSendBotHealth(t *testing.T) {
	bot := owner.Bot{ID: "b1", Name: `Ada "é"`, Mode: "standard"}
	failing := health.Bot{
		State: health.Failing, Since: noon, Trouble: noon.Add(-time.Hour),
		LastError: &health.Error{MatchID: "m1", At: noon.Add(-time.Minute), Code: "late", Message: "came 1,004 ms late"},
	}
	unreachable, silent, recovered := failing, failing, failing
	unreachable.State = health.Unreachable
	silent.LastError = nil
	recovered.State = health.OK
	for name, c := range map[string]struct {
		health  health.Bot
		subject string
		want    []string
		without string
	}{
		"failing": {failing, `Your bot Ada "é" is failing`, []string{
			"Your bot is failing: in each of its last two matches, it resigned",
			"Bot: Ada \"é\" (standard)\r\nFailing since: 2026-09-06 12:00 UTC\r\nLatest error, 2026-09-06 11:59 UTC: came 1,004 ms late (late)\r\n",
			"\r\nhttps://arena.example/bot/b1/log/m1\r\n", "\r\nhttps://arena.example/dashboard/bots/b1\r\n", "\r\nhttps://arena.example/dashboard/account#mails\r\n",
			"See what the arena asked", "- Fix the bot.", "arena bots pause b1\r\n", "arena bots try b1\r\n", `"arena mails --failing=off"`,
		}, "recovered"},
		"unreachable": {unreachable, `Your bot Ada "é" is unreachable`, []string{
			"The arena cannot reach your bot", "\r\nUnreachable since: 2026-09-06 12:00 UTC\r\n", `"arena mails --unreachable=off"`,
			"See the decisions that the bot missed:\r\n\r\nhttps://arena.example/bot/b1/log/m1\r\n",
			"- Check that the bot is running", "\r\n    arena bots check b1\r\n\r\n- Pause it",
		}, "failing"},
		"without an error": {silent, `Your bot Ada "é" is failing`, []string{"\r\nThe bot's page:\r\n\r\nhttps://arena.example/bot/b1\r\n"}, "Latest error"},
		"recovered": {recovered, `Your bot Ada "é" plays again`, []string{
			"Failing or unreachable since: 2026-09-06 11:00 UTC\r\nRecovered: 2026-09-06 12:00 UTC\r\n",
			"\r\nhttps://arena.example/bot/b1\r\n", "\r\nhttps://arena.example/dashboard/account#mails\r\n", `"arena mails --recovered=off"`,
		}, "late"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m, err := Open("file:"+dir, from, time.Now)
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, m.SendBotHealth(t.Context(), "ada@example.org", bot, c.health, "https://arena.example"))
			}
			names := files(t, dir)
			require.Len(t, names, 1, "the same email, sent again")
			raw, err := os.ReadFile(filepath.Join(dir, names[0]))
			require.NoError(t, err)
			parsed, err := mail.ReadMessage(strings.NewReader(string(raw)))
			require.NoError(t, err)
			subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
			require.NoError(t, err)
			require.Equal(t, c.subject, subject)
			for _, text := range c.want {
				require.Contains(t, string(raw), text)
			}
			require.NotContains(t, string(raw), c.without)
			require.NotContains(t, string(raw), "%!")
		})
	}
}

func TestOpenRejectsInvalidSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, setting := range map[string]string{
		"empty":                 "",
		"unknown kind":          "pigeon:home",
		"no folder":             "file:",
		"a file":                "file:" + file,
		"inside a file":         "file:" + filepath.Join(file, "mail"),
		"a folder without kind": t.TempDir(),

		"no server":           "smtp://",
		"no host":             "smtps://ada:s3cret@:25",
		"opaque":              "smtp:mx.example",
		"an invalid port":     "smtp://ada:s3cret@mx.example:mx",
		"a port out of range": "smtp://ada:s3cret@mx.example:65536",
		"port 0":              "smtp://ada:s3cret@mx.example:0",
		"a path":              "smtp://ada:s3cret@mx.example/inbox",
		"a fragment":          "smtp://ada:s3cret@mx.example#x",
		"an unknown query":    "smtp://ada:s3cret@mx.example?tls=no",
		"an invalid sender":   "smtp://ada:s3cret@mx.example?from=nobody",
		"two senders":         "smtp://ada:s3cret@mx.example?from=a@x.example&from=b@x.example",
		"an invalid query":    "smtp://ada:s3cret@mx.example?from=%zz",
		"an invalid password": "smtp://ada:s3cret%zz@mx.example",
		"a misspelled scheme": "smpt://ada:s3cret@mx.example",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(setting, from, time.Now)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}
