package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api/apitest"
	"hexarena/cmd/arena/demo"
	"hexarena/domain/ladder"
	"hexarena/projections/matches"
)

// testArena is an arena with its own data folder. The owners of its bots use only
// REST. A test may stop and start the process several times on the same folder.
type testArena struct {
	t       testing.TB
	data    string
	flags   []string
	env     []string
	files   int      // see processOptions
	arena   *process // the current process
	front   *front   // nil: callers connect to the process itself
	owners  []*demo.Owner
	players []*testBot
}

func newTestArena(t testing.TB, flags ...string) *testArena {
	return &testArena{t: t, data: t.TempDir(), flags: flags}
}

// start starts the arena, with additional flags if there are any.
func (s *testArena) start(flags ...string) {
	s.t.Helper()
	s.launch(flags...)
	base := s.arena.await(`Hex Arena is at (https?://\S+)`)[1]
	if s.front != nil {
		s.front.passTo(s.t, s.arena.await(`API on (http://\S+)`)[1])
	}
	for _, o := range s.owners {
		o.Base = base
	}
}

// launch starts the arena without waiting for it.
func (s *testArena) launch(flags ...string) {
	args := []string{"serve", "--data", s.data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0"}
	s.arena = launchIn(s.t, processOptions{env: s.env, files: s.files}, append(append(args, s.flags...), flags...)...)
}

// stop ends the arena gracefully.
func (s *testArena) stop() {
	s.t.Helper()
	s.arena.end(syscall.SIGTERM)
}

func (s *testArena) base() string {
	return s.arena.await(`Hex Arena is at (https?://\S+)`)[1]
}

// owner signs up another owner.
func (s *testArena) owner() *demo.Owner {
	s.t.Helper()
	name := fmt.Sprintf("owner-%d", len(s.owners)+1)
	o := &demo.Owner{Base: s.base()}
	require.NoError(s.t, o.SignUp(s.t.Context(), filepath.Join(s.data, "mail"), name+"@example.org", name))
	s.owners = append(s.owners, o)
	return o
}

// join registers bots on the standard ladder in the given order, five for each owner.
func (s *testArena) join(players ...*testBot) {
	s.t.Helper()
	for _, p := range players {
		if len(s.players)%5 == 0 {
			s.owner()
		}
		s.players = append(s.players, p)
		owner := s.owners[len(s.owners)-1]
		require.NoError(s.t, owner.Register(s.t.Context(), p.name, ladder.Standard, p.url), p.name)
	}
}

// retire pauses every bot.
func (s *testArena) retire() {
	s.t.Helper()
	s.setStatus("paused")
}

// setStatus pauses or unpauses every bot.
func (s *testArena) setStatus(status string) {
	s.t.Helper()
	for _, o := range s.owners {
		var list struct{ Bots []struct{ ID string } }
		s.must(o.Call(s.t.Context(), http.MethodGet, "/bots", nil, &list))
		for _, b := range list.Bots {
			s.must(o.Call(s.t.Context(), http.MethodPatch, "/bots/"+b.ID, map[string]string{"status": status}, nil))
		}
	}
}

func (s *testArena) must(err error) {
	s.t.Helper()
	require.NoError(s.t, err)
}

// get reads a public resource. It requires that the response matches the arena's own
// OpenAPI description.
func (s *testArena) get(path string, answer any) {
	s.t.Helper()
	res, err := http.Get(s.base() + path)
	s.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	s.must(err)
	require.Equal(s.t, http.StatusOK, res.StatusCode, "%s: %s", path, body)
	contract, err := contractOf(s.t.Context(), http.DefaultClient, s.base())
	s.must(err)
	s.must(contract.Judge(http.MethodGet, path, apitest.Answer{Status: res.StatusCode, Header: res.Header, Body: body}))
	s.must(json.Unmarshal(body, answer))
}

// The method list() returns the matches with a status.
func (s *testArena) list(status string) []matches.Summary {
	s.t.Helper()
	var list struct{ Matches []matches.Summary }
	s.get("/matches?limit=200&status="+status, &list)
	return list.Matches
}

// awaitRunning waits until the list of matches contains a running match, and returns
// the match. The bots of a match may get requests before the list contains it.
func (s *testArena) awaitRunning() (running matches.Summary) {
	s.t.Helper()
	eventually(s.t, "a match is running", func() bool {
		list := s.list(matches.Running)
		if len(list) > 0 {
			running = list[0]
		}
		return len(list) > 0
	})
	return running
}

// awaitRated waits until the given number of matches have been rated.
func (s *testArena) awaitRated(n int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprint(n, " matches are rated"), func() bool { return len(s.list(matches.Completed)) >= n })
}

// finish waits until the given number of matches have been rated and no match is
// running. If bots can be seated again at once, pause them first: otherwise, some
// match may always be running.
func (s *testArena) finish(rated int) {
	s.t.Helper()
	eventually(s.t, "all matches are rated", func() bool {
		return len(s.list(matches.Completed)) >= rated && len(s.list(matches.Running)) == 0
	})
}

// settle pauses the bots, waits until all matches have ended, and stops the arena. A
// tick may seat a table while the last bot is being paused. In that case, settle
// starts the arena again to play that table.
func (s *testArena) settle() *matchHistory {
	s.t.Helper()
	s.retire()
	for {
		s.finish(0)
		s.stop()
		c := readHistory(s.t, s.data)
		if len(c.unfinished) == 0 {
			return c
		}
		s.start()
		s.awaitEnd(c.unfinished)
	}
}

// awaitHeads waits until the signed log and the ladder's tree include all events that were
// in the log at the start. Before that, both respond with 503.
func (s *testArena) awaitHeads() {
	s.t.Helper()
	for _, path := range []string{"/log/standard/head", "/ladder/standard/checkpoint"} {
		eventually(s.t, path+" is up to date", func() bool {
			status, _ := fetch(s.t, s.base()+path)
			return status == http.StatusOK
		})
	}
}

// awaitEnd waits until matches have ended. Unlike finish, it also waits for tables that are
// seated, but whose matches have not started.
func (s *testArena) awaitEnd(ids []string) {
	s.t.Helper()
	for _, id := range ids {
		eventually(s.t, "match "+id+" has ended", func() bool {
			status, body := fetch(s.t, s.base()+"/matches/"+id)
			return status == http.StatusOK && !strings.Contains(body, `"status":"running"`) || strings.Contains(body, "was voided before it started")
		})
	}
}
