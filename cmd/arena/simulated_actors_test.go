package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/demo"
	"hexarena/cmd/arena/simulate"
	"hexarena/domain/ladder"
)

// simulatedOwner is an owner of bots.
type simulatedOwner struct {
	s    *simulation
	name string
	demo.Owner
	registered int
}

// sighting is a response that anyone may get while matches are running.
type sighting struct {
	path string
	body string
}

// signUpAll creates the accounts and registers the bots, before there are faults.
func (s *simulation) signUpAll(ctx context.Context, bots int) bool {
	for i := range bots {
		if i%3 == 0 {
			name := fmt.Sprintf("owner-%d", len(s.owners)+1)
			o := &simulatedOwner{s: s, name: name, Owner: demo.Owner{Base: "http://" + name + ".arena.example"}}
			s.owners = append(s.owners, o)
			if err := o.SignUp(ctx, filepath.Join(s.root, "mail"), name+"@example.org", name); err != nil {
				s.failed("sign up %s: %v", name, err)
				return false
			}
		}
		o := s.owners[len(s.owners)-1]
		if err := o.register(ctx); err != nil {
			s.failed("register a bot of %s: %v", o.name, err)
			return false
		}
	}
	return true
}

// register registers another bot.
func (o *simulatedOwner) register(ctx context.Context) error {
	o.registered++
	b := &simulate.Bot{Name: fmt.Sprintf("%s-bot-%d", o.name, o.registered), Conduct: o.s.conduct(o.name, o.registered)}
	o.s.mu.Lock()
	o.s.bots[b.Name] = b
	o.s.mu.Unlock()
	o.s.network.Add(b)
	return o.Register(ctx, b.Name, ladder.Standard, b.URL())
}

// conduct draws how a bot behaves. Most bots are good.
func (s *simulation) conduct(owner string, n int) simulate.Conduct {
	r := s.world.Draw("conduct", owner, fmt.Sprint(n))
	c := simulate.Conduct{Strategy: []string{"greedy", "greedy", "random"}[r.IntN(3)], LeastThink: 100 * time.Millisecond, MostThink: time.Second + time.Duration(r.Int64N(int64(2*time.Second)))}
	switch r.IntN(8) {
	case 0:
		c.Slow = 0.01 + 0.05*r.Float64()
	case 1:
		c.Hostile = 0.02 + 0.3*r.Float64()
	case 2:
		c.Flaky = true
	}
	return c
}

// act makes an owner's calls until ctx ends. Calls may fail because of faults.
func (o *simulatedOwner) act(ctx context.Context) {
	w := o.s.world
	for w.Sleep(ctx, 10*time.Second, 6*time.Minute, "act", o.name) == nil {
		r := w.DrawNow("action", o.name)
		var list rest.Bots
		if err := o.Call(ctx, http.MethodGet, "/bots", nil, &list); err != nil {
			w.Step("%s cannot list its bots: %v", o.name, err)
			continue
		}
		if len(list.Bots) == 0 {
			_ = o.register(ctx)
			continue
		}
		b := list.Bots[r.IntN(len(list.Bots))]
		status := "paused"
		if b.Status == status {
			status = "active"
		}
		var err error
		what := r.IntN(10)
		switch what {
		case 0, 1:
			if err = o.Call(ctx, http.MethodPatch, "/bots/"+b.ID, rest.BotPatch{Status: &status}, nil); err == nil && o.s.isActive(b.OwnerID, b.ID) != (status == "active") {
				o.s.failed("the API confirmed that bot %s is %s, but the log does not say that", b.Name, status)
			}
		case 2:
			if err = o.Call(ctx, http.MethodDelete, "/bots/"+b.ID, nil, nil); err == nil {
				err = o.register(ctx)
			}
		case 3:
			err = o.Call(ctx, http.MethodPost, "/bots/"+b.ID+"/trial", nil, nil)
		case 4:
			err = o.Call(ctx, http.MethodGet, "/me", nil, nil)
		case 5:
			err = o.Call(ctx, http.MethodGet, "/bots/"+b.ID, nil, nil)
		default:
			active := "active"
			for _, b := range list.Bots {
				if b.Status != active {
					err = errors.Join(err, o.Call(ctx, http.MethodPatch, "/bots/"+b.ID, rest.BotPatch{Status: &active}, nil))
				}
			}
		}
		if err != nil {
			w.Step("%s: action %d failed: %v", o.name, what, err)
		}
	}
}

// pauseAll lets all owners pause all their bots. It reports whether that worked.
func (s *simulation) pauseAll(ctx context.Context) bool {
	paused := "paused"
	for _, o := range s.owners {
		var list rest.Bots
		err := o.Call(ctx, http.MethodGet, "/bots", nil, &list)
		for _, b := range list.Bots {
			if b.Status != paused {
				err = errors.Join(err, o.Call(ctx, http.MethodPatch, "/bots/"+b.ID, rest.BotPatch{Status: &paused}, nil))
			}
		}
		if err != nil {
			s.world.Step("%s cannot pause its bots: %v", o.name, err)
			return false
		}
	}
	return true
}

// get reads a public resource. It returns nil if the call fails.
func (s *simulation) get(ctx context.Context, path string) []byte {
	c, err := client.New(client.Options{Base: "http://spectator.arena.example"})
	if err != nil {
		return nil
	}
	r, err := c.Open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	return body
}

// spectate reads public resources until ctx ends, and remembers what it sees.
func (s *simulation) spectate(ctx context.Context) {
	w := s.world
	for w.Sleep(ctx, 30*time.Second, 5*time.Minute, "spectate") == nil {
		var list struct{ Matches []struct{ ID string } }
		if json.Unmarshal(s.get(ctx, "/matches?status=running"), &list) != nil {
			continue
		}
		paths := []string{"/ladder/standard/checkpoint"}
		for _, m := range list.Matches {
			paths = append(paths, "/matches/"+m.ID, "/live/"+m.ID)
		}
		if w.DrawNow("pages").IntN(4) == 0 {
			paths = append(paths, "/leaderboard?mode=standard", "/queue", "/matches?limit=50")
		}
		for _, path := range paths {
			if body := s.get(ctx, path); body != nil {
				s.mu.Lock()
				s.seen = append(s.seen, sighting{path, string(body)})
				s.mu.Unlock()
			}
		}
	}
}

// operate gives an operator's orders until ctx ends.
func (s *simulation) operate(ctx context.Context) {
	w := s.world
	c, err := client.New(client.Options{Base: "http://operator.admin.example"})
	if err != nil {
		return
	}
	for w.Sleep(ctx, time.Minute, 40*time.Minute, "operate") == nil {
		r := w.DrawNow("order")
		var path string
		order := map[string]string{"reason": "a test"}
		switch r.IntN(4) {
		case 0:
			unfinished := s.unfinished()
			if len(unfinished) == 0 {
				continue
			}
			path, order["match"] = "/admin/abort", unfinished[r.IntN(len(unfinished))]
		case 1:
			path = "/admin/rotate-seed-key"
		case 2:
			path = "/admin/drain"
		default:
			path = "/admin/status"
		}
		method := http.MethodPost
		if strings.HasSuffix(path, "status") {
			method, order = http.MethodGet, nil
		}
		var body any
		if order != nil {
			body = order
		}
		_, err := c.Call(ctx, method, path, body)
		w.Step("the operator calls %s: %v", path, err)
		if strings.HasSuffix(path, "drain") {
			for w.Sleep(ctx, time.Second, 2*time.Minute, "undrain") == nil {
				if _, err := c.Call(ctx, http.MethodPost, "/admin/undrain", order); err == nil {
					break
				}
			}
		}
	}
}
