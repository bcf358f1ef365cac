package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/projections/arenatest"
)

// shownFrame is the shape of a frame of a running match. It has the public fields of
// GameView, and the time, kind and seat of the frame's event.
var shownFrame = object(with(publicView, map[string]shape{"seq": integer(1, 1<<20), "event": event(false), "owed": listOf(seat, 0, 1, 2, 3, 4)}))

// The type secrets lists strings from a running match that no public response may
// contain.
type secrets []string

func secretsOf(g *arenatest.Game) secrets {
	list := secrets{
		"bots.example", "nonce of", "seed of the tests", // URLs, nonces, the seed key
		`"knight"`, `"victory_point"`, `"roadworks"`, `"windfall"`, `"embargo"`, // cards in hands and in the deck
		`what?`, `gold`, strings.Repeat("x", match.MaxTalk), // parts of illegal answers that bots have sent
		`"data":`, `"hand":`, `"devCards":`, `"devBoughtThisTurn":`, `"myScore":`, `"answer":`, `"action":`, `"cards":`, `"victim":`, `"proof":`, `"serverSeed":`,
	}
	for _, s := range []seed.Seed{g.State.Seed, g.State.ServerSeed} {
		list = append(list, s.String(), base64.StdEncoding.EncodeToString(s[:]), base64.RawURLEncoding.EncodeToString(s[:]))
	}
	return list
}

// s.in returns an error if the text contains a secret.
func (s secrets) in(text string) error {
	for _, secret := range s {
		if at := strings.Index(text, secret); at >= 0 {
			return fmt.Errorf("the text contains %q: %.200s", secret, text[max(0, at-60):])
		}
	}
	return nil
}

func (s secrets) nowhere(t *testing.T, where, text string) {
	t.Helper()
	require.NoError(t, s.in(text), where)
}

// The test knows the complete state of a match. After every step, it reads all public
// data, and requires that the data contains only the public fields of a GameView.
func TestRunningMatchKeepsItsSecrets(t *testing.T) {
	s := newSpectated(t)
	g := s.running
	s.shown(g)
	own := s.listen("/live/"+g.MatchID+"/stream", lastEventID("0"))
	hidden := secretsOf(g)
	read, kinds := 0, map[string]bool{}
	for !g.State.Over() {
		for ; read < g.State.Seq; read++ {
			e := own.must()
			hidden.nowhere(t, "the stream", e.data)
			var f map[string]any
			require.NoError(t, json.Unmarshal([]byte(e.data), &f))
			require.NoError(t, shownFrame(f))
			kinds[f["event"].(map[string]any)["kind"].(string)] = true
		}
		if g.State.Seq%97 < 3 {
			s.scan(g, hidden)
		}
		g.Step()
	}
	require.GreaterOrEqual(t, len(kinds), 7, "enough kinds of events occurred: %v", kinds)
	for ; read < g.State.Seq; read++ {
		hidden.nowhere(t, "the stream", own.must().data)
	}
	s.scan(g, hidden) // the game is over, but the match counts as running until its ladder rates it
	g.Conclude()
	s.read.sync()
	require.Equal(t, "end", own.must().event)
	record := string(s.get("/matches/" + g.MatchID).is(http.StatusOK).body)
	require.Contains(t, record, g.State.Seed.String(), "an ended match is public")
	require.Error(t, hidden.in(record), "the scan finds secrets")
}

// scan reads all public data about a running match.
func (s *spectated) scan(g *arenatest.Game, hidden secrets) {
	s.t.Helper()
	s.shown(g)
	record := "/matches/" + g.MatchID
	for _, target := range []string{record, record + "/frames?after=" + fmt.Sprint(max(0, g.State.Seq-20)), "/matches", "/live", "/live/" + g.MatchID, "/leaderboard", "/matches?status=running"} {
		a := s.get(target).is(http.StatusOK)
		var text strings.Builder
		require.NoError(s.t, a.header.Write(&text))
		hidden.nowhere(s.t, target, text.String()+string(a.body))
	}
	s.get(record+"/frames?seat=all").is(http.StatusUnprocessableEntity, "invalid")
	all := s.listen("/live/stream")
	for range 3 { // one frame for each of the three running matches
		hidden.nowhere(s.t, "the stream of all", all.must().data)
	}
	all.stop()
	_, _ = io.Copy(io.Discard, all.Body)
}
