package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type keysCmd struct {
	List   keysList   `cmd:"" help:"List your API keys, including revoked ones."`
	Add    keysAdd    `cmd:"" help:"Register an API key: your own, to sign with from now on, or another public key."`
	Use    keysUse    `cmd:"" help:"Sign with a key that is registered already."`
	Revoke keysRevoke `cmd:"" help:"Revoke an API key for good."`
}

func printKey(w io.Writer, k rest.Key) {
	state := "never used"
	switch {
	case k.RevokedAt != nil:
		state = "revoked " + *k.RevokedAt
	case k.LastUsedAt != nil:
		state = "used " + *k.LastUsedAt
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", client.OneLine(k.Name), k.ID, strings.Join(names(k.Scopes), ","), state)
}

func names(scopes []owner.Scope) []string {
	var list []string
	for _, s := range scopes {
		list = append(list, string(s))
	}
	return list
}

const (
	keysRead  = "keys.read"
	keysWrite = "keys.write"
)

type keysList struct{ signed }

// Run runs `arena keys list`.
func (c keysList) Run(ctx context.Context, k *kong.Kong) error {
	s, err := c.session(k)
	if err != nil {
		return err
	}
	return list(ctx, s, keysRead, "/keys", func(w io.Writer, list rest.Keys) {
		for _, key := range list.Keys {
			printKey(w, key)
		}
	})
}

type keysAdd struct {
	signed
	Name   string   `arg:"" help:"Name of the key, for you."`
	Public string   `arg:"" optional:"" help:"File with a public key: an OpenSSH line, PEM or base64; - for standard input (default: the public half of --key, or of \"arena key new\")."`
	Scopes []string `placeholder:"SCOPE,..." help:"Calls that the key may make (default: bots.read,bots.write). The scopes are bots.read, bots.write, keys.read, keys.write, account.read and account.write."`
}

// Run registers a key. Commands sign with the caller's own key from then on.
func (c keysAdd) Run(ctx context.Context, k *kong.Kong) error {
	own := c.Public == ""
	file := c.Key
	if own && c.KeyID == "" {
		c.Key = "" // it is the key to register, not the key to sign with
	}
	s, err := c.session(k)
	if err != nil {
		return err
	}
	var line string
	if own {
		file, line, err = publicHalf(file)
	} else {
		line, err = publicKey(c.Public)
	}
	if err != nil {
		return err
	}
	answer, err := s.call(ctx, keysWrite, http.MethodPost, "/keys", rest.NewKey{Name: c.Name, PublicKey: line, Scopes: c.Scopes})
	if err != nil {
		return err
	}
	if own {
		var key rest.Key
		if err := decode(answer, &key); err != nil {
			return err
		}
		if err := s.remember(key.ID, file, names(key.Scopes)); err != nil {
			return err
		}
	}
	return show(s.session, answer, printKey)
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
		return "", fmt.Errorf("%s holds a private key: it was not sent; register its public half", file)
	}
	return string(text), nil
}

// maxKeyFile is more than a key needs in any format, in bytes.
const maxKeyFile = 16 << 10

// publicHalf returns the absolute path of a private key's file, and the line to
// register.
func publicHalf(file string) (path, line string, err error) {
	if file == "" {
		if file, err = defaultKeyFile(); err != nil {
			return "", "", err
		}
	}
	if path, err = filepath.Abs(file); err != nil {
		return "", "", err
	}
	private, err := readKey(path)
	if err != nil {
		return "", "", err
	}
	line, err = client.PublicLine(private)
	return path, strings.TrimSpace(line), err
}

// remember makes later commands sign with a key.
func (s *session) remember(id, file string, scopes []string) error {
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
	Key string `placeholder:"FILE" help:"Its private key, in PEM (default: the one of \"arena key new\")."`
}

// Run remembers a key that was registered elsewhere.
func (c keysUse) Run(k *kong.Kong) error {
	s, err := c.session(k)
	if err != nil {
		return err
	}
	file, _, err := publicHalf(c.Key)
	if err != nil {
		return err
	}
	return s.remember(c.ID, file, nil)
}

type keysRevoke struct {
	signed
	Name string `arg:"" name:"key" help:"The key, by its id or its name."`
}

// Run revokes a key. The profile forgets it if it signed with that key.
func (c keysRevoke) Run(ctx context.Context, k *kong.Kong) error {
	s, err := c.session(k)
	if err != nil {
		return err
	}
	id, err := s.keyID(ctx, c.Name)
	if err != nil {
		return err
	}
	if _, err := s.call(ctx, keysWrite, http.MethodDelete, "/keys/"+id, nil); err != nil {
		return err
	}
	if s.mine.KeyID == id {
		return s.remember("", "", nil)
	}
	return nil
}

// keyID finds one of the caller's keys by its id, or by its name among the keys
// that are not revoked.
func (s *ownerSession) keyID(ctx context.Context, name string) (string, error) {
	if uuid.Validate(name) == nil {
		return name, nil
	}
	answer, err := s.call(ctx, keysRead, http.MethodGet, "/keys", nil)
	if err != nil {
		return "", err
	}
	var list rest.Keys
	if err := decode(answer, &list); err != nil {
		return "", err
	}
	var ids []string
	for _, key := range list.Keys {
		if key.Name == name && key.RevokedAt == nil {
			ids = append(ids, key.ID)
		}
	}
	return onlyID("key", name, ids)
}
