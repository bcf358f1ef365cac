package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/matches"
	"hexarena/projections/readmodels"
)

// judge ends the play on the cluster, and checks what the scenarios have in common:
//
//   - Each match is rated once, and no bot was in two matches or got a strike. The
//     replays are those of undisturbed runs.
//   - The log has each acknowledged change of an owner once.
//   - Both arenas show the same as a new arena on the same log, and their read models
//     equal rebuilt ones.
//   - `arena verify --ladder` accepts both arenas. All heads that they have signed are
//     consistent.
func (p *clusterPlay) judge() {
	p.t.Helper()
	shows := func(i int) map[string]string {
		p.reach(i)
		return p.shows()
	}
	var shown map[string]string
	for i := range p.arenas {
		// The first arena may be behind, too.
		eventually(p.t, "the arenas show the same", func() bool {
			shown = shows(0)
			return maps.Equal(shown, shows(i))
		})
		_, errOut, status := call("verify", "--ladder", ladder.Standard, "--arena", p.base())
		require.Zero(p.t, status, errOut)
	}
	p.judgeHeads()
	p.stop()
	p.cluster.Save(filepath.Join(p.data, "node"))
	h := readHistory(p.t, p.data)
	h.lossy = p.lossy
	require.Len(p.t, h.order, p.played)
	compared, claims := h.audit(p.t, p.players)
	stale := 0
	for _, b := range p.players {
		for _, m := range b.games {
			stale += m.stale
		}
	}
	require.Zero(p.t, stale, "requests from a process that no longer plays the match")
	log, closeLog := openLog(p.t, p.data)
	p.judgeWrites(log)
	for _, a := range p.arenas {
		judgeReadModels(p.t, log, a.data)
	}
	closeLog()
	p.judgeRebuild(shown)
	p.t.Logf("%d matches rated, %d claims, %d public events equal to those of undisturbed runs, %d owners' changes", len(h.order), claims, compared, len(p.writes))
}

// shows returns what the reached arena shows to everyone.
func (p *clusterPlay) shows() map[string]string {
	p.t.Helper()
	shown := map[string]string{}
	paths := []string{"/matches?limit=200", "/leaderboard", "/ladder/standard/checkpoint", "/ladder/standard/events", "/log/standard/head", "/log/keys"}
	for _, m := range p.list(matches.Completed) {
		paths = append(paths, "/matches/"+m.ID)
	}
	for _, path := range paths {
		status, body := fetch(p.t, p.base()+path)
		shown[path] = fmt.Sprint(status, " ", body)
	}
	return shown
}

// judgeHeads requires that no two heads of the arenas contradict each other.
func (p *clusterPlay) judgeHeads() {
	p.t.Helper()
	all := p.heads[0]
	all.mu.Lock()
	for _, h := range p.heads[1:] {
		h.mu.Lock()
		for size, body := range h.bySize {
			if earlier, both := all.bySize[size]; both {
				require.Equal(p.t, string(earlier), string(body))
			}
			all.bySize[size], all.trees[size] = body, h.trees[size]
		}
		h.mu.Unlock()
	}
	all.mu.Unlock()
	all.check(p.t.Context())
}

// judgeWrites requires that the log has each change once. If the cluster has lost events,
// a change may be missing.
func (p *clusterPlay) judgeWrites(log eventstore.Log) {
	p.t.Helper()
	found := make([]int, len(p.writes))
	for m, err := range log.Subscribe(p.t.Context(), 0, eventstore.Filter{StreamPrefixes: []string{owner.AccountPrefix}}) {
		require.NoError(p.t, err)
		if m.CaughtUp {
			break
		}
		if m.Event == nil {
			continue
		}
		e, err := owner.Decode(m.Event.Type, m.Event.Data)
		require.NoError(p.t, err)
		for i, w := range p.writes {
			if w.is(string(m.Event.Stream), e) {
				found[i]++
			}
		}
	}
	for i, w := range p.writes {
		if p.lossy {
			require.LessOrEqual(p.t, found[i], 1+w.too, w.what)
		} else {
			require.Equal(p.t, 1+w.too, found[i], w.what)
		}
	}
}

// judgeReadModels requires that the read models in a data folder equal rebuilt ones.
func judgeReadModels(t *testing.T, log eventstore.Log, data string) {
	t.Helper()
	rebuilt := readmodels.New(log).All()
	for i, m := range readmodels.New(log).All() {
		kept, err := projections.Open(filepath.Join(data, "projections"), log, m, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, kept.Sync(t.Context()))
		again := arenatest.Follow(t, log, rebuilt[i])
		require.NoError(t, again.Sync(t.Context()))
		require.Less(t, kept.Folded(), max(again.Folded(), 1), "%s was rebuilt when it was opened", m.Name())
		require.Equal(t, arenatest.Dump(t, again), arenatest.Dump(t, kept), m.Name())
		require.NoError(t, kept.Close())
	}
}

// judgeRebuild requires that a new arena on the log shows the same as the others did.
func (p *clusterPlay) judgeRebuild(shown map[string]string) {
	p.t.Helper()
	fresh := newTestArena(p.t, p.arenas[0].flags...)
	fresh.front = p.front
	fresh.flags = append(fresh.flags, "--eventstore", "", "--no-play")
	require.NoError(p.t, os.CopyFS(filepath.Join(fresh.data, "node"), os.DirFS(filepath.Join(p.data, "node"))))
	fresh.start()
	p.arena = fresh.arena
	fresh.awaitHeads()
	for path, body := range p.shows() {
		require.Equal(p.t, shown[path], body, path)
	}
	fresh.stop()
}
