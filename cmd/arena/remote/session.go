package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
)

// target are the flags of every command that calls an arena.
type target struct {
	Arena string `placeholder:"URL" help:"The arena (default: the one of the last sign-in, else http://127.0.0.1:8080)."`
	JSON  bool   `name:"json" help:"Print the arena's own answer, in JSON."`
}

// signed are the flags of commands that make signed calls.
type signed struct {
	target
	Key   string `placeholder:"FILE" help:"Private key to sign with, in PEM (default: the one of \"keys add\")."`
	KeyID string `placeholder:"ID" help:"Its id at the arena (default: the remembered one)."`
}

// session is what one command needs to call an arena.
type session struct {
	base    string // the arena's URL
	json    bool
	out     io.Writer
	profile *profile
	mine    *credentials // the profile's, for this arena
}

func (f target) session(k *kong.Kong) (*session, error) {
	p, err := loadProfile()
	if err != nil {
		return nil, err
	}
	base, err := client.Base(cmp.Or(f.Arena, p.Arena, defaultArena))
	if err != nil {
		return nil, fmt.Errorf("--arena %w", err)
	}
	return &session{base: base, json: f.JSON, out: k.Stdout, profile: p, mine: p.at(base)}, nil
}

// call makes a call without credentials.
func (s *session) call(ctx context.Context, method, path string, body any) (client.Answer, error) {
	return s.callAs(ctx, client.Options{}, method, path, body)
}

func (s *session) callAs(ctx context.Context, credentials client.Options, method, path string, body any) (client.Answer, error) {
	credentials.Base = s.base
	c, err := client.New(credentials)
	if err != nil {
		return client.Answer{}, err
	}
	answer, err := c.Call(ctx, method, path, body)
	var refusal *client.Refusal
	if !errors.As(err, &refusal) {
		return answer, err
	}
	if s.json && refusal.Code != "" {
		fmt.Fprintf(s.out, "%s\n", refusal.Body)
	}
	if refusal.Status == http.StatusUnauthorized && refusal.Code == "unauthenticated" {
		return answer, fmt.Errorf("%w: your credentials expired or were revoked; run arena sign-in EMAIL", err)
	}
	return answer, err
}

// show prints an answer: as it came with --json, else as text formats it.
func show[T any](s *session, a client.Answer, text func(io.Writer, T)) error {
	if s.json {
		if len(a.Body) > 0 {
			fmt.Fprintf(s.out, "%s\n", a.Body)
		}
		return nil
	}
	var decoded T
	if len(a.Body) > 0 {
		if err := decode(a, &decoded); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	text(w, decoded)
	return w.Flush()
}

func decode(a client.Answer, into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("this program cannot read the arena's answer: %w", err)
	}
	return nil
}

// ownerSession signs its calls with a key, or makes them with the owner's
// session.
type ownerSession struct {
	*session
	flags signed
}

func (f signed) session(k *kong.Kong) (*ownerSession, error) {
	s, err := f.target.session(k)
	return &ownerSession{s, f}, err
}

// call makes a call that needs a scope.
func (s *ownerSession) call(ctx context.Context, scope, method, path string, body any) (client.Answer, error) {
	credentials, err := s.credentials(scope)
	if err != nil {
		return client.Answer{}, err
	}
	return s.callAs(ctx, credentials, method, path, body)
}

// list makes a call that reads, and prints the answer.
func list[T any](ctx context.Context, s *ownerSession, scope, path string, text func(io.Writer, T)) error {
	answer, err := s.call(ctx, scope, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return show(s.session, answer, text)
}

// credentials chooses what to call with: the key that the flags name; else the
// remembered key, if it has the scope; else the session, which has every scope.
func (s *ownerSession) credentials(scope string) (client.Options, error) {
	named := s.flags.Key != "" || s.flags.KeyID != ""
	switch {
	case named || s.mine.hasScope(scope):
		key, err := s.key()
		return client.Options{Key: key}, err
	case s.mine.Session != "":
		return client.Options{Session: s.mine.Session}, nil
	case s.mine.KeyID != "":
		return client.Options{}, fmt.Errorf("the key %s lacks the scope %s: run arena sign-in EMAIL, or name a key that has the scope", s.mine.KeyID, scope)
	}
	return client.Options{}, fmt.Errorf("not signed in at %s: run arena sign-in EMAIL, or name a key with --key and --key-id", s.base)
}

// key is the key that the flags name. The profile and the default file fill in
// the half that they do not name.
func (s *ownerSession) key() (*client.Key, error) {
	file, id := s.flags.Key, s.flags.KeyID
	if file == "" && (id == "" || id == s.mine.KeyID) {
		file = s.mine.KeyFile
	}
	if file == "" {
		var err error
		if file, err = defaultKeyFile(); err != nil {
			return nil, err
		}
	}
	if absolute, err := filepath.Abs(file); id == "" && err == nil && absolute == s.mine.KeyFile {
		id = s.mine.KeyID
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
