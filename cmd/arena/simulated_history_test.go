package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hexarena/cmd/arena/simulate"
)

const (
	disturbed = time.Hour        // how long faults happen
	settling  = 40 * time.Minute // how long the last matches may take after the faults
)

// play plays the history: it starts the arenas, lets their owners register bots, causes
// faults for an hour, and then waits until every match has ended.
func (s *simulation) play() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := s.world
	plan := w.Draw("plan")
	rest := 4*time.Minute + time.Duration(plan.Int64N(int64(8*time.Minute)))
	s.configure("--rest-standard", rest.Truncate(time.Second).String())
	defer s.endAll()
	if !s.startAll(ctx, 2+plan.IntN(2)) || !s.signUpAll(ctx, 4+plan.IntN(3)) {
		return
	}
	s.setRates()
	var actors sync.WaitGroup
	acting, stopActing := context.WithTimeout(ctx, disturbed)
	defer stopActing()
	actors.Go(func() { s.disturb(acting) })
	for _, o := range s.owners {
		actors.Go(func() { o.act(acting) })
	}
	actors.Go(func() { s.spectate(acting) })
	actors.Go(func() { s.operate(acting) })
	actors.Wait()
	w.Calm()
	w.Step("the faults end")
	s.settle(ctx)
	s.judge(ctx)
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
		simulate.FailedRead, simulate.SlowLog, simulate.SilentStream, simulate.FailedDial, simulate.DroppedLine,
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
		switch r.IntN(5) {
		case 0:
			p.kill("at random")
		case 1:
			streams := []string{"", "match-", "ladder-", "arena-", "owner-", "$all"}
			s.mu.Lock()
			s.trap = &crashPoint{point: simulate.Points[r.IntN(len(simulate.Points))], prefix: streams[r.IntN(len(streams))], loses: r.IntN(3) == 0}
			if s.trap.loses {
				s.trap.point = simulate.AfterAppend
			}
			if s.trap.point == simulate.AfterSend {
				s.trap.prefix = ""
			}
			w.Step("the next process dies %s of %s", s.trap.point, s.trap.prefix)
			s.mu.Unlock()
		case 2:
			w.Fault("deploy", p.name)
			p.end()
		default:
			length := time.Duration(math.Exp(r.Float64()*math.Log(120)) * float64(time.Second)) // 1 s to 2 min
			w.Fault("cut", p.name, length.String())
			heal := p.client.Cut()
			pending.Go(func() {
				_ = w.Sleep(ctx, length, length+time.Millisecond, "heal", p.name) // heals at the end at the latest
				w.Step("%s reaches the log again", p.name)
				heal()
			})
		}
		pending.Go(func() { s.restart(ctx) })
	}
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
