package remote

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/admin"
	"hexarena/adapters/client"
)

// AdminCmds are the operators' commands. They work only on the arena's own
// machine.
type AdminCmds struct {
	Status        adminStatus `cmd:"" help:"Show whether the arena is playing or draining, which seed key it uses, and how the processes share the matches."`
	Drain         adminOrder  `cmd:"" help:"Stop seating bots; running matches continue until they end."`
	Undrain       adminOrder  `cmd:"" help:"Seat bots again."`
	Suspend       adminTarget `cmd:"" help:"Keep a bot, or all bots of an owner, out of matchmaking."`
	Restore       adminTarget `cmd:"" help:"End a suspension."`
	Abort         adminAbort  `cmd:"" help:"End a running match without placements."`
	RotateSeedKey adminRotate `cmd:"" help:"Replace the seed key: tables that are seated from now on use a new one."`
}

type adminFlags struct {
	Admin string `default:"http://127.0.0.1:8081" placeholder:"URL" help:"The operators' endpoints of the arena."`
	JSON  bool   `name:"json" help:"Print the arena's response as JSON."`
}

// ProvideSession makes the session that Run receives. The flag parser calls it.
func (f adminFlags) ProvideSession(k *kong.Kong) (*session, error) {
	base, err := client.Base(f.Admin)
	if err != nil {
		return nil, fmt.Errorf("--admin %w", err)
	}
	return &session{base: base, json: f.JSON, out: k.Stdout}, nil
}

// adminOrder holds the flags of every order.
type adminOrder struct {
	adminFlags
	Reason string `required:"" help:"The reason, which the arena stores with the order."`
}

// The variable outcomes holds two lines for each order. The command prints the first
// line if the order changed something, and the second if it did not.
var outcomes = map[string]struct{ changed, unchanged string }{
	"drain":   {"draining: no more bots are seated, and running matches continue until they end", "the arena is already draining"},
	"undrain": {"bots are seated again", "the arena is not draining"},
	"suspend": {"suspended", "it is already suspended"},
	"restore": {"restored", "it is not suspended"},
	"abort":   {"aborted: the match has no placements and changes no ratings", ""},
}

// give sends the order. The order has the same name as the command.
func (o adminOrder) give(ctx context.Context, s *session, call *kong.Context, body map[string]string) error {
	order := call.Selected().Name
	body["reason"] = o.Reason
	return askAndShow(ctx, s, post("", admin.Prefix+order, body), func(w io.Writer, d admin.Done) {
		line := outcomes[order].changed
		if !d.Changed {
			line = outcomes[order].unchanged
		}
		fmt.Fprintln(w, line)
	})
}

// Run implements `arena admin drain` and `arena admin undrain`.
func (o adminOrder) Run(ctx context.Context, s *session, call *kong.Context) error {
	return o.give(ctx, s, call, map[string]string{})
}

// adminTarget holds the flags of an order about an owner or a bot.
type adminTarget struct {
	adminOrder
	What string `arg:"" enum:"owner,bot" help:"owner or bot."`
	ID   string `arg:"" help:"Its id."`
}

// Run implements `arena admin suspend` and `arena admin restore`.
func (t adminTarget) Run(ctx context.Context, s *session, call *kong.Context) error {
	return t.give(ctx, s, call, map[string]string{t.What: t.ID})
}

type adminAbort struct {
	adminOrder
	Match string `arg:"" help:"The match's id."`
}

// Run runs `arena admin abort`.
func (a adminAbort) Run(ctx context.Context, s *session, call *kong.Context) error {
	return a.give(ctx, s, call, map[string]string{"match": a.Match})
}

type adminRotate struct{ adminOrder }

// Run runs `arena admin rotate-seed-key`.
func (c adminRotate) Run(ctx context.Context, s *session) error {
	order := post("", admin.Prefix+"rotate-seed-key", map[string]string{"reason": c.Reason})
	return askAndShow(ctx, s, order, func(w io.Writer, r admin.Rotation) {
		fmt.Fprintf(w, "new tables use the seed key %s: back up the secrets file\n", r.Added)
		for _, id := range r.Retired {
			fmt.Fprintf(w, "retired: %s\n", id)
		}
	})
}

type adminStatus struct{ adminFlags }

// Run runs `arena admin status`.
func (adminStatus) Run(ctx context.Context, s *session) error {
	return askAndShow(ctx, s, get("", admin.Prefix+"status"), printStatus)
}

func printStatus(w io.Writer, st admin.Status) {
	yesNo := map[bool]string{true: "yes", false: "no"}
	fmt.Fprintf(w, "plays\t%s\nseats tables\t%s\nmatches running\t%d\n", yesNo[st.Plays], yesNo[st.Seats], st.Running)
	if st.LogUnavailableSeconds > 0 {
		fmt.Fprintf(w, "log\tunavailable for %.1f s\nstopped\t%s\n", st.LogUnavailableSeconds, client.OneLine(st.Stopped))
	} else {
		draining := yesNo[st.Draining]
		if st.Since != nil {
			draining += fmt.Sprintf(", since %s: %s", st.Since.Format(time.RFC3339), client.OneLine(st.Reason))
		}
		holder := "nobody"
		if st.Lease != nil {
			holder = fmt.Sprintf("%s on %s, generation %d", client.OneLine(st.Lease.Member), client.OneLine(st.Lease.Host), st.Lease.Generation)
		}
		fmt.Fprintf(w, "draining\t%s\nseed key\t%s\nlease\t%s\n", draining, st.SeedKey, holder)
	}
	if !st.Plays {
		return
	}
	fmt.Fprintf(w, "matches taken over\t%d\nfenced appends\t%d\n", st.Handovers, st.FencedAppends)
	for _, m := range st.Members {
		this := ""
		if m.ID == st.Member {
			this = " (this process)"
		}
		lacks := ""
		if len(m.MissingSeedKeys) > 0 {
			lacks = ", lacks the seed keys " + client.OneLine(strings.Join(m.MissingSeedKeys, " "))
		}
		fmt.Fprintf(w, "member\t%s on %s%s: plays %d of %d matches, %d free, since %s%s\n", client.OneLine(m.ID), client.OneLine(m.Host), this,
			m.Running, m.MaxMatches, m.Free, m.Since.Format(time.RFC3339), lacks)
	}
}
