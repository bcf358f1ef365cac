package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/simulate"
	"hexarena/domain/ladder"
	"hexarena/eventstore/logtest"
)

// passings maps the beginning of a stream's name to the most passings until a crash.
var passings = map[string]int{"match-": 200, "ladder-": 3, "snapshot-": 2, "arena-": 4, "owner-": 3}

// crashedStreams lists for each point the streams at which processes crash. At points
// without a list, any passing counts.
var crashedStreams = map[simulate.Point][]string{
	simulate.BeforeAppend: {"match-", "ladder-", "snapshot-", "arena-", "owner-"},
	simulate.AfterAppend:  {"match-", "ladder-", "snapshot-", "arena-", "owner-"},
	simulate.AfterAnswer:  {"match-", "ladder-", "snapshot-", "arena-", "owner-"},
	simulate.BeforeRead:   {"match-", "ladder-", "snapshot-", "$all"},
}

// crashed is one row of the table that the tests print.
type crashed struct {
	point      simulate.Point
	hits       int
	streams    map[string]int // hits by the beginning of the stream's name
	answered   int            // acknowledged events, which the judge has looked for in the log
	unanswered int            // events of appends that had no answer when the process died
	stored     int            // those of them that the log has stored
	lost       int            // acknowledged events that are not in the log
	doubled    int            // events that are in the log twice
	matches    int
}

func (r *crashed) hit(c crash) {
	r.hits++
	r.streams[c.Stream]++
}

// drill lets processes crash at a point.
type drill struct {
	t     *testing.T
	rng   *rand.Rand
	notes string
	mu    sync.Mutex
	row   crashed
}

func newDrill(t *testing.T, rng *rand.Rand, p simulate.Point) *drill {
	return &drill{t: t, rng: rng, notes: filepath.Join(t.TempDir(), "notes"), row: crashed{point: p, streams: map[string]int{}}}
}

// next returns the next crash, as an environment variable.
func (d *drill) next(stream string) (c crash, env string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := passings[stream]
	switch {
	case d.row.point == simulate.BeforeRead:
		most = 2 // an arena that starts reads each of these streams at least twice
	case most == 0:
		most = 60
	}
	c = crash{Point: d.row.point, Stream: stream, Passing: 1 + d.rng.IntN(most), Notes: d.notes}
	return c, d.env(c)
}

func (d *drill) env(c crash) string {
	text, err := json.Marshal(c)
	require.NoError(d.t, err)
	return crashAt + "=" + string(text)
}

// start starts an arena that takes notes and does not crash.
func (d *drill) start(s *testArena) {
	s.env = []string{d.env(crash{Notes: d.notes})}
	s.start()
}

// crash starts an arena that crashes, and waits for its end. It calls started with a
// context of the process if the arena prints its addresses before that.
func (d *drill) crash(s *testArena, stream string, started func(ctx context.Context)) {
	c, env := d.next(stream)
	s.env = []string{env}
	s.launch()
	p := s.arena
	ctx, stop := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if p.printed(`API on http://\S+`) {
			started(ctx)
		}
	})
	p.awaitExit()
	stop()
	running.Wait()
	d.requireCrash(p, c)
}

func (d *drill) requireCrash(p *process, c crash) {
	d.t.Helper()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.Equal(d.t, syscall.SIGKILL, status.Signal(), "%s", last(p.err.String(), 2000))
	require.Regexp(d.t, `(?m)^crashes `+string(c.Point)+` of "`+regexp.QuoteMeta(c.Stream), p.out.String())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.row.hit(c)
}

// printed waits until the output of the process matches a pattern. It returns false if the
// process ends before that.
func (p *process) printed(pattern string) bool {
	find := regexp.MustCompile(pattern)
	for {
		text, grown := p.out.read()
		if find.MatchString(text) {
			return true
		}
		select {
		case <-grown:
		case <-p.exited:
			return false
		}
	}
}

// switcher is an owner who pauses and unpauses a bot that no table seats.
type switcher struct {
	s       *testArena
	botID   string
	status  string // what the arena last acknowledged
	changes int    // acknowledged changes
}

func newSwitcher(s *testArena) *switcher {
	w := &switcher{s: s, status: "active"}
	p := newTestBot(s.t, "switched")
	require.NoError(s.t, s.owners[0].Register(s.t.Context(), p.name, ladder.Parley, p.url))
	for r := range s.bots() {
		if r.Name == p.name {
			w.botID = r.ID
		}
	}
	require.NotEmpty(s.t, w.botID)
	return w
}

// run changes the status until ctx ends.
func (w *switcher) run(ctx context.Context) {
	w.s.front.passTo(w.s.t, w.s.arena.await(`API on (http://\S+)`)[1])
	often := time.NewTicker(100 * time.Millisecond)
	defer often.Stop()
	for next := "paused"; ; {
		err := w.s.owners[0].Call(ctx, http.MethodPatch, "/bots/"+w.botID, map[string]string{"status": next}, nil)
		if err == nil && next != w.status {
			w.status = next
			w.changes++
		}
		if next = "paused"; w.status == next {
			next = "active"
		}
		select {
		case <-ctx.Done():
			return
		case <-often.C:
		}
	}
}

// crashOneArena lets an arena with an embedded node crash at a point.
func crashOneArena(t *testing.T, rng *rand.Rand, point simulate.Point, hits int) crashed {
	d := newDrill(t, rng, point)
	s := newTestArena(t, quick...)
	s.behindProxy()
	s.start()
	s.join(goodPlayers(t, 8, &eventTrigger{})...)
	w := newSwitcher(s)
	s.stop()
	streams := crashedStreams[point]
	if streams == nil {
		streams = []string{""}
	}
	for _, stream := range streams {
		for range hits {
			d.crash(s, stream, w.run)
		}
	}
	d.start(s)
	c := s.settle()
	c.audit(t, s.players)
	d.judge(s, c, s.data)
	d.judgeSwitches(s, w)
	return d.row
}

// crashTwoArenas lets two arenas on one node crash at a point. Only the node can crash
// after an append, so it crashes instead of the arenas.
func crashTwoArenas(t *testing.T, rng *rand.Rand, point simulate.Point, hits int) crashed {
	d := newDrill(t, rng, point)
	f := newFleet(t, 2, 8, time.Millisecond)
	crashes := hits
	if point == simulate.AfterAppend {
		crashes = 0
	}
	var both sync.WaitGroup
	for i, a := range f.arenas {
		a.arena.kill()
		both.Go(func() {
			for range (crashes + i) / 2 {
				d.crash(a, "", func(context.Context) {})
			}
			d.start(a)
		})
	}
	both.Wait()
	for range hits - crashes {
		d.crashNode(f)
	}
	last, data := f.arenas[0], filepath.Dir(f.node.data)
	f.settle()
	s := &testArena{t: t, data: data, flags: append(slices.Clone(quick), "--secrets", filepath.Join(data, "secrets.json")), owners: last.owners}
	c := readHistory(t, data)
	d.judge(s, c, f.arenas[0].data, f.arenas[1].data)
	return d.row
}

// crashNode starts a node that crashes while arenas play on it.
func (d *drill) crashNode(f *fleet) {
	f.node.process.end(syscall.SIGTERM)
	c, env := d.next("")
	p := launchIn(d.t, processOptions{env: []string{env}}, "node", "--listen", "127.0.0.1:0", "--data", f.node.data)
	f.reachNode(p.await(`event store on esdb://(\S+)\?`)[1])
	p.awaitExit()
	d.requireCrash(p, c)
	f.reachNode(f.node.start())
}

func (f *fleet) reachNode(address string) {
	f.node.proxy.SetTarget(address)
	for _, p := range f.proxies {
		p.SetTarget(address)
	}
}

// Arenas crash at each named point of the simulation, once.
func TestCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	d := newDrill(t, rng, "")
	s := newTestArena(t, quick...)
	s.behindProxy()
	s.start()
	s.join(goodPlayers(t, 4, &eventTrigger{})...)
	w := newSwitcher(s)
	s.stop()
	for _, point := range simulate.Points {
		d.row.point = point
		d.crash(s, "", w.run)
	}
	d.start(s)
	c := s.settle()
	c.audit(t, s.players)
	d.judge(s, c, s.data)
	d.judgeSwitches(s, w)
	t.Logf("%d crashes, %d acknowledged events, %d of %d events without an answer are stored, %d matches rated", d.row.hits, d.row.answered, d.row.stored, d.row.unanswered, d.row.matches)
}

// Arenas and nodes crash at each named point of the simulation, at least ten times at
// each. The test prints a table.
func TestSoakCrashesAtEveryPoint(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	const hits = 10
	rng := logtest.Random(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-13s  %-10s  %4s  %4s  %7s  %8s  %10s  %6s  %7s  %s\n", "point", "processes", "hits", "lost", "doubled", "answered", "unanswered", "stored", "matches", "streams")
	for _, kind := range []struct {
		name  string
		crash func(*testing.T, *rand.Rand, simulate.Point, int) crashed
	}{{"one arena", crashOneArena}, {"two arenas", crashTwoArenas}} {
		for _, point := range simulate.Points {
			t.Run(kind.name+", "+string(point), func(t *testing.T) {
				r := kind.crash(t, rng, point, hits)
				row := fmt.Sprintf("%-13s  %-10s  %4d  %4d  %7d  %8d  %10d  %6d  %7d  %v", r.point, kind.name, r.hits, r.lost, r.doubled, r.answered, r.unanswered, r.stored, r.matches, r.streams)
				t.Log(row)
				fmt.Fprintln(&table, row)
				require.GreaterOrEqual(t, r.hits, hits)
			})
		}
	}
	t.Logf("crashes of real processes:\n%s", table.String())
}
