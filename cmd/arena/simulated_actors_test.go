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
	"sync"
	"time"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/demo"
	"hexarena/cmd/arena/remote"
	"hexarena/cmd/arena/simulate"
)

// simulatedOwner is an owner of bots.
type simulatedOwner struct {
	s    *simulation
	name string
	demo.Owner
	id         string   // of the account
	mode       string   // of all bots
	registered int      // how many bots
	wanted     int      // how many bots the owner wants to have
	deleted    bool     // whether the owner has tried to delete the account
	accounts   int      // how often the owner has signed up again
	events     []string // the ids of the events that the owner got
}

// sighting is a response that anyone may get while matches are running.
type sighting struct {
	path string
	body string
}

// signUpAll creates the accounts and registers the bots, before there are faults.
func (s *simulation) signUpAll(ctx context.Context, bots int, modes []string) bool {
	for i := range bots {
		if i%3 == 0 {
			name := fmt.Sprintf("owner-%d", len(s.owners)+1)
			o := &simulatedOwner{s: s, name: name, mode: modes[len(s.owners)%len(modes)], Owner: demo.Owner{Base: "http://" + name + ".arena.example"}}
			s.owners = append(s.owners, o)
			if err := o.SignUp(ctx, filepath.Join(s.root, "mail"), o.address(), name); err != nil {
				s.failed("sign up %s: %v", name, err)
				return false
			}
		}
		o := s.owners[len(s.owners)-1]
		o.wanted++
		if err := o.register(ctx); err != nil {
			s.failed("register a bot of %s: %v", o.name, err)
			return false
		}
	}
	for _, o := range s.owners {
		var list rest.Bots
		if err := o.Call(ctx, http.MethodGet, "/bots", nil, &list); err != nil {
			s.failed("list the bots of %s: %v", o.name, err)
			return false
		}
		o.id = list.Bots[0].OwnerID
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
	return o.Register(ctx, b.Name, o.mode, b.URL())
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
			if isGone(err) {
				w.Step("%s signs up again: %v", o.name, o.signUpAgain(ctx))
			}
			continue
		}
		if len(list.Bots) < o.wanted { // the account is new, or a registration has failed
			_ = o.register(ctx)
			continue
		}
		b := list.Bots[r.IntN(len(list.Bots))]
		status := "paused"
		if b.Status == status {
			status = "active"
		}
		var err error
		what := r.IntN(12)
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
		case 6:
			err = o.callWithWrongClock(ctx, "/bots/"+b.ID, time.Duration(r.Int64N(int64(4*time.Hour)))-2*time.Hour)
		case 7:
			if r.IntN(6) == 0 {
				err = o.deleteAccount(ctx)
			}
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

// wrongClock is the fault that an owner's clock is wrong.
const wrongClock = "wrong clock of an owner"

// mostSkew is how wrong an owner's clock may be (docs/protocol.md).
const mostSkew = 5 * time.Minute

// callWithWrongClock makes a call that the arena must refuse if the clock is very wrong.
func (o *simulatedOwner) callWithWrongClock(ctx context.Context, path string, skew time.Duration) error {
	o.s.world.Fault(wrongClock, o.name, skew.String())
	wrong := o.Owner
	wrong.Now = func() time.Time { return time.Now().Add(skew) }
	err := wrong.Call(ctx, http.MethodGet, path, nil, nil)
	if err == nil && skew.Abs() > mostSkew+time.Minute {
		o.s.failed("the arena accepted a call of %s that was signed %s from now", o.name, skew)
	}
	return err
}

// isGone reports whether the arena does not know the caller.
func isGone(err error) bool {
	var refusal *client.Refusal
	return errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized
}

func (o *simulatedOwner) address() string { return o.name + "@example.org" }

// deleteAccount signs in and deletes the account.
func (o *simulatedOwner) deleteAccount(ctx context.Context) error {
	c, err := client.New(client.Options{Base: o.Base})
	if err != nil {
		return err
	}
	if _, err := c.Call(ctx, http.MethodPost, "/sign-in", rest.SignIn{Email: o.address()}); err != nil {
		return err
	}
	token, err := remote.MailedToken(filepath.Join(o.s.root, "mail"), o.address())
	if err != nil {
		return err
	}
	answer, err := c.Call(ctx, http.MethodPost, "/sign-in/confirm", rest.SignInConfirmation{Token: token})
	if err != nil {
		return err
	}
	var cookies []string
	for _, cookie := range answer.Cookies {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	if c, err = client.New(client.Options{Base: o.Base, Session: strings.Join(cookies, "; ")}); err != nil {
		return err
	}
	o.deleted = true
	_, err = c.Call(ctx, http.MethodDelete, "/me", nil)
	return err
}

// signUpAgain makes a new account. The handle of the deleted one is not free.
func (o *simulatedOwner) signUpAgain(ctx context.Context) error {
	fresh := demo.Owner{Base: o.Base}
	o.accounts++
	err := fresh.SignUp(ctx, filepath.Join(o.s.root, "mail"), o.address(), fmt.Sprintf("%s-%d", o.name, o.accounts))
	if err != nil {
		return err
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.Owner = fresh
	return nil
}

// pauseAll lets all owners pause all their bots. It reports whether that worked.
func (s *simulation) pauseAll(ctx context.Context) bool {
	paused := "paused"
	for _, o := range s.owners {
		var list rest.Bots
		err := o.Call(ctx, http.MethodGet, "/bots", nil, &list)
		if isGone(err) {
			continue
		}
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
	var watching sync.WaitGroup
	defer watching.Wait()
	for w.Sleep(ctx, 30*time.Second, 5*time.Minute, "spectate") == nil {
		var list struct{ Matches []struct{ ID string } }
		if json.Unmarshal(s.get(ctx, "/matches?status=running"), &list) != nil {
			continue
		}
		paths := []string{"/ladder/standard/checkpoint", "/ladder/parley/checkpoint"}
		for _, m := range list.Matches {
			paths = append(paths, "/matches/"+m.ID, "/live/"+m.ID)
			if w.DrawNow("watch", m.ID).IntN(2) == 0 {
				watching.Go(func() { s.watch(ctx, m.ID) })
			}
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
