package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
)

// The example bot plays whole matches in every seat of a table, and the arena
// rejects none of its answers.
func TestTheExampleBotPlays(t *testing.T) {
	bot := exampleBot(t, t.TempDir())
	for seats := 3; seats <= 4; seats++ {
		require.Equal(t, "stalemate", plays(t, bot, seats), "it builds nothing")
	}
}

// A bot's secret stays in its folder, so that the owner can compute the nonces of
// earlier matches again.
func TestTheExampleBotKeepsItsSecret(t *testing.T) {
	dir := t.TempDir()
	first := exampleBot(t, dir).nonce(t, "m")
	info, err := os.Stat(filepath.Join(dir, secretFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	again, other := exampleBot(t, dir), exampleBot(t, t.TempDir())
	require.Equal(t, first, again.nonce(t, "m"))
	require.NotEqual(t, first, other.nonce(t, "m"))
	for _, bot := range []runningBot{again, other} {
		line, answer, err := websocket.Dial(t.Context(), bot.url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Arena-Match": {"m"}}})
		require.NoError(t, err)
		require.NoError(t, line.CloseNow())
		require.Equal(t, bot.nonce(t, "m"), answer.Header.Get("x-arena-nonce"))
	}
}

// runningBot is a bot's process.
type runningBot struct {
	url string
	dir string // its working folder
}

// secretFile is the file in a bot's folder that holds the secret of its nonces.
const secretFile = "nonce-secret"

// nonce computes the bot's nonce for a match from the bot's secret, the way the
// owner would.
func (b runningBot) nonce(t *testing.T, matchID string) string {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(b.dir, secretFile))
	require.NoError(t, err)
	require.Len(t, bytes.TrimSpace(secret), 64)
	h := hmac.New(sha256.New, bytes.TrimSpace(secret))
	h.Write([]byte(matchID))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// startBot starts a bot in its folder. The bot prints its URL.
func startBot(t *testing.T, bot *exec.Cmd) runningBot {
	t.Helper()
	bot.Stderr = os.Stderr
	out, err := bot.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, bot.Start())
	t.Cleanup(func() { _ = bot.Wait() }) // the test's context is canceled first, which kills the bot
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return runningBot{strings.TrimSpace(url), bot.Dir}
}

// The function plays() lets a bot play in every seat of a table, and returns how the
// match ended. It requires that no answer is rejected, and that the bot sends its
// nonces.
func plays(t *testing.T, bot runningBot, seats int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	require.Equal(t, "pong", ping(t, ctx, bot.url))
	m, _ := matchtest.Start(seed.Seed{7}, seats)
	lines := make([]*websocket.Conn, seats)
	for i := range lines {
		id := fmt.Sprintf("match %d", i)
		line, answer, err := websocket.Dial(ctx, bot.url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Arena-Match": {id}}})
		require.NoError(t, err)
		defer line.CloseNow()
		require.Equal(t, []string{bot.nonce(t, id)}, answer.Header.Values("x-arena-nonce"))
		require.Equal(t, []string{"1.0"}, answer.Header.Values("x-arena-version"))
		lines[i] = line
	}
	for !m.Over() {
		var outcomes []match.Outcome
		for _, d := range m.Asks() {
			request := m.Request(d)
			require.NoError(t, lines[d.Seat].Write(ctx, websocket.MessageText, request.AppendJSON(nil)))
			_, frame, err := lines[d.Seat].Read(ctx)
			require.NoError(t, err)
			outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: frame})
		}
		events, err := m.Settle(outcomes)
		require.NoError(t, err)
		for _, e := range events {
			require.NotContains(t, []string{"DecisionTimedOut", "AnswerRejected"}, e.EventType(), "%+v", e)
			m = match.Evolve(m, e)
		}
	}
	for _, line := range lines {
		require.NoError(t, line.Close(websocket.StatusNormalClosure, ""))
	}
	return m.End.Reason
}

// A caller that does not use WebSocket gets an error, and the bot continues to
// work.
func TestTheExampleBotTellsThatItWantsAWebSocket(t *testing.T) {
	url := exampleBot(t, t.TempDir()).url
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusUpgradeRequired, answer.StatusCode)
	require.Equal(t, "websocket", answer.Header.Get("Upgrade"))
	require.Equal(t, "pong", ping(t, t.Context(), url))
}

func TestTheExampleBotRefusesAPortInOneLine(t *testing.T) {
	_, taken, _ := strings.Cut(strings.TrimPrefix(exampleBot(t, t.TempDir()).url, "http://"), ":")
	for port, want := range map[string]string{
		taken:   "port " + taken + ": Address already in use",
		"70000": "port 70000 is invalid: choose 0 to 65535",
		"x":     "port x is invalid: choose 0 to 65535",
	} {
		said, err := exec.CommandContext(t.Context(), "python3", "example_bot.py", port).CombinedOutput()
		require.Error(t, err)
		require.Equal(t, "example_bot.py: "+want+"\n", string(said))
	}
}

// exampleBot starts the example bot in a folder.
func exampleBot(t *testing.T, dir string) runningBot {
	t.Helper()
	bot := pythonBot(t)
	bot.Dir = dir
	return startBot(t, bot)
}

// pythonBot returns the example bot, in a new folder. It listens on a free port.
func pythonBot(t *testing.T) *exec.Cmd {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs python3: make deps")
		t.Skip("needs python3: run make deps")
	}
	program, err := filepath.Abs("example_bot.py")
	require.NoError(t, err)
	bot := exec.CommandContext(t.Context(), python, program, "0")
	bot.Dir = t.TempDir()
	return bot
}

func ping(t *testing.T, ctx context.Context, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/ping", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(body)
}
