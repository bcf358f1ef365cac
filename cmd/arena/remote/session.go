package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"hexarena/adapters/client"
	"hexarena/domain/owner"
)

// target holds the flags of every command that calls an arena.
type target struct {
	Arena string `placeholder:"URL" help:"The arena (default: the one you last signed in to, else http://127.0.0.1:8080)."`
	JSON  bool   `name:"json" help:"Print the arena's response as JSON."`
}

// The type signed holds the flags of commands that make signed calls.
type signed struct {
	target
	Key   string `placeholder:"FILE" help:"Private key to sign with, in PEM (default: the key of the last \"keys add\")."`
	KeyID string `placeholder:"ID" help:"The key's id at the arena (default: the remembered one)."`
}

// session makes the calls of one command.
type session struct {
	base           string // the arena's URL
	json           bool
	out            io.Writer
	profile        *profile
	mine           *credentials // the profile's credentials for this arena
	keyFile, keyID string       // the values of --key and --key-id
}

// ProvideSession makes the session that Run receives. The flag parser calls it.
func (f target) ProvideSession(k *kong.Kong) (*session, error) {
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

// ProvideSession makes the session that Run receives. The flag parser calls it.
func (f signed) ProvideSession(k *kong.Kong) (*session, error) {
	s, err := f.target.ProvideSession(k)
	if err == nil {
		s.keyFile, s.keyID = f.Key, f.KeyID
	}
	return s, err
}

// request is one call to an arena.
type request struct {
	scope        owner.Scope // the scope that a key needs; if empty, the call has no credentials
	method, path string
	body         any
}

func get(scope owner.Scope, path string) request {
	return request{scope: scope, method: http.MethodGet, path: path}
}

func post(scope owner.Scope, path string, body any) request {
	return request{scope, http.MethodPost, path, body}
}

// answer holds an arena's response: the body, and the value decoded from the body.
type answer[T any] struct {
	client.Answer
	value T
}

// ask makes a call and decodes the response. If the response has no body, the
// value is zero.
func ask[T any](ctx context.Context, s *session, r request) (a answer[T], err error) {
	if a.Answer, err = s.call(ctx, r); err != nil || len(a.Body) == 0 {
		return a, err
	}
	if err := json.Unmarshal(a.Body, &a.value); err != nil {
		return a, fmt.Errorf("this program cannot read the arena's response: %w", err)
	}
	return a, nil
}

// show prints a response. With --json it prints the body unchanged, and without
// --json it calls text to format the value. It prints nothing if the body is
// empty.
func show[T any](s *session, a answer[T], text func(io.Writer, T)) error {
	switch {
	case len(a.Body) == 0:
		return nil
	case s.json:
		fmt.Fprintf(s.out, "%s\n", a.Body)
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	text(w, a.value)
	return w.Flush()
}

// askAndShow makes a call and prints the response.
func askAndShow[T any](ctx context.Context, s *session, r request, text func(io.Writer, T)) error {
	a, err := ask[T](ctx, s, r)
	if err != nil {
		return err
	}
	return show(s, a, text)
}

// call sends a request with credentials that have the request's scope.
func (s *session) call(ctx context.Context, r request) (client.Answer, error) {
	credentials, err := s.credentials(r.scope)
	if err != nil {
		return client.Answer{}, err
	}
	return s.callAs(ctx, credentials, r)
}

func (s *session) callAs(ctx context.Context, credentials client.Options, r request) (client.Answer, error) {
	credentials.Base = s.base
	c, err := client.New(credentials)
	if err != nil {
		return client.Answer{}, err
	}
	answer, err := c.Call(ctx, r.method, r.path, r.body)
	return answer, s.explained(err)
}

// The method explained() shows a refusal (see showRefusal). If the credentials are no
// longer valid, the error that it returns also says what to do.
func (s *session) explained(err error) error {
	var refusal *client.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	s.showRefusal(refusal)
	if refusal.Status == http.StatusUnauthorized && refusal.Code == "unauthenticated" {
		return fmt.Errorf("%w: your credentials expired or were revoked; run arena sign-in EMAIL", err)
	}
	return err
}

// With --json, showRefusal prints the problem that the arena returned for a refused
// call.
func (s *session) showRefusal(r *client.Refusal) {
	if s.json && r.Code != "" {
		fmt.Fprintf(s.out, "%s\n", r.Body)
	}
}

// The method credentials() chooses the credentials for a call. Its first choice is the
// key that the flags name. The second is the profile's key, if that key has the scope.
// The third is the session, which has every scope.
func (s *session) credentials(scope owner.Scope) (client.Options, error) {
	named := s.keyFile != "" || s.keyID != ""
	switch {
	case scope == "":
		return client.Options{}, nil
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

// key returns the key that the flags name. If the flags name only the file or only
// the id, key takes the missing value from the profile or uses the default file.
func (s *session) key() (*client.Key, error) {
	file, id := s.keyFile, s.keyID
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
		return nil, fmt.Errorf("--key-id is missing: give the id of the API key in %s", file)
	}
	private, err := readKey(file)
	if err != nil {
		return nil, err
	}
	return &client.Key{ID: id, Private: private}, nil
}

// entry is one bot or key in a list.
type entry struct {
	ID, Name  string
	RevokedAt *string // set only for keys
}

// idOf finds one of the caller's bots or keys by its id or its name. It finds a
// revoked key only by its id.
func (s *session) idOf(ctx context.Context, what, name string, list request) (string, error) {
	if uuid.Validate(name) == nil {
		return name, nil
	}
	listed, err := ask[struct{ Bots, Keys []entry }](ctx, s, list) // a response contains only one of the two
	if err != nil {
		return "", err
	}
	var ids []string
	for _, e := range slices.Concat(listed.value.Bots, listed.value.Keys) {
		if e.Name == name && e.RevokedAt == nil {
			ids = append(ids, e.ID)
		}
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("you have no %s named %q", what, name)
	case 1:
		return url.PathEscape(ids[0]), nil
	}
	return "", fmt.Errorf("you have more than one %s named %q; use its id: %s", what, name, strings.Join(ids, ", "))
}
