package docs_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
)

// The example bot plays whole matches in every seat of a table, and none of its
// answers is refused.
func TestTheExampleBotPlays(t *testing.T) {
	url := exampleBot(t)
	for seats := 3; seats <= 4; seats++ {
		require.Equal(t, "stalemate", plays(t, url, seats), "it builds nothing")
	}
}

// plays lets a bot play in every seat of a table, and returns how its match
// ends. It requires that no answer is refused.
func plays(t *testing.T, url string, seats int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	require.Equal(t, "pong", ping(t, ctx, url))
	m, _ := matchtest.Start(seed.Seed{7}, seats)
	lines := make([]*websocket.Conn, seats)
	for i := range lines {
		line, _, err := websocket.Dial(ctx, url, nil)
		require.NoError(t, err)
		defer line.CloseNow()
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

// A caller that does not use WebSocket gets an error, and does not harm the
// bot.
func TestTheExampleBotTellsThatItWantsAWebSocket(t *testing.T) {
	url := exampleBot(t)
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
	_, taken, _ := strings.Cut(strings.TrimPrefix(exampleBot(t), "http://"), ":")
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

// exampleBot starts the bot's process and returns its URL.
func exampleBot(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs python3: make deps")
		t.Skip("needs python3: run make deps")
	}
	bot := exec.CommandContext(t.Context(), python, "example_bot.py", "0")
	out, err := bot.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, bot.Start())
	t.Cleanup(func() { _ = bot.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url)
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
