package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"hexarena/adapters/admin"
	"hexarena/adapters/client"
)

// adminCmds are what an operator orders, on the arena's own machine.
type adminCmds struct {
	Status        adminStatus  `cmd:"" help:"Say how the arena stands."`
	Drain         adminDrain   `cmd:"" help:"Seat nobody; matches play to their end."`
	Undrain       adminUndrain `cmd:"" help:"Seat again."`
	Suspend       adminSuspend `cmd:"" help:"Keep a bot, or all that an owner has, out of matchmaking."`
	Restore       adminRestore `cmd:"" help:"Take a suspension back."`
	Abort         adminAbort   `cmd:"" help:"End a running match without placements."`
	RotateSeedKey adminRotate  `cmd:"" help:"Seat under a new seed key from now on."`
}

type adminFlags struct {
	Admin string `default:"http://127.0.0.1:8081" placeholder:"URL" help:"The operators' endpoints of the arena."`
	JSON  bool   `name:"json" help:"Print the arena's own answer, in JSON."`
}

// adminOrder is what every order says.
type adminOrder struct {
	adminFlags
	Reason string `required:"" help:"Why; it is stored with what follows."`
}

// call gives an order, or asks, and shows the answer as text writes it.
func callAdmin[T any](ctx context.Context, s streams, f adminFlags, method, path string, body any, text func(io.Writer, T)) error {
	base, err := client.Base(f.Admin)
	if err != nil {
		return fmt.Errorf("--admin %w", err)
	}
	v := &visit{base: base, json: f.JSON, out: s.out}
	answer, err := v.call(ctx, method, admin.Prefix+path, body)
	if err != nil {
		return err
	}
	return show(v, answer, text)
}

// give gives an order; done and idle say what it did, or had nothing to do for.
func (o adminOrder) give(ctx context.Context, s streams, path string, body map[string]string, done, idle string) error {
	body["reason"] = o.Reason
	return callAdmin(ctx, s, o.adminFlags, http.MethodPost, path, body, func(w io.Writer, d admin.Done) {
		if !d.Changed {
			done = idle
		}
		fmt.Fprintln(w, done)
	})
}

type adminDrain struct{ adminOrder }

// Run runs `arena admin drain`.
func (c adminDrain) Run(ctx context.Context, s streams) error {
	return c.give(ctx, s, "drain", map[string]string{}, "draining: nobody is seated any more, matches play to their end", "it drains already")
}

type adminUndrain struct{ adminOrder }

// Run runs `arena admin undrain`.
func (c adminUndrain) Run(ctx context.Context, s streams) error {
	return c.give(ctx, s, "undrain", map[string]string{}, "bots are seated again", "it does not drain")
}

// adminWhom names whom an order is about.
type adminWhom struct {
	adminOrder
	What string `arg:"" enum:"owner,bot" help:"owner or bot."`
	ID   string `arg:"" help:"Its id."`
}

type adminSuspend struct{ adminWhom }

// Run runs `arena admin suspend`.
func (c adminSuspend) Run(ctx context.Context, s streams) error {
	return c.give(ctx, s, "suspend", map[string]string{c.What: c.ID}, "suspended", "it is suspended already")
}

type adminRestore struct{ adminWhom }

// Run runs `arena admin restore`.
func (c adminRestore) Run(ctx context.Context, s streams) error {
	return c.give(ctx, s, "restore", map[string]string{c.What: c.ID}, "restored", "it is not suspended")
}

type adminAbort struct {
	adminOrder
	Match string `arg:"" help:"The match's id."`
}

// Run runs `arena admin abort`.
func (c adminAbort) Run(ctx context.Context, s streams) error {
	return c.give(ctx, s, "abort", map[string]string{"match": c.Match}, "aborted: no placements, no ratings", "")
}

type adminRotate struct{ adminOrder }

// Run runs `arena admin rotate-seed-key`.
func (c adminRotate) Run(ctx context.Context, s streams) error {
	return callAdmin(ctx, s, c.adminFlags, http.MethodPost, "rotate-seed-key", map[string]string{"reason": c.Reason},
		func(w io.Writer, r admin.Rotation) {
			fmt.Fprintf(w, "new tables are seated under the key %s: back up the secrets file\n", r.Added)
			for _, id := range r.Retired {
				fmt.Fprintf(w, "retired: %s\n", id)
			}
		})
}

type adminStatus struct{ adminFlags }

// Run runs `arena admin status`.
func (c adminStatus) Run(ctx context.Context, s streams) error {
	return callAdmin(ctx, s, c.adminFlags, http.MethodGet, "status", nil, func(w io.Writer, st admin.Status) {
		plays := "no"
		if st.Plays {
			plays = "yes"
		}
		draining := "no"
		if st.Draining {
			draining = "yes"
		}
		if st.Since != nil {
			draining += fmt.Sprintf(", since %s: %s", st.Since.Format(time.RFC3339), client.OneLine(st.Reason))
		}
		fmt.Fprintf(w, "plays\t%s\nmatches running\t%d\ndraining\t%s\nseed key\t%s\n", plays, st.Running, draining, st.SeedKey)
	})
}
