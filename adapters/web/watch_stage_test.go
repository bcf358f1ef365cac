package web_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/web"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/live"
	"hexarena/projections/matches"
	"hexarena/projections/signedlog"
)

// stage is a server of pages, with the API behind them, over matches that the
// test plays step by step.
type stage struct {
	t      testing.TB
	url    string
	play   *arenatest.Arena
	log    *memory.Log
	list   *matches.Matches
	listed *projections.Runner
	signed *signedlog.SignedLog
	logged *projections.Runner
	pages  http.Handler

	mu      sync.Mutex
	talk    string // what bots say, where not what the log has
	streams int    // of many matches, that were opened
}

// What the pages of matches never ask for.
type (
	nobody  struct{ api.Authenticator }
	nothing struct{ api.Checker }
	nowhere struct{ api.Directory }
	unrated struct{ api.Leaderboard }
)

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, log: memory.New(), list: matches.New()}
	s.play = arenatest.New(t, s.log, 11)
	s.signed = signedlog.New(s.log)
	s.logged = arenatest.Follow(t, s.log, s.signed)
	s.listed = arenatest.Follow(t, s.log, s.list)
	server := httptest.NewUnstartedServer(nil)
	s.url = "http://" + server.Listener.Addr().String()
	calls, err := api.New(api.Options{
		Log: s.log, Auth: nobody{}, Checker: nothing{}, Directory: nowhere{}, Leaderboard: unrated{}, Matches: s.list, Live: s.hub(),
		ParsePublicKey: func(string) (ed25519.PublicKey, error) { return nil, nil }, PlatformKey: headKey.Public().(ed25519.PublicKey), SignedLog: s.signed, SignHead: signHead, BaseURL: s.url, Now: time.Now,
	})
	require.NoError(t, err)
	pages, err := web.New(web.Options{API: s.changed(calls), Reads: calls.Within(), BaseURL: s.url})
	require.NoError(t, err)
	s.pages = pages
	server.Config.Handler = pages
	server.Start()
	t.Cleanup(server.Close)
	return s
}

// hub runs the live boards as cmd plugs them in.
func (s *stage) hub() *live.Hub {
	hub := live.New(live.Options{
		Log: s.log, Logger: slog.New(slog.DiscardHandler),
		Running: func(ctx context.Context) ([]string, error) {
			err := s.listed.Sync(ctx)
			return nil, err
		},
		Ended: func(ctx context.Context, id string, at eventstore.Position) (matches.Summary, error) {
			if err := s.listed.Wait(ctx, at); err != nil {
				return matches.Summary{}, err
			}
			m, _, err := s.list.Get(id)
			return m, err
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var ran sync.WaitGroup
	ran.Go(func() { hub.Run(ctx) })
	ran.Go(func() { _ = s.listed.Run(ctx) })
	s.t.Cleanup(func() { cancel(); ran.Wait() })
	return hub
}

// changed has bots say what the test wants, and counts streams.
func (s *stage) changed(calls http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		talk := s.talk
		if r.URL.Path == "/live/stream" {
			s.streams++
		}
		s.mu.Unlock()
		if talk == "" || !strings.HasSuffix(r.URL.Path, "/frames") {
			calls.ServeHTTP(w, r)
			return
		}
		r.Header.Del("Accept-Encoding")
		kept := httptest.NewRecorder()
		calls.ServeHTTP(kept, r)
		var body struct {
			MatchID string          `json:"matchId"`
			Board   json.RawMessage `json:"board"`
			Frames  []match.Frame   `json:"frames"`
		}
		if err := json.Unmarshal(kept.Body.Bytes(), &body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for _, f := range body.Frames {
			for i := range f.TalkLog {
				f.TalkLog[i].Message = talk
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	})
}

// seat starts a match of new bots.
func (s *stage) seat(names ...string) *arenatest.Game {
	s.t.Helper()
	g := s.play.Seat(ladder.Standard, s.play.Register("ada", ladder.Standard, names...)...)[0]
	g.Start()
	s.settle()
	return g
}

// settle waits until the list of matches and the signed log are what the log
// says.
func (s *stage) settle() {
	require.NoError(s.t, s.logged.Sync(context.Background()))
	require.NoError(s.t, s.listed.Sync(context.Background()))
}

// ended plays a match of new bots to its ratings.
func (s *stage) ended(names ...string) *arenatest.Game {
	s.t.Helper()
	g := s.seat(names...)
	g.PlayOut()
	g.Conclude()
	s.settle()
	return g
}

// shown waits until the live boards show a game as it stands.
func (s *stage) shown(g *arenatest.Game) {
	s.t.Helper()
	answer, err := http.Get(s.url + "/live/" + g.MatchID + "/stream")
	require.NoError(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == fmt.Sprint("id: ", g.State.Seq) {
			return
		}
	}
	require.Fail(s.t, "the stream ended before the match was shown")
}

// roadsOf is how many roads stand in a match.
func roadsOf(g *arenatest.Game) int {
	n := 0
	for _, roads := range g.State.Game.Roads {
		n += roads.Len()
	}
	return n
}
