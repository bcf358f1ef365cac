package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/domain/ladder"
	"hexarena/projections/matches"
)

// front is a proxy in front of an arena. When the arena restarts on another port, the
// proxy's address and the origin of the heads stay the same.
type front struct {
	url    string
	target atomic.Pointer[url.URL]
}

// behindProxy puts an arena that has not started yet behind a proxy.
func (s *testArena) behindProxy() {
	s.front = &front{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if target := s.front.target.Load(); target != nil {
				r.SetURL(target)
			}
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(proxy)
	s.t.Cleanup(server.Close)
	s.front.url = server.URL
	s.flags = append(s.flags, "--base-url", server.URL)
}

func (f *front) passTo(t testing.TB, address string) {
	target, err := url.Parse(address)
	require.NoError(t, err)
	f.target.Store(target)
}

// savedHeads is a client of the standard ladder's tree that saves every checkpoint.
// Two heads of the same size must have the same bytes, and no head may be smaller
// than an earlier one, even if the arena was restarted between them.
type savedHeads struct {
	t        testing.TB
	tree     string // the tree's URL
	policy   torchwood.Policy
	watching sync.WaitGroup

	mu     sync.Mutex
	bySize map[int64][]byte
	trees  map[int64]tlog.Tree
	newest int64
}

func newSavedHeads(t testing.TB, base string) *savedHeads {
	return &savedHeads{
		t: t, tree: base + "/ladder/standard", policy: policyOf(verifierOf(t, base, ladder.Standard)),
		bySize: map[int64][]byte{}, trees: map[int64]tlog.Tree{},
	}
}

var errNoCheckpoint = errors.New("the arena serves no checkpoint")

// fetch saves the current head. While the arena is down or still reading its log, the
// error matches errNoCheckpoint.
func (h *savedHeads) fetch() (torchwood.Checkpoint, error) {
	h.mu.Lock()
	before := h.newest
	h.mu.Unlock()
	res, err := http.Get(h.tree + "/checkpoint")
	if err != nil {
		return torchwood.Checkpoint{}, fmt.Errorf("%w: %w", errNoCheckpoint, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", res.StatusCode)
	}
	if err != nil {
		return torchwood.Checkpoint{}, fmt.Errorf("%w: %w", errNoCheckpoint, err)
	}
	c, _, err := torchwood.VerifyCheckpoint(body, h.policy)
	if err != nil {
		return torchwood.Checkpoint{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	saved, known := h.bySize[c.N]
	switch {
	case c.N < before:
		return c, fmt.Errorf("a head of size %d after one of size %d", c.N, before)
	case known && string(saved) != string(body):
		return c, fmt.Errorf("two heads of size %d:\n%s\n%s", c.N, saved, body)
	}
	h.bySize[c.N], h.trees[c.N], h.newest = body, c.Tree, max(h.newest, c.N)
	return c, nil
}

// watch saves heads until the process ends. Heads change only when a table is seated or
// rated, which takes seconds, so it saves nearly all of them.
func (h *savedHeads) watch(p *process) {
	h.watching.Go(func() {
		often := time.NewTicker(100 * time.Millisecond)
		defer often.Stop()
		for {
			if _, err := h.fetch(); err != nil && !errors.Is(err, errNoCheckpoint) {
				h.t.Errorf("while the arena runs: %v", err)
			}
			select {
			case <-often.C:
			case <-p.exited:
				return
			}
		}
	})
}

// The method seated() requires that a served head includes the seating of the match
// that an upgrade request names. Bots call it during the upgrade.
func (h *savedHeads) seated(header http.Header) error {
	index, err := strconv.ParseInt(header.Get("x-arena-log-index"), 10, 64)
	if err != nil {
		return err
	}
	c, err := h.fetch()
	if err == nil && c.N <= index {
		err = fmt.Errorf("a bot is dialed for the seating at index %d, but the head has the size %d", index, c.N)
	}
	return err
}

// check requires that each saved head extends the next smaller one. It reads the
// proofs from the tiles of the running arena.
func (h *savedHeads) check(ctx context.Context) {
	h.t.Helper()
	fetcher, err := torchwood.NewTileFetcher(h.tree, torchwood.WithHTTPClient(http.DefaultClient))
	require.NoError(h.t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	sizes := slices.Sorted(maps.Keys(h.trees))
	for i, size := range sizes {
		if i == 0 || sizes[i-1] == 0 {
			continue
		}
		earlier, later := h.trees[sizes[i-1]], h.trees[size]
		proof, err := tlog.ProveTree(later.N, earlier.N, torchwood.TileHashReaderWithContext(ctx, later, fetcher))
		require.NoError(h.t, err)
		require.NoError(h.t, tlog.CheckTree(proof, later.N, later.Hash, earlier.N, earlier.Hash))
	}
}

// The test kills the arena after each step of seating a table. The steps are to store
// the seating, to fold it, to include it in a signed head, and to dial the bots.
// After a restart, the match is played. No bot is dialed before a head includes its
// seating, and every head that a client has saved stays valid.
func TestKill9BetweenSeatingAndDialing(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"seated", atFolded, atSigned, "dialed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newTestArena(t, "--tick", "250ms", "--rest-standard", "1h", "--decision-standard", "30s")
			s.behindProxy()
			if point == atFolded || point == atSigned {
				s.env = []string{holdAt + "=" + point}
			}
			s.start()
			heads := newSavedHeads(t, s.base())
			heads.watch(s.arena)
			var dialed atomic.Int32
			players := goodPlayers(t, 3, &eventTrigger{})
			for _, p := range players {
				p.upgrade = func(header http.Header) {
					first := dialed.Add(1) == 1
					if err := heads.seated(header); err != nil && (first || !errors.Is(err, errNoCheckpoint)) {
						t.Errorf("upgrade: %v", err)
					}
					if point == "dialed" && first {
						s.arena.killAfter(0)
					}
				}
			}
			s.join(players[:2]...)
			release := func() {}
			if point == "seated" {
				release = lockSignedLog(t, s.data) // lock late: the read model waits only 10 s for the lock
			}
			s.join(players[2])
			switch point {
			case "seated":
				require.Equal(t, 1, s.awaitSeating())
				require.False(t, s.folded())
			case atFolded:
				s.arena.await("held at folded")
				require.Equal(t, 1, s.awaitSeating())
				require.True(t, s.folded())
			case atSigned:
				s.arena.await("held at signed")
				c, err := heads.fetch()
				require.NoError(t, err)
				require.EqualValues(t, 1, c.N)
			case "dialed":
				s.arena.awaitExit()
			}
			if point == "seated" || point == atFolded {
				c, err := heads.fetch()
				require.NoError(t, err)
				require.Zero(t, c.N)
			}
			s.arena.kill()
			if point != "dialed" {
				require.Zero(t, dialed.Load())
			}
			release()
			heads.watching.Wait()

			s.env = nil
			s.start()
			heads.watch(s.arena)
			eventually(t, "the match is rated", func() bool { return len(s.list(matches.Completed)) == 1 })
			eventually(t, "a head includes the result", func() bool { // the list may show the result earlier
				c, err := heads.fetch()
				return err == nil && c.N == 2
			})
			heads.check(t.Context())
			history := s.settle()
			heads.watching.Wait()
			require.Len(t, history.order, 1)
			require.Len(t, history.rated, 1)
			compared, _ := history.audit(t, s.players)
			t.Logf("%d heads saved, %d public events equal to those of a run without a kill", len(heads.bySize), compared)
		})
	}
}

// lockSignedLog locks the file of the signed log's rows, so that the read model
// cannot commit. The arena waits for the lock for 10 s.
func lockSignedLog(t testing.TB, data string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "projections", "signedlog.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	return func() { require.NoError(t, errors.Join(conn.Close(), db.Close())) }
}

// awaitSeating waits until the standard ladder has an event, and returns the number
// of its events.
func (s *testArena) awaitSeating() int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for {
		var page struct{ Size int }
		s.get("/ladder/standard/events", &page)
		if page.Size > 0 || ctx.Err() != nil {
			return page.Size
		}
	}
}

// The method folded() reports whether the signed log's rows include the first event of
// the standard ladder.
func (s *testArena) folded() bool {
	s.t.Helper()
	res, err := http.Get(s.base() + "/ladder/standard/tile/entries/000.p/1")
	require.NoError(s.t, err)
	defer res.Body.Close()
	require.Contains(s.t, []int{http.StatusOK, http.StatusNotFound}, res.StatusCode)
	return res.StatusCode == http.StatusOK
}
