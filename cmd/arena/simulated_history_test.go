package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hexarena/adapters/drand/drandtest"
	"hexarena/cmd/arena/simulate"
	"hexarena/domain/ladder"
)

const (
	disturbed    = time.Hour        // the least time during which faults happen
	longest      = 3 * time.Hour    // the most time
	leastMatches = 3                // faults happen until there are so many matches
	leastFaults  = 10               // and so many faults
	settling     = 40 * time.Minute // how long the last matches may take after the faults
)

// testedSeeds is how many seeds the tests play: less than 40 s on two idle cores. They
// include seeds that find the first known fault: house bots that took over a seat played a
// second dev card or made too many offers in that turn. Without the fix, seeds 3, 46 and 69
// fail.
const testedSeeds = 100

// regressionSeeds are seeds above testedSeeds that have found a fault. The tests play
// them, too. A change of the arena can change their histories, so that they no longer find
// it. In seed 558, the arena briefly served no head. No newer head followed, so a match
// waited forever. In seed 3300, a process started a match that another one had just voided,
// and then had to stop before it aborted the match. So the match's stream had no end.
var regressionSeeds = []uint64{558, 3300}

// play plays the history. It starts the arenas, and lets their owners register bots. It
// causes faults for at least an hour, and then waits until every match has ended.
func (s *simulation) play() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := s.world
	plan := w.Draw("plan")
	rest := 10*time.Minute + time.Duration(plan.Int64N(int64(8*time.Minute)))
	s.listens = plan.IntN(3) == 0
	flags := []string{"--tick", "1m", "--rest-standard", rest.Truncate(time.Second).String(), "--rest-parley", rest.Truncate(time.Second).String(),
		"--decision-parley", "20s", "--wall-parley", "15m"} // an hour has at least three matches
	if plan.IntN(6) == 0 {
		s.relay = drandtest.New("simulated", time.Minute)
		flags = append(flags, "--beacon", "http://relay.example", "--beacon-chain", s.relay.Flag())
	}
	s.configure(flags...)
	defer s.endAll()
	arenas := 2 + plan.IntN(4)/3                               // most often two
	bots, modes := 4+plan.IntN(8)/3, []string{ladder.Standard} // most often one table
	switch plan.IntN(8) {
	case 0:
		modes = []string{ladder.Parley}
	case 1:
		bots, modes = 6, ladder.Modes
	}
	if !s.startAll(ctx, arenas) || !s.signUpAll(ctx, bots, modes) {
		return
	}
	s.setRates()
	var actors sync.WaitGroup
	acting, stopActing := context.WithTimeout(ctx, longest)
	defer stopActing()
	actors.Go(func() { s.awaitEnough(acting); stopActing() })
	actors.Go(func() { s.disturb(acting) })
	var listeners sync.WaitGroup
	listening, stopListening := context.WithCancel(ctx)
	defer listeners.Wait()
	defer stopListening()
	for _, o := range s.owners {
		actors.Go(func() { o.act(acting) })
		if s.listens {
			listeners.Go(func() { o.listen(listening) })
		}
	}
	actors.Go(func() { s.spectate(acting) })
	actors.Go(func() { s.operate(acting) })
	actors.Wait()
	w.Calm()
	w.Step("the faults end")
	s.settle(ctx)
	if s.listens {
		_ = w.Sleep(ctx, 3*time.Minute, 4*time.Minute, "last events") // until each owner has had time to connect again
	}
	stopListening()
	listeners.Wait()
	s.judge(ctx)
}

// awaitEnough waits until enough has happened.
func (s *simulation) awaitEnough(ctx context.Context) {
	if s.world.Sleep(ctx, disturbed, disturbed+time.Second, "enough") != nil {
		return
	}
	for len(s.judgeLadders()) < leastMatches || s.world.FaultCount() < leastFaults {
		if s.world.Sleep(ctx, time.Minute, 2*time.Minute, "enough") != nil {
			return
		}
	}
}

// startAll starts the arenas one after another.
func (s *simulation) startAll(ctx context.Context, n int) bool {
	for i := range n {
		name := fmt.Sprintf("arena-%d", i+1)
		h := &simulatedHost{name: name, data: filepath.Join(s.root, name)}
		s.hosts = append(s.hosts, h)
		if i > 0 {
			if err := s.copySecrets(h); err != nil {
				s.failed("copy the secrets: %v", err)
				return false
			}
		}
		s.start(h)
		if s.world.Sleep(ctx, 20*time.Second, 25*time.Second, "start", name) != nil {
			return false
		}
	}
	return true
}

// copySecrets gives a new host the secrets of the first one.
func (s *simulation) copySecrets(h *simulatedHost) error {
	if err := os.MkdirAll(h.data, 0o700); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.hosts[0].data, "secrets.json"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.data, "secrets.json"), text, 0o600)
}

// setRates draws how often each fault happens.
func (s *simulation) setRates() {
	for _, fault := range []string{
		simulate.LostRequest, simulate.LostAnswer, simulate.RepeatedRequest, simulate.DelayedRequest,
		simulate.FailedRead, simulate.SlowLog, simulate.SilentStream, simulate.FailedDial, simulate.DroppedLine, lostResponse, relayDown, repeatedCall,
	} {
		r := s.world.Draw("rate", fault)
		if r.IntN(2) == 0 {
			s.world.SetRate(fault, math.Exp(math.Log(0.0003)+r.Float64()*math.Log(30))) // between 0.0003 and 0.009
		}
	}
}

// crashPoint kills the next process that passes a point, or lets the log lose events.
type crashPoint struct {
	point  simulate.Point
	prefix string // of the stream
	loses  bool   // the log loses events, and no process dies
}

// passes is called when a process passes a point. Other goroutines of the process may run
// at the same moment. So the crash waits for a moment of its own.
func (s *simulation) passes(p *simulatedProcess, at simulate.Point, stream string) {
	s.mu.Lock()
	t := s.trap
	matches := t != nil && t.point == at && strings.HasPrefix(stream, t.prefix) && p.host.now == p && p.arena != nil
	s.mu.Unlock()
	if !matches {
		return
	}
	_ = s.world.Sleep(context.Background(), time.Microsecond, time.Millisecond, "crash", p.name, string(at), stream) // its context never ends
	s.mu.Lock()
	springs := s.trap == t
	if springs {
		s.trap = nil
	}
	s.mu.Unlock()
	switch {
	case springs && t.loses:
		s.log.Lose()
	case springs:
		s.world.Fault(string(at))
		p.kill(fmt.Sprintf("%s of %s", at, stream))
	}
}

// committing is called when an SQLite database is about to commit a transaction.
func (s *simulation) committing(path string) {
	for _, p := range s.running() {
		if strings.HasPrefix(path, p.data+string(filepath.Separator)) {
			s.passes(p, simulate.BeforeCommit, strings.TrimSuffix(filepath.Base(path), ".db"))
		}
	}
}

// heard remembers the last request that each bot got in each match.
func (s *simulation) heard(bot, matchID string, frame []byte) {
	if s.world.Planted() == simulate.PlantShownCard {
		frame = bytes.Replace(frame, []byte(`"myScore":`), []byte(`"deck":["knight"],"myScore":`), 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[matchID] == nil {
		s.asked[matchID] = map[string][]byte{}
	}
	s.asked[matchID][bot] = frame
}

func (s *simulation) sent(process string) {
	for _, p := range s.running() {
		if p.name == process {
			s.passes(p, simulate.AfterSend, "")
		}
	}
}

// disturb kills, stops and separates processes until ctx ends.
func (s *simulation) disturb(ctx context.Context) {
	w := s.world
	var pending sync.WaitGroup
	defer pending.Wait()
	for {
		if w.Sleep(ctx, 10*time.Second, 8*time.Minute, "disturb") != nil {
			return
		}
		r := w.DrawNow("disturbance")
		running := s.running()
		if len(running) == 0 {
			continue
		}
		p := running[r.IntN(len(running))]
		switch r.IntN(7) {
		case 0:
			p.kill("at random")
		case 1:
			streams := []string{"", "match-", "ladder-", ladder.SnapshotPrefix, "arena-", "owner-", "$all"}
			s.mu.Lock()
			s.trap = &crashPoint{point: simulate.Points[r.IntN(len(simulate.Points))], prefix: streams[r.IntN(len(streams))], loses: r.IntN(3) == 0}
			if s.trap.loses {
				s.trap.point = simulate.AfterAppend
			}
			if s.trap.point == simulate.AfterSend || s.trap.point == simulate.BeforeCommit {
				s.trap.prefix = ""
			}
			w.Step("the next process dies %s of %s", s.trap.point, s.trap.prefix)
			s.mu.Unlock()
		case 2:
			w.Fault("deploy", p.name)
			p.end()
		case 3:
			bot := s.someBot(r)
			s.separate(ctx, &pending, "cut from a bot", p, func() func() { return s.network.Cut(p.name, bot.Name) })
		case 4:
			s.separate(ctx, &pending, "isolation", p, func() func() {
				heal, reach := p.client.Cut(), s.network.Cut(p.name, "")
				p.isolated.Store(true)
				return func() { p.isolated.Store(false); reach(); heal() }
			})
		default:
			s.separate(ctx, &pending, "cut from the log", p, p.client.Cut)
		}
		pending.Go(func() { s.restart(ctx) })
	}
}

// separate causes a fault that cuts a process off for 1 s to 2 min. The function cut
// returns a function that ends the cut.
func (s *simulation) separate(ctx context.Context, pending *sync.WaitGroup, fault string, p *simulatedProcess, cut func() (heal func())) {
	w := s.world
	length := time.Duration(math.Exp(w.DrawNow("length").Float64()*math.Log(120)) * float64(time.Second))
	w.Fault(fault, p.name, length.String())
	heal := cut()
	pending.Go(func() {
		_ = w.Sleep(ctx, length, length+time.Millisecond, "heal", p.name, fault) // heals at the end at the latest
		w.Step("%s ends: %s", fault, p.name)
		heal()
	})
}

// someBot returns one of the bots.
func (s *simulation) someBot(r *rand.Rand) *simulate.Bot {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.bots))
	return s.bots[names[r.IntN(len(names))]]
}

// restart starts a process on each host that has none, after a while.
func (s *simulation) restart(ctx context.Context) {
	if s.world.Sleep(ctx, time.Second, 90*time.Second, "restart") != nil {
		return
	}
	s.startMissing()
}

func (s *simulation) startMissing() {
	for _, h := range s.hosts {
		s.mu.Lock()
		missing := h.now == nil
		s.mu.Unlock()
		if missing {
			s.start(h)
		}
	}
}

// settle waits until all matches have ended.
func (s *simulation) settle(ctx context.Context) {
	s.mu.Lock()
	s.trap = nil
	s.mu.Unlock()
	s.startMissing()
	deadline := time.Now().Add(settling)
	paused := false
	for time.Now().Before(deadline) {
		if s.world.Sleep(ctx, 20*time.Second, 21*time.Second, "settle") != nil {
			return
		}
		if !paused {
			paused = s.pauseAll(ctx)
			continue
		}
		if unfinished := s.unfinished(); len(unfinished) == 0 {
			return
		}
	}
	if !paused {
		s.failed("the owners cannot pause their bots although the faults have ended")
	}
	s.failed("matches have not ended %s after the last fault: %v", settling, s.unfinished())
}

// endAll stops all processes, and waits for the goroutines of all killed ones.
func (s *simulation) endAll() {
	for _, p := range s.running() {
		p.end()
	}
	for _, p := range s.started {
		<-p.ended
	}
}
