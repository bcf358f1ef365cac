package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/admin"
	"hexarena/adapters/client"
)

// AdminCmds are an operator's orders, given on the arena's own machine.
type AdminCmds struct {
	Status        adminStatus  `cmd:"" help:"Show whether the arena plays, drains, and which seed key it uses."`
	Drain         adminDrain   `cmd:"" help:"Stop seating bots; running matches play to their end."`
	Undrain       adminUndrain `cmd:"" help:"Seat bots again."`
	Suspend       adminSuspend `cmd:"" help:"Keep a bot, or all bots of an owner, out of matchmaking."`
	Restore       adminRestore `cmd:"" help:"End a suspension."`
	Abort         adminAbort   `cmd:"" help:"End a running match without placements."`
	RotateSeedKey adminRotate  `cmd:"" help:"Seat matches under a new seed key from now on."`
}

type adminFlags struct {
	Admin string `default:"http://127.0.0.1:8081" placeholder:"URL" help:"The operators' endpoints of the arena."`
	JSON  bool   `name:"json" help:"Print the arena's own answer, in JSON."`
}

// adminOrder are the flags of every order.
type adminOrder struct {
	adminFlags
	Reason string `required:"" help:"Why; the arena stores it with the order."`
}

// callAdmin calls an operators' endpoint, and prints the answer as text formats
// it.
func callAdmin[T any](ctx context.Context, k *kong.Kong, f adminFlags, method, path string, body any, text func(io.Writer, T)) error {
	base, err := client.Base(f.Admin)
	if err != nil {
		return fmt.Errorf("--admin %w", err)
	}
	s := &session{base: base, json: f.JSON, out: k.Stdout}
	answer, err := s.call(ctx, method, admin.Prefix+path, body)
	if err != nil {
		return err
	}
	return show(s, answer, text)
}

// give gives an order. It prints done if the order changed something, else
// unchanged.
func (o adminOrder) give(ctx context.Context, k *kong.Kong, path string, body map[string]string, done, unchanged string) error {
	body["reason"] = o.Reason
	return callAdmin(ctx, k, o.adminFlags, http.MethodPost, path, body, func(w io.Writer, d admin.Done) {
		if !d.Changed {
			done = unchanged
		}
		fmt.Fprintln(w, done)
	})
}

type adminDrain struct{ adminOrder }

// Run runs `arena admin drain`.
func (c adminDrain) Run(ctx context.Context, k *kong.Kong) error {
	return c.give(ctx, k, "drain", map[string]string{}, "draining: no bot is seated any more, matches play to their end", "it is draining already")
}

type adminUndrain struct{ adminOrder }

// Run runs `arena admin undrain`.
func (c adminUndrain) Run(ctx context.Context, k *kong.Kong) error {
	return c.give(ctx, k, "undrain", map[string]string{}, "bots are seated again", "it is not draining")
}

// adminTarget names an owner or a bot.
type adminTarget struct {
	adminOrder
	What string `arg:"" enum:"owner,bot" help:"owner or bot."`
	ID   string `arg:"" help:"Its id."`
}

type adminSuspend struct{ adminTarget }

// Run runs `arena admin suspend`.
func (c adminSuspend) Run(ctx context.Context, k *kong.Kong) error {
	return c.give(ctx, k, "suspend", map[string]string{c.What: c.ID}, "suspended", "it is suspended already")
}

type adminRestore struct{ adminTarget }

// Run runs `arena admin restore`.
func (c adminRestore) Run(ctx context.Context, k *kong.Kong) error {
	return c.give(ctx, k, "restore", map[string]string{c.What: c.ID}, "restored", "it is not suspended")
}

type adminAbort struct {
	adminOrder
	Match string `arg:"" help:"The match's id."`
}

// Run runs `arena admin abort`.
func (c adminAbort) Run(ctx context.Context, k *kong.Kong) error {
	return c.give(ctx, k, "abort", map[string]string{"match": c.Match}, "aborted: no placements, no ratings", "")
}

type adminRotate struct{ adminOrder }

// Run runs `arena admin rotate-seed-key`.
func (c adminRotate) Run(ctx context.Context, k *kong.Kong) error {
	return callAdmin(ctx, k, c.adminFlags, http.MethodPost, "rotate-seed-key", map[string]string{"reason": c.Reason},
		func(w io.Writer, r admin.Rotation) {
			fmt.Fprintf(w, "new tables are seated under the key %s: back up the secrets file\n", r.Added)
			for _, id := range r.Retired {
				fmt.Fprintf(w, "retired: %s\n", id)
			}
		})
}

type adminStatus struct{ adminFlags }

// Run runs `arena admin status`.
func (c adminStatus) Run(ctx context.Context, k *kong.Kong) error {
	yesNo := map[bool]string{true: "yes", false: "no"}
	return callAdmin(ctx, k, c.adminFlags, http.MethodGet, "status", nil, func(w io.Writer, st admin.Status) {
		draining := yesNo[st.Draining]
		if st.Since != nil {
			draining += fmt.Sprintf(", since %s: %s", st.Since.Format(time.RFC3339), client.OneLine(st.Reason))
		}
		fmt.Fprintf(w, "plays\t%s\nmatches running\t%d\ndraining\t%s\nseed key\t%s\n", yesNo[st.Plays], st.Running, draining, st.SeedKey)
	})
}
