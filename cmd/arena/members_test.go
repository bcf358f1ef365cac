package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	domain "hexarena/domain/arena"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

// These are the longest times until a match continues on another process, if the machine
// is not too busy. Only the long test requires them.
const (
	gracefulHandover = 2 * time.Second
	killedHandover   = 20 * time.Second
)

// These are the largest numbers of heartbeats that another arena stores until the matches of
// an arena belong to others. Unlike times, they hold on a busy machine, too. Usually, there
// are at most 1 and 3 of them.
const (
	gracefulBeats = 3
	killedBeats   = 5
)

// fleet is several arenas that play on one node. Each of them reaches the node through a
// proxy of its own.
type fleet struct {
	t       *testing.T
	node    *nodeProcess
	log     eventstore.Log
	arenas  []*testArena
	proxies []*outage.Proxy
	players []*testBot
	think   atomic.Int64 // how long the bots take for each answer, in nanoseconds

	answers sync.RWMutex // while it is locked, the bots hold back their answers

	// These fields may be written while answers is locked. The bots of the match kept hold
	// back their answers until keep is closed.
	kept string
	keep chan struct{}

	mu       sync.Mutex
	upgrades map[string][]time.Time // by match
	held     map[string]int         // how many answers are held back, by match
	faults   []handover
}

// handover is the end of a process, and the matches that it played.
type handover struct {
	at       time.Time
	after    eventstore.Position // the end of the log just before
	member   string
	graceful bool
	matches  []string
}

// newFleet starts a node and n arenas. The bots take the given time for each answer.
func newFleet(t *testing.T, n, bots int, think time.Duration) *fleet {
	data := t.TempDir()
	f := &fleet{t: t, node: newNodeProcessIn(t, filepath.Join(data, "node")), upgrades: map[string][]time.Time{}, held: map[string]int{}}
	log, err := esdb.Open(f.node.connection(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	f.log = log
	for range n {
		proxy := outage.New(t, f.node.proxy.Target())
		a := newTestArena(t, quick...)
		a.flags = append(a.flags, "--eventstore", "esdb://"+proxy.Address()+"?tls=false",
			"--secrets", filepath.Join(data, "secrets.json"), "--mail", "file:"+filepath.Join(data, "mail"))
		a.start()
		f.arenas, f.proxies = append(f.arenas, a), append(f.proxies, proxy)
	}
	first := *f.arenas[0]
	first.data = data // contains the emails
	f.players = goodPlayers(t, bots, &eventTrigger{})
	f.think.Store(int64(think))
	for _, p := range f.players {
		p.upgrade = f.upgraded
		p.hold = func(r *match.Request) { pause(time.Duration(f.think.Load())); f.awaitTurn(r.MatchID) }
	}
	first.join(f.players...)
	for _, a := range f.arenas {
		a.owners = first.owners
	}
	return f
}

func (f *fleet) upgraded(h http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := h.Get("x-arena-match")
	f.upgrades[id] = append(f.upgrades[id], time.Now())
}

// awaitTurn waits until the bots may answer. Until then, the answer counts as held back.
func (f *fleet) awaitTurn(matchID string) {
	count := func(n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held[matchID] += n
	}
	count(1)
	f.answers.RLock()
	if matchID != f.kept {
		defer f.answers.RUnlock()
		count(-1) // before the lock is released, so that whileBotsThink does not count this answer
		return
	}
	keep := f.keep
	f.answers.RUnlock()
	<-keep
	count(-1)
}

// keepMatch keeps a match of an arena from ending: its bots hold back their answers until
// release is called. Call it only in the function act of whileBotsThink, which locks answers.
func (f *fleet) keepMatch(i int) (release func()) {
	assigned, keep := f.shares()[f.member(i)], make(chan struct{})
	require.NotEmpty(f.t, assigned)
	f.kept, f.keep = assigned[0], keep
	return func() { close(keep) }
}

// whileBotsThink calls act while every match of an arena waits for its bots, so the arena
// is sending no requests and ending no matches. The bots hold back their answers for a few
// seconds only, because decisions have a time limit. If some match is not ready by then,
// whileBotsThink tries again.
func (f *fleet) whileBotsThink(i int, act func()) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("all matches of arena %d wait for their bots", i), func() bool {
		f.answers.Lock()
		defer f.answers.Unlock()
		before := 0
		for began := time.Now(); time.Since(began) < 5*time.Second; {
			held := f.answersTo(i)
			if held > 0 && held == before { // so most likely, no request of a batch is on its way
				act()
				return true
			}
			before = held
			pause(500 * time.Millisecond)
		}
		return false
	})
}

// answersTo returns how many answers to an arena the bots hold back. If they hold back none
// in one of its matches, the result is 0.
func (f *fleet) answersTo(i int) (held int) {
	assigned := f.shares()[f.member(i)]
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range assigned {
		if f.held[id] == 0 {
			return 0
		}
		held += f.held[id]
	}
	return held
}

// member returns the id under which an arena takes part.
func (f *fleet) member(i int) string {
	id, err := os.ReadFile(filepath.Join(f.arenas[i].data, "player.id"))
	require.NoError(f.t, err)
	return strings.TrimSpace(string(id))
}

// shares returns the newest assignments.
func (f *fleet) shares() map[string][]string {
	shares := map[string][]string{}
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for r, err := range f.log.Read(ctx, domain.AssignmentsStream, 0, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		e, err := domain.DecodeAssignments(r.Type, r.Data)
		require.NoError(f.t, err)
		for _, s := range e.(domain.MatchesAssigned).Shares {
			shares[s.Member] = s.Matches
		}
	}
	return shares
}

// seats returns the number of the arena that holds the lease.
func (f *fleet) seats() int {
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for r, err := range f.log.Read(ctx, domain.PlayerStream, 0, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		e, err := domain.DecodePlayer(r.Type, r.Data)
		require.NoError(f.t, err)
		holder := domain.EvolvePlayer(domain.Player{}, e, time.Time{}).Holder
		for i := range f.arenas {
			if f.member(i) == holder {
				return i
			}
		}
	}
	require.Fail(f.t, "nobody seats")
	return -1
}

// running returns the matches that an arena is playing: they are assigned to it and
// their bots have been dialed. Some of them may just have ended.
func (f *fleet) running(i int) (list []string) {
	assigned := f.shares()[f.member(i)]
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range assigned {
		if len(f.upgrades[id]) > 0 {
			list = append(list, id)
		}
	}
	return list
}

// fails records that an arena ends now.
func (f *fleet) fails(i int, graceful bool, end func()) handover {
	h := handover{graceful: graceful, member: f.member(i), matches: f.running(i)}
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	var err error
	h.after, err = eventstore.Head(ctx, f.log)
	require.NoError(f.t, err)
	end()
	h.at = time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, h)
	return h
}

// resumed returns how long each match of a handover waited for its next dial. Matches
// that ended at the same time as the process are missing. If the next process of a match
// ended before it dialed, the match counts only for that handover.
func (f *fleet) resumed(h handover) (waits []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range h.matches {
		i := slices.IndexFunc(f.upgrades[id], func(at time.Time) bool { return at.After(h.at) })
		if i < 0 {
			continue
		}
		dialed := f.upgrades[id][i]
		if !slices.ContainsFunc(f.faults, func(next handover) bool {
			return next.at.After(h.at) && next.at.Before(dialed) && slices.Contains(next.matches, id)
		}) {
			waits = append(waits, dialed.Sub(h.at))
		}
	}
	return waits
}

// requireMoved requires that the matches of a handover went to other arenas before any of
// these had stored more than the given number of heartbeats.
func (f *fleet) requireMoved(h handover, most int) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	beats, longest := map[string]int{}, 0
	for r, err := range f.log.ReadAll(ctx, h.after, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		switch r.Type {
		case domain.MemberSeen{}.EventType():
			if id := string(r.Stream); id != domain.MemberStream(h.member) {
				beats[id]++
				longest = max(longest, beats[id])
			}
		case domain.MatchesAssigned{}.EventType():
			e, err := domain.DecodeAssignments(r.Type, r.Data)
			require.NoError(f.t, err)
			assigned := domain.EvolveAssignments(domain.Assignments{}, e, time.Time{})
			if slices.ContainsFunc(h.matches, func(id string) bool { return assigned.MemberOf(id) == h.member }) {
				continue
			}
			f.t.Logf("the matches of %s moved after %d heartbeats of another process", h.member, longest)
			require.LessOrEqual(f.t, longest, most)
			return
		}
	}
	require.Fail(f.t, "the matches of "+h.member+" did not move")
}

// awaitShare waits until an arena plays at least one match.
func (f *fleet) awaitShare(i int) {
	eventually(f.t, fmt.Sprintf("arena %d plays", i), func() bool { return len(f.running(i)) > 0 })
}

// awaitMoved waits until no match that is running belongs to an arena.
func (f *fleet) awaitMoved(i int) {
	eventually(f.t, fmt.Sprintf("the matches of arena %d move", i), func() bool { return len(f.running(i)) == 0 })
}

// settle lets all matches end, stops everything, and checks the log and the bots'
// memories.
func (f *fleet) settle() (rated, compared, claims int) {
	f.think.Store(0) // so that the matches end soon
	last := f.arenas[0]
	for _, o := range last.owners {
		o.Base = last.base()
	}
	last.retire()
	last.finish(0)
	for _, a := range f.arenas[1:] {
		a.stop()
	}
	s := &testArena{t: f.t, data: filepath.Dir(f.node.data), arena: last.arena, owners: last.owners, flags: last.flags}
	c := f.node.settle(s)
	compared, claims = c.audit(f.t, f.players)
	stale := 0
	for _, p := range f.players {
		for _, m := range p.games {
			stale += m.stale
		}
	}
	require.Zero(f.t, stale, "requests from a process that no longer plays the match")
	return len(c.order), compared, claims
}

// report prints the times of handovers, and returns their 99th percentile.
func report(t *testing.T, what string, waits []time.Duration) (p99 time.Duration) {
	t.Helper()
	require.NotEmpty(t, waits, what)
	slices.Sort(waits)
	p99 = waits[(len(waits)*99+99)/100-1]
	t.Logf("%s: %d matches continued on another process; median %v, p99 %v, max %v", what, len(waits),
		waits[len(waits)/2].Round(time.Millisecond), p99.Round(time.Millisecond), waits[len(waits)-1].Round(time.Millisecond))
	return p99
}

// Three arenas share the matches. The one that seats is killed while another one is
// paused for 20 s. The third one continues all matches. Then it stops gracefully, and
// the paused one continues them.
func TestProcessesShareTheMatches(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 12, 20*time.Millisecond)
	for i := range f.arenas {
		f.awaitShare(i)
	}
	dead := f.seats()
	paused, left := (dead+1)%3, (dead+2)%3
	var stopped handover
	f.whileBotsThink(paused, func() {
		stopped = f.fails(paused, false, func() { f.arenas[paused].arena.signal(syscall.SIGSTOP) })
	})
	ended := time.Now()
	killed := f.fails(dead, false, f.arenas[dead].arena.kill)
	f.awaitMoved(dead)
	f.awaitMoved(paused)
	pause(killedHandover - time.Since(ended))
	f.arenas[paused].arena.signal(syscall.SIGCONT)
	f.awaitShare(paused)
	var release func() // lets the bots of the kept match answer again
	f.whileBotsThink(left, func() { release = f.keepMatch(left) })
	graceful := f.fails(left, true, func() { f.arenas[left].arena.signal(syscall.SIGTERM) })
	<-f.arenas[left].arena.exited
	release()
	f.awaitMoved(left)
	f.requireMoved(killed, killedBeats)
	f.requireMoved(stopped, killedBeats)
	f.requireMoved(graceful, gracefulBeats)
	for _, i := range []int{dead, left} {
		f.arenas[i].start()
	}
	rated, compared, claims := f.settle()
	report(t, "killed or paused", append(f.resumed(killed), f.resumed(stopped)...))
	report(t, "stopped gracefully", f.resumed(graceful))
	t.Logf("%d matches rated, %d claims, %d public events equal to those of undisturbed runs", rated, claims, compared)
}

// Three arenas play 24 matches. Every 5 s, one of them is killed at random. In between,
// some are stopped gracefully, one is paused for 20 s, and one is cut off from the log.
func TestSoakProcessesShareTheMatches(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	kills := 50
	if n := os.Getenv("ARENA_SOAK_KILLS"); n != "" {
		_, err := fmt.Sscan(n, &kills)
		require.NoError(t, err)
	}
	rng := logtest.Random(t)
	f := newFleet(t, 3, 96, 250*time.Millisecond)
	for i := range f.arenas {
		f.awaitShare(i)
	}
	r := &randomFaults{fleet: f, rng: rng, up: []bool{true, true, true}, back: make(chan int, 3)}
	for n := range kills {
		switch n {
		case kills / 3:
			r.hurt(20*time.Second, func(i int) {
				r.awaitShare(i)
				r.whileBotsThink(i, func() { r.fails(i, false, func() { f.arenas[i].arena.signal(syscall.SIGSTOP) }) })
			}, func(i int) { f.arenas[i].arena.signal(syscall.SIGCONT) })
		case 2 * kills / 3:
			r.hurt(25*time.Second, func(i int) { r.fails(i, false, func() { f.proxies[i].Set(outage.BlackHoled) }) },
				func(i int) { f.proxies[i].Set(outage.None) })
		}
		if n%10 == 5 {
			r.stop()
		}
		r.kill()
		pause(5 * time.Second)
	}
	r.recover()
	rated, compared, claims := f.settle()
	waits := map[bool][]time.Duration{}
	for _, h := range f.faults {
		waits[h.graceful] = append(waits[h.graceful], f.resumed(h)...)
	}
	killed, graceful := report(t, "killed, paused or cut off", waits[false]), report(t, "stopped gracefully", waits[true])
	t.Logf("%d kills, %d matches rated, %d claims, %d public events equal to those of undisturbed runs", kills, rated, claims, compared)
	require.LessOrEqual(t, killed, killedHandover)
	require.LessOrEqual(t, graceful, gracefulHandover)
}

// randomFaults kills, pauses and cuts off arenas, but at least one of them always plays.
type randomFaults struct {
	*fleet
	rng  *rand.Rand
	up   []bool
	back chan int // numbers of arenas that play again
	busy sync.WaitGroup
}

// choose returns an arena that plays, if at least one other arena plays too. Otherwise,
// it waits.
func (r *randomFaults) choose() int {
	for {
		for done := false; !done; {
			select {
			case i := <-r.back:
				r.up[i] = true
			default:
				done = true
			}
		}
		var playing []int
		for i, up := range r.up {
			if up {
				playing = append(playing, i)
			}
		}
		if len(playing) > 1 {
			i := playing[r.rng.IntN(len(playing))]
			r.up[i] = false
			return i
		}
		r.up[<-r.back] = true
	}
}

// kill kills an arena. A supervisor starts it again, at once or after some time.
func (r *randomFaults) kill() {
	i := r.choose()
	delay := time.Duration(r.rng.IntN(2)) * time.Duration(r.rng.IntN(25_000)) * time.Millisecond
	r.fails(i, false, r.arenas[i].arena.kill)
	r.startAfter(i, delay)
}

// stop stops an arena gracefully. A supervisor starts it again. Before and after that, the
// other arenas run. Otherwise, the matches could wait because of a killed arena, and the
// measured time would not be that of a graceful stop.
func (r *randomFaults) stop() {
	for i := range r.up {
		for !r.up[i] {
			r.up[<-r.back] = true
		}
		r.awaitShare(i)
	}
	i := r.choose()
	r.fails(i, true, func() { r.arenas[i].arena.signal(syscall.SIGTERM) })
	r.arenas[i].arena.awaitExit()
	pause(gracefulHandover)
	r.startAfter(i, 2*gracefulHandover)
}

func (r *randomFaults) startAfter(i int, delay time.Duration) {
	r.busy.Go(func() {
		pause(delay)
		r.arenas[i].start()
		r.back <- i
	})
}

// hurt calls begin for an arena that plays, and end after the given time. The function begin
// must record the fault.
func (r *randomFaults) hurt(d time.Duration, begin, end func(i int)) {
	i := r.choose()
	begin(i)
	r.busy.Go(func() {
		pause(d)
		end(i)
		r.back <- i
	})
}

func (r *randomFaults) recover() { r.busy.Wait() }
