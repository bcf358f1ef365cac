package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"text/tabwriter"

	"hexarena/adapters/client"
)

// ownerCmds are what an owner runs, against any arena.
type ownerCmds struct {
	SignIn      signInCmd      `cmd:"" help:"Sign in by a link that is mailed, and remember the session."`
	SignOut     signOutCmd     `cmd:"" help:"End the session, and forget it."`
	Me          meCmd          `cmd:"" help:"Show the account, or choose its handle."`
	Bots        botsCmd        `cmd:"" help:"Manage bots."`
	Keys        keysCmd        `cmd:"" help:"Manage API keys."`
	Matches     matchesCmd     `cmd:"" help:"List matches, the newest first."`
	Leaderboard leaderboardCmd `cmd:"" help:"Show a ladder."`
}

// remote are the flags of every command that calls an arena.
type remote struct {
	Arena string `placeholder:"URL" help:"The arena (default: the one that was signed in at last, else http://127.0.0.1:8080)."`
	JSON  bool   `name:"json" help:"Print the arena's own answer, in JSON."`
}

// signed are those of a command that says who calls.
type signed struct {
	remote
	Key   string `placeholder:"FILE" help:"Private key to sign with, in PEM (default: that of \"keys add\")."`
	KeyID string `placeholder:"ID" help:"Its id at the arena (default: as remembered)."`
}

// standardArena is where `arena serve` and `arena demo` are by default.
const standardArena = "http://127.0.0.1:8080"

// visit is one command's dealing with an arena.
type visit struct {
	base    string
	json    bool
	out     io.Writer
	profile *profile
	mine    *credentials // of the profile, at this arena
}

func (r remote) visit(s streams) (*visit, error) {
	p, err := loadProfile()
	if err != nil {
		return nil, err
	}
	base := r.Arena
	if base == "" {
		base = p.Arena
	}
	if base == "" {
		base = standardArena
	}
	if base, err = client.Base(base); err != nil {
		return nil, fmt.Errorf("--arena %w", err)
	}
	return &visit{base: base, json: r.JSON, out: s.out, profile: p, mine: p.at(base)}, nil
}

// call makes a call that nobody need sign.
func (v *visit) call(ctx context.Context, method, path string, body any) (client.Answer, error) {
	return v.callAs(ctx, client.Options{}, method, path, body)
}

func (v *visit) callAs(ctx context.Context, who client.Options, method, path string, body any) (client.Answer, error) {
	who.Base = v.base
	c, err := client.New(who)
	if err != nil {
		return client.Answer{}, err
	}
	answer, err := c.Call(ctx, method, path, body)
	var refusal *client.Refusal
	if !errors.As(err, &refusal) {
		return answer, err
	}
	if v.json && refusal.Code != "" {
		fmt.Fprintf(v.out, "%s\n", refusal.Body)
	}
	if refusal.Status == http.StatusUnauthorized && refusal.Code == "unauthenticated" {
		return answer, fmt.Errorf("%w: the key or session is none any more: arena sign-in EMAIL", err)
	}
	return answer, err
}

// show prints an answer: as it came, or as text writes what it decodes to.
func show[T any](v *visit, a client.Answer, text func(io.Writer, T)) error {
	if v.json {
		if len(a.Body) > 0 {
			fmt.Fprintf(v.out, "%s\n", a.Body)
		}
		return nil
	}
	var decoded T
	if len(a.Body) > 0 {
		if err := json.Unmarshal(a.Body, &decoded); err != nil {
			return fmt.Errorf("%s answers what this program does not read: %w", v.base, err)
		}
	}
	w := tabwriter.NewWriter(v.out, 0, 0, 2, ' ', 0)
	text(w, decoded)
	return w.Flush()
}

// ownersVisit is that of someone who holds a key, or a session.
type ownersVisit struct {
	*visit
	flags signed
}

func (f signed) visit(s streams) (*ownersVisit, error) {
	v, err := f.remote.visit(s)
	return &ownersVisit{v, f}, err
}

// call makes a call that needs a scope.
func (c *ownersVisit) call(ctx context.Context, scope, method, path string, body any) (client.Answer, error) {
	who, err := c.who(scope)
	if err != nil {
		return client.Answer{}, err
	}
	return c.callAs(ctx, who, method, path, body)
}

// who chooses what to call with: the key that is named; else the one that is
// remembered, if it has the scope; else the session, which has every scope.
func (c *ownersVisit) who(scope string) (client.Options, error) {
	named := c.flags.Key != "" || c.flags.KeyID != ""
	switch {
	case named || c.mine.may(scope):
		key, err := c.key()
		return client.Options{Key: key}, err
	case c.mine.Session != "":
		return client.Options{Session: c.mine.Session}, nil
	case c.mine.KeyID != "":
		return client.Options{}, fmt.Errorf("the key %s lacks the scope %s: arena sign-in EMAIL, or name a key that has it", c.mine.KeyID, scope)
	}
	return client.Options{}, fmt.Errorf("not signed in at %s: arena sign-in EMAIL, or name a key by --key and --key-id", c.base)
}

// key is the key that is named, or what is remembered for what is not.
func (c *ownersVisit) key() (*client.Key, error) {
	file, id := c.flags.Key, c.flags.KeyID
	if file == "" && (id == "" || id == c.mine.KeyID) {
		file = c.mine.KeyFile
	}
	if file == "" {
		var err error
		if file, err = standardKeyFile(); err != nil {
			return nil, err
		}
	}
	if absolute, err := filepath.Abs(file); id == "" && err == nil && absolute == c.mine.KeyFile {
		id = c.mine.KeyID
	}
	if id == "" {
		return nil, fmt.Errorf("--key-id is missing: which of your API keys is %s?", file)
	}
	private, err := readKey(file)
	if err != nil {
		return nil, err
	}
	return &client.Key{ID: id, Private: private}, nil
}

// configFolder is where a user's programs keep their settings.
func configFolder() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "hexarena"), nil
}
