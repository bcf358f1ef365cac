package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type keysCmd struct {
	List   keysList   `cmd:"" help:"List your API keys, including revoked ones."`
	Add    keysAdd    `cmd:"" help:"Register an API key: your own, so that later commands sign with it, or another public key."`
	Use    keysUse    `cmd:"" help:"Make later commands sign with a key that is already registered."`
	Revoke keysRevoke `cmd:"" help:"Revoke an API key permanently. Asks for confirmation."`
}

func printKey(w io.Writer, k rest.Key) {
	state := "never used"
	switch {
	case k.RevokedAt != nil:
		state = "revoked " + *k.RevokedAt
	case k.LastUsedAt != nil:
		state = "used " + hourOf(*k.LastUsedAt)
	}
	var scopes []string
	for _, s := range k.Scopes {
		scopes = append(scopes, string(s))
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", client.OneLine(k.Name), k.ID, strings.Join(scopes, ","), state)
}

// hourOf returns a time without its minutes. The arena records the use of a key at most
// once an hour, so minutes would be false precision.
func hourOf(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return client.OneLine(text)
	}
	return t.UTC().Format("2006-01-02 around 15:00 UTC")
}

type keysList struct{ signed }

// Run runs `arena keys list`.
func (keysList) Run(ctx context.Context, s *session) error {
	return askAndShow(ctx, s, get(owner.KeysRead, "/keys"), func(w io.Writer, list rest.Keys) {
		for _, key := range list.Keys {
			printKey(w, key)
		}
	})
}

type keysAdd struct {
	signed
	Name   string   `arg:"" help:"A name that helps you recognize the key."`
	Public string   `arg:"" optional:"" help:"File with a public key: an OpenSSH line, PEM or base64; - for standard input (default: the public half of --key, or of \"arena key new\")."`
	Scopes []string `placeholder:"SCOPE,..." help:"Calls that the key may make (default: bots.read,bots.write). The scopes are bots.read, bots.write, keys.read, keys.write, account.read and account.write."`
}

// Run registers a key. If it is the user's own key, later commands sign with it.
func (c keysAdd) Run(ctx context.Context, s *session) error {
	if c.Public != "" {
		line, err := publicKey(c.Public)
		if err != nil {
			return err
		}
		return askAndShow(ctx, s, c.registration(line, ""), printKey)
	}
	if c.KeyID == "" {
		s.keyFile = "" // --key names the key to register, not the key to sign with
	}
	file, private, err := privateHalf(c.Key)
	if err != nil {
		return err
	}
	key, err := c.registerOwn(ctx, s, private)
	if err != nil {
		return err
	}
	if err := s.remember(key.value.ID, file, key.value.Scopes); err != nil {
		return err
	}
	return show(s, key, printKey)
}

func (c keysAdd) registration(public, proof string) request {
	return post(owner.KeysWrite, "/keys", rest.NewKey{Name: c.Name, PublicKey: strings.TrimSpace(public), Scopes: c.Scopes, Proof: proof})
}

// registerOwn registers a key whose private half is on this machine. If the key is
// active in another account, registerOwn repeats the call with a proof.
func (c keysAdd) registerOwn(ctx context.Context, s *session, private ed25519.PrivateKey) (answer[rest.Key], error) {
	line, err := client.PublicLine(private)
	if err != nil {
		return answer[rest.Key]{}, err
	}
	first := *s
	first.json = false // so that the command prints a refusal only if no second call follows
	key, err := ask[rest.Key](ctx, &first, c.registration(line, ""))
	var refusal *client.Refusal
	switch {
	case !errors.As(err, &refusal):
		return key, err
	case refusal.Code != "proof_needed":
		s.showRefusal(refusal)
		return key, err
	}
	proof, err := s.proofOf(ctx, private)
	if err != nil {
		return key, fmt.Errorf("another account uses this key, and the proof needs your account's id: %w", err)
	}
	return ask[rest.Key](ctx, s, c.registration(line, proof))
}

// proofOf returns the proof that the user has the private half of a key. The proof
// contains the URL that the session uses for the arena, so it is useless at any other
// arena.
func (s *session) proofOf(ctx context.Context, private ed25519.PrivateKey) (string, error) {
	me, err := ask[rest.Account](ctx, s, get(owner.AccountRead, "/me"))
	if err != nil {
		return "", err
	}
	base, err := url.Parse(s.base)
	if err != nil {
		return "", err
	}
	challenge := rest.KeyChallenge(base, me.value.ID, private.Public().(ed25519.PublicKey))
	return base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(challenge))), nil
}

// publicKey reads a public key from a file, or from standard input.
func publicKey(file string) (string, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(os.Stdin, maxKeyFile))
	} else {
		text, err = os.ReadFile(file)
	}
	switch {
	case err != nil:
		return "", err
	case len(text) >= maxKeyFile:
		return "", fmt.Errorf("%s is too large for a public key", file)
	case bytes.Contains(text, []byte("PRIVATE KEY")):
		return "", fmt.Errorf("%s contains a private key, so it was not sent; register its public key instead", file)
	}
	return string(text), nil
}

// maxKeyFile is the size limit of a key file, in bytes. In every supported format, a
// key is smaller.
const maxKeyFile = 16 << 10

// privateHalf reads a private key from a file. It also returns the file's absolute
// path.
func privateHalf(file string) (path string, private ed25519.PrivateKey, err error) {
	if file == "" {
		if file, err = defaultKeyFile(); err != nil {
			return "", nil, err
		}
	}
	if path, err = filepath.Abs(file); err != nil {
		return "", nil, err
	}
	private, err = readKey(path)
	return path, private, err
}

// remember makes later commands sign with a key.
func (s *session) remember(id, file string, scopes []owner.Scope) error {
	s.mine.KeyID, s.mine.KeyFile, s.mine.Scopes = id, file, scopes
	s.profile.Arena = s.base
	if err := s.profile.save(); err != nil {
		return fmt.Errorf("save the key's id %s: %w", id, err)
	}
	return nil
}

type keysUse struct {
	target
	ID  string `arg:"" help:"The key's id at the arena."`
	Key string `placeholder:"FILE" help:"The key's private half, in PEM (default: the key that \"arena key new\" made)."`
}

// Run makes later commands sign with a key that was registered elsewhere.
func (c keysUse) Run(s *session) error {
	file, _, err := privateHalf(c.Key)
	if err != nil {
		return err
	}
	return s.remember(c.ID, file, nil)
}

type keysRevoke struct {
	signed
	final
	Name string `arg:"" name:"key" help:"The key, by its id or its name."`
}

// Run revokes a key. If commands sign with that key, Run removes the key from the
// profile.
func (c keysRevoke) Run(ctx context.Context, s *session, k *kong.Kong) error {
	id, err := s.idOf(ctx, "key", c.Name, get(owner.KeysRead, "/keys"))
	if err != nil {
		return err
	}
	name := client.OneLine(c.Name)
	if err := c.confirm(k, fmt.Sprintf("Revoke the key %s permanently? Programs that sign with it lose access immediately.", name)); err != nil {
		return err
	}
	if _, err := s.call(ctx, request{owner.KeysWrite, http.MethodDelete, "/keys/" + id, nil}); err != nil {
		return err
	}
	s.say("revoked the key %s", name)
	if s.mine.KeyID == id {
		return s.remember("", "", nil)
	}
	return nil
}
