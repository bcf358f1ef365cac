package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/demo"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
)

// trialArena is an arena that plays, with a second process that does not play, and one
// owner.
type trialArena struct {
	*testArena
	peer *testArena
	ada  *demo.Owner
}

// slowDecision is the time for a decision in the mode parley, which the slow bots play.
// The second late answer of a slow bot has at least this long to arrive before the trial
// ends, even if the machine is busy.
const slowDecision = 3 * time.Second

// With trialFlags, bots have plenty of time in the mode standard.
var trialFlags = []string{"--tick", "250ms", "--decision-standard", "30s", "--decision-parley", slowDecision.String()}

func newTrialArena(t *testing.T) *trialArena {
	t.Helper()
	s := newTestArena(t, trialFlags...)
	s.start()
	peer := newTestArena(t, "--no-play", "--secrets", filepath.Join(s.data, "secrets.json"), "--mail", "file:"+filepath.Join(s.data, "mail"), "--eventstore", s.log())
	peer.start()
	a := &trialArena{s, peer, s.owner()}
	eventually(t, "the second process knows the owner's key", func() bool {
		return a.atPeer().Call(t.Context(), http.MethodGet, "/bots", nil, nil) == nil
	})
	return a
}

// log returns the connection string of the embedded node.
func (s *testArena) log() string {
	return fmt.Sprintf("esdb://%s?tls=false", s.arena.await(`event store on esdb://(\S+)\?`)[1])
}

// atPeer returns the owner as a caller of the second process.
func (s *trialArena) atPeer() *demo.Owner {
	ada := *s.ada
	ada.Base = s.peer.base()
	return &ada
}

func (s *testArena) registerPaused(who *demo.Owner, p *testBot, mode string) (id string) {
	s.t.Helper()
	paused, b := "paused", rest.Bot{}
	s.must(who.Call(s.t.Context(), http.MethodPost, "/bots", rest.NewBot{Name: p.name, Mode: mode, URL: p.url, Status: &paused}, &b))
	require.Equal(s.t, "paused", b.Status)
	return b.ID
}

func orderTrial(t *testing.T, who *demo.Owner, bot string) (ordered rest.Trial) {
	t.Helper()
	require.NoError(t, who.Call(t.Context(), http.MethodPost, "/bots/"+bot+"/trial", nil, &ordered))
	return ordered
}

func awaitTrial(t *testing.T, who *demo.Owner, bot, trial string) (now rest.Trial) {
	t.Helper()
	eventually(t, "the trial ends", func() bool {
		require.NoError(t, who.Call(t.Context(), http.MethodGet, "/bots/"+bot+"/trials/"+trial, nil, &now))
		return now.Status == rest.TrialEnded
	})
	return now
}

// try runs `arena bots try` and returns its exit status and output.
func (s *trialArena) try(bot string) (status int, out string) {
	s.t.Helper()
	private, err := client.EncodePrivate(s.ada.Key)
	s.must(err)
	file := filepath.Join(s.t.TempDir(), "key.pem")
	s.must(os.WriteFile(file, private, 0o600))
	p := launch(s.t, "bots", "try", bot, "--arena", s.base(), "--key", file, "--key-id", s.ada.KeyID)
	p.awaitExit()
	return p.cmd.ProcessState.ExitCode(), p.out.String() + p.err.String()
}

// The function brokenly() answers each decision with invalid JSON.
func brokenly(ctx context.Context, conn *websocket.Conn, _ decision) error {
	return conn.Write(ctx, websocket.MessageText, []byte(`{"id":}`))
}

// A good, a slow and a broken bot play trials over their real sockets. The first orders
// go to a process that does not play. Then the command line orders trials.
func TestTrials(t *testing.T) {
	t.Parallel()
	s := newTrialArena(t)
	good, slow, broken := newTestBot(t, "good"), newTestBot(t, "slow"), newTestBot(t, "broken")
	slow.conduct, broken.conduct = oneBehind(), brokenly
	modes := map[*testBot]string{good: ladder.Standard, slow: ladder.Parley, broken: ladder.Standard}
	ids, trials := map[*testBot]string{}, []string{}
	for p, mode := range modes {
		ids[p] = s.registerPaused(s.atPeer(), p, mode)
		trials = append(trials, orderTrial(t, s.atPeer(), ids[p]).ID)
	}
	result := func(p *testBot) rest.Trial {
		var b rest.Bot
		s.must(s.atPeer().Call(t.Context(), http.MethodGet, "/bots/"+ids[p], nil, &b))
		return awaitTrial(t, s.atPeer(), ids[p], b.Trial.ID)
	}

	played := result(good)
	require.Equal(t, "completed", *played.Outcome)
	require.Empty(t, played.Strikes)
	require.Equal(t, "setup", played.Decisions[0].Kind)
	require.Equal(t, 2, played.Decisions[0].Played)
	require.Len(t, played.Players, 4)
	require.NotNil(t, good.memory(played.ID), "the arena dialed the bot")
	require.Len(t, good.memory(played.ID).answers, func() (n int) {
		for _, k := range played.Decisions {
			n += k.Played
		}
		return n
	}())
	var frames rest.Frames
	s.must(s.ada.Call(t.Context(), http.MethodGet, "/bots/"+ids[good]+"/trials/"+played.ID+"/frames?seat=all", nil, &frames))
	require.Len(t, frames.Frames, played.Events)

	// explained waits until the first n strikes have a reason with the given code. The
	// arena stores a reason a moment after its strike, so the trial may end earlier.
	explained := func(p *testBot, n int, code string) (now rest.Trial) {
		eventually(t, "the reasons of the strikes are shown", func() bool {
			now = result(p)
			require.Len(t, now.Strikes, 3)
			return !slices.ContainsFunc(now.Strikes[:n], func(d rest.TrialDecision) bool { return d.Message == nil || *d.Code != code })
		})
		return now
	}

	late := explained(slow, 2, match.CodeLate)
	for _, d := range late.Strikes[:2] {
		require.Regexp(t, `^came [\d,]+ ms late$`, *d.Message)
	}
	require.True(t, late.Resigned)
	require.GreaterOrEqual(t, late.Latency.MaxMs, slowDecision.Milliseconds())

	struck := explained(broken, 3, match.CodeSyntax)
	for _, d := range struck.Strikes {
		require.Equal(t, match.CodeSyntax, *d.Code)
		require.Contains(t, *d.Message, "invalid character '}'")
	}

	for p, want := range map[*testBot]struct {
		status int
		text   string
	}{
		good:   {0, `the game ended after \d+ turns`},
		slow:   {1, `timeout .*strike 3: .*; the seat resigned`},
		broken: {1, `timeout .*strike 1: invalid character '}'`},
	} {
		status, out := s.try(ids[p])
		require.Equal(t, want.status, status, out)
		require.Regexp(t, want.text, out)
		require.Regexp(t, `latency +p50 \d+ ms +p95 \d+ ms +max \d+ ms`, out)
		require.Contains(t, out, "replay")
		trials = append(trials, result(p).ID)
		var b rest.Bot
		s.must(s.ada.Call(t.Context(), http.MethodGet, "/bots/"+ids[p], nil, &b))
		require.Equal(t, "untested", b.Health.State, "trials do not count")
	}
	s.hides(t, trials)
	s.peer.stop()
	s.stop()
}

// The method hides() requires that nothing public contains the trials: no page, no
// export and no log for analysts.
func (s *trialArena) hides(t *testing.T, trials []string) {
	t.Helper()
	traces := append([]string{"house-1", match.TrialPrefix, match.DetailsPrefix}, trials...)
	for _, path := range []string{
		"/matches?limit=200", "/matches?status=running", "/live", "/leaderboard", "/leaderboard?mode=parley", "/ladder/standard/events", "/ladder/parley/events", "/log/keys",
	} {
		text := page(s.testArena, path, http.StatusOK)
		for _, trace := range traces {
			require.NotContains(t, text, trace, path)
		}
	}
	for _, trial := range trials {
		page(s.testArena, "/matches/"+trial, http.StatusNotFound)
		page(s.testArena, "/live/"+trial, http.StatusNotFound)
		page(s.testArena, "/watch/"+trial, http.StatusNotFound)
	}

	out := t.TempDir()
	export := launch(t, "export", "--eventstore", s.log(), "--format", "jsonl", "--out", out)
	export.awaitExit()
	require.Zero(t, export.cmd.ProcessState.ExitCode(), export.err.String())
	read, feed := analysts(t)
	feeder := launch(t, "node", "copy", "--public", "--from", s.log(), "--to", feed)
	feeder.await(upToDate)
	copied := allOf(t, read)
	require.NotEmpty(t, copied)
	inLog := textOf(t, s.log())
	for _, trace := range traces {
		require.Contains(t, inLog, trace, "the arena's own log")
		require.Empty(t, keepers(t, out, trace), "the export contains %s", trace)
		for _, e := range copied {
			require.NotContains(t, e.stream+" "+e.data+" "+e.metadata, trace)
		}
	}
}

// textOf returns the streams, the data and the metadata of a whole log.
func textOf(t *testing.T, connection string) string {
	t.Helper()
	log, err := esdb.Open(connection, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	var text strings.Builder
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		fmt.Fprintf(&text, "%s %s %s\n", r.Stream, r.Data, r.Metadata)
	}
	return text.String()
}

// The arena is killed in the middle of a trial. It resumes the trial, without a strike.
// Until the trial has ended, the bot cannot be unpaused.
func TestTrialSurvivesACrash(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, trialFlags...)
	s.start()
	ada := s.owner()
	p := newTestBot(t, "good")
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.hold = func(r *match.Request) {
		if r.View.Turn > 0 {
			once.Do(func() { close(held) })
			<-release
		}
	}
	bot := s.registerPaused(ada, p, ladder.Standard)
	trial := orderTrial(t, ada, bot).ID
	<-held
	for method, call := range map[string]struct {
		path string
		body any
	}{http.MethodPatch: {"/bots/" + bot, map[string]string{"status": "active"}}, http.MethodPost: {"/bots/" + bot + "/trial", nil}} {
		err := ada.Call(t.Context(), method, call.path, call.body, nil)
		var refused *client.Refusal
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "bot_in_trial", refused.Code)
	}
	s.arena.kill()
	s.start()
	close(release)
	done := awaitTrial(t, ada, bot, trial)
	require.Equal(t, "completed", *done.Outcome)
	require.Empty(t, done.Strikes)
	require.Greater(t, p.memory(trial).sockets, 1)
	require.NoError(t, ada.Call(t.Context(), http.MethodPatch, "/bots/"+bot, map[string]string{"status": "active"}, nil))
	s.stop()
}
