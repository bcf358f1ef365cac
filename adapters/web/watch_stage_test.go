package web_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/rest"
	"hexarena/adapters/web"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/stats"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/accounts"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
	"hexarena/projections/leaderboard"
	"hexarena/projections/live"
	"hexarena/projections/matches"
	"hexarena/projections/signedlog"
)

// stage is a page server with the real API. The test plays its matches step by step.
type stage struct {
	t      testing.TB
	url    string
	play   *arenatest.Arena
	log    *memory.Log
	list   *matches.Matches
	listed *projections.Runner
	signed *signedlog.SignedLog
	logged *projections.Runner
	live   *live.Hub
	pages  http.Handler

	mu      sync.Mutex
	ours    map[string]bool // the ids of the house bots
	talk    string          // replaces the talk of all bots, unless talk is empty
	streams int             // number of streams of /live/stream that were opened
	drop    int             // how many of the next frames the streams skip
	passed  time.Duration   // how far the pages' clock is ahead
	busy    bool            // the API computes another win probability
	hold    func()          // called once, before the next response to a request for frames after a seq
}

// The API needs these dependencies, but the pages of matches do not use them.
type (
	nobody  struct{ api.Authenticator }
	nothing struct{ api.Checker }
	nowhere struct{ api.Directory }
	unrated struct{ api.Leaderboard }
)

// Rows and Version serve the empty ladders of the home page.
func (unrated) Rows(string) ([]leaderboard.Row, error) { return nil, nil }
func (unrated) Version() (uint64, error)               { return 0, nil }

func uncounted(http.Header, *http.Request, int) int          { return 0 }
func uncountedFile(http.Header, *http.Request) int           { return 0 }
func noWait(context.Context) (func(), error)                 { return func() {}, nil }
func unregistered(string) (b web.Bot, found bool, err error) { return web.Bot{}, false, nil }

func unknownSpread(string, string) map[string]float64 { return nil }

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, log: memory.New(), list: matches.New()}
	s.play = arenatest.New(t, s.log, 11)
	s.signed = signedlog.New(s.log)
	s.logged = arenatest.Follow(t, s.log, s.signed)
	s.listed = arenatest.Follow(t, s.log, s.list)
	s.followLog()
	server := httptest.NewUnstartedServer(nil)
	s.url = "http://" + server.Listener.Addr().String()
	calls, err := api.New(api.Options{
		Log: s.log, Auth: nobody{}, Checker: nothing{}, Directory: nowhere{}, Leaderboard: unrated{}, Matches: s.list, Live: s.live,
		ParsePublicKey: func(string) (ed25519.PublicKey, error) { return nil, nil }, PlatformKey: headKey.Public().(ed25519.PublicKey), SignedLog: s.signed, SignHead: signHead, Checkpoint: s.checkpoint, BaseURL: s.url, Now: time.Now,
		Accounts: accounts.New(s.log), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	pages, err := web.New(web.Options{
		API: s.changed(calls), Reads: calls.InternalReads(), Count: uncounted, CountFile: uncountedFile, Turn: noWait, Spread: unknownSpread, House: s.house, Registered: unregistered, Tallies: tallies{}, Tick: 30 * time.Second, BaseURL: s.url, Now: s.now, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	s.pages = pages
	server.Config.Handler = pages
	server.Start()
	t.Cleanup(server.Close)
	return s
}

func (s *stage) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.passed)
}

// pass moves the pages' clock.
func (s *stage) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed += d
}

// followLog starts the live boards and their match list, wired as in cmd. Call it
// before anything is stored. For the live boards, a match ends only once the
// signed log contains it, because pages look for an ended match in the signed log.
func (s *stage) followLog() {
	s.live = live.New(live.Options{
		Log: s.log, Logger: slog.New(slog.DiscardHandler),
		Running: func(ctx context.Context) ([]string, error) {
			err := s.listed.Sync(ctx)
			return nil, err
		},
		Ended: func(ctx context.Context, id string, at eventstore.Position) (matches.Summary, error) {
			if err := s.listed.Wait(ctx, at); err != nil {
				return matches.Summary{}, err
			}
			if err := s.logged.Sync(ctx); err != nil {
				return matches.Summary{}, err
			}
			m, _, err := s.list.Get(id)
			return m, err
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var ran sync.WaitGroup
	ran.Go(func() { s.live.Run(ctx) })
	ran.Go(func() { _ = s.listed.Run(ctx) })
	s.t.Cleanup(func() { cancel(); ran.Wait() })
	require.NoError(s.t, s.live.Ready(s.t.Context()))
}

// The method changed() wraps a handler. It counts streams. It also replaces talk, skips
// frames and delays responses if the fields of the stage request this. It computes win
// probabilities itself.
func (s *stage) changed(calls http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		talk := s.talk
		if r.URL.Path == "/live/stream" {
			s.streams++
		}
		busy := s.busy
		var hold func()
		if after := r.URL.Query().Get("after"); strings.HasSuffix(r.URL.Path, "/frames") && after != "" && after != "0" {
			hold, s.hold = s.hold, nil
		}
		s.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/stream") {
			w = &leaky{w, s}
		}
		if id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/matches/"), "/win-probability"); ok {
			s.winProbability(w, id, busy)
			return
		}
		if hold != nil {
			kept := httptest.NewRecorder()
			calls.ServeHTTP(kept, r)
			hold()
			maps.Copy(w.Header(), kept.Header())
			w.WriteHeader(kept.Code)
			_, _ = w.Write(kept.Body.Bytes())
			return
		}
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

// winProbability responds like the API, but with few play-outs, because the race detector
// makes them slow.
func (s *stage) winProbability(w http.ResponseWriter, id string, busy bool) {
	if busy {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"status":503,"code":"busy","detail":"the arena computes the win probability of another match: try again"}`))
		return
	}
	answer := rest.WinProbability{MatchID: id, Playouts: 5}
	h, err := frames.Read(context.Background(), s.log, id)
	if err == nil {
		m := match.Evolve(match.New(h.Proof.ServerSeed), h.Started)
		answer.Outlooks, err = stats.WinProbability(m, h.Events, answer.Playouts, func() error { return nil })
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// The type leaky is a response writer for a stream that skips frames.
type leaky struct {
	http.ResponseWriter
	stage *stage
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (l *leaky) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *leaky) Write(p []byte) (int, error) {
	l.stage.mu.Lock()
	dropped := l.stage.drop > 0 && bytes.HasPrefix(p, []byte("event: frame\n"))
	if dropped {
		l.stage.drop--
	}
	l.stage.mu.Unlock()
	if dropped {
		return len(p), nil
	}
	return l.ResponseWriter.Write(p)
}

// checkpoint signs the newest head of a mode's ladder tree.
func (s *stage) checkpoint(mode string) (size uint64, signed []byte, err error) {
	size, root, err := s.signed.LadderHead(context.Background(), mode)
	if err != nil {
		return 0, nil, err
	}
	signed, err = signedlog.Sign(signedlog.Head{Origin: signedlog.LadderOrigin("arena.example", mode), Size: size, Root: root}, headKey)
	return size, signed, err
}

// house implements web.Options.House.
func (s *stage) house(botID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ours[botID]
}

// seat starts a match between new bots, and waits until the live boards show it.
func (s *stage) seat(names ...string) *arenatest.Game {
	s.t.Helper()
	g := s.play.Seat(ladder.Standard, s.play.Register("ada", ladder.Standard, names...)...)[0]
	g.Start()
	s.settle()
	s.shown(g)
	return g
}

// The method settle() waits until the match list and the signed log have caught up with
// the log.
func (s *stage) settle() {
	require.NoError(s.t, s.logged.Sync(context.Background()))
	require.NoError(s.t, s.listed.Sync(context.Background()))
}

// The method ended() plays a match between new bots to its end, and rates it in the
// ladder.
func (s *stage) ended(names ...string) *arenatest.Game {
	s.t.Helper()
	g := s.seat(names...)
	g.PlayOut()
	g.Conclude()
	s.settle()
	return g
}

// The method shown() waits until the live boards show the latest event of a game.
func (s *stage) shown(g *arenatest.Game) {
	s.t.Helper()
	require.True(s.t, s.live.Await(s.t.Context(), g.MatchID))
	r, ok := s.live.Watch(g.MatchID, -1)
	require.True(s.t, ok)
	newest := fmt.Appendf(nil, "\nid: %d\n", g.State.Seq)
	for {
		records, more, ended := r.Take()
		for _, record := range records {
			if bytes.Contains(record, newest) {
				return
			}
		}
		require.False(s.t, ended, "the stream ended before the match was shown")
		<-more
	}
}

// roadsOf returns the number of roads on the board.
func roadsOf(g *arenatest.Game) int {
	n := 0
	for _, roads := range g.State.Game.Roads {
		n += roads.Len()
	}
	return n
}
