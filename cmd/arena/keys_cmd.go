package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"hexarena/adapters/client"
)

type keysCmd struct {
	List   keysList   `cmd:"" help:"List your API keys, revoked ones too."`
	Add    keysAdd    `cmd:"" help:"Register an API key: your own, to sign with from now on, or another public key."`
	Use    keysUse    `cmd:"" help:"Sign with a key that is registered already."`
	Revoke keysRevoke `cmd:"" help:"Revoke an API key for good."`
}

// keyAnswer is a key as the arena answers it.
type keyAnswer struct {
	ID, Name, CreatedAt   string
	Scopes                []string
	LastUsedAt, RevokedAt *string
}

func (k keyAnswer) line(w io.Writer) {
	state := "never used"
	switch {
	case k.RevokedAt != nil:
		state = "revoked " + *k.RevokedAt
	case k.LastUsedAt != nil:
		state = "used " + *k.LastUsedAt
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", client.OneLine(k.Name), k.ID, strings.Join(k.Scopes, ","), state)
}

const (
	keysRead  = "keys.read"
	keysWrite = "keys.write"
)

type keysList struct{ signed }

// Run runs `arena keys list`.
func (c keysList) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	answer, err := v.call(ctx, keysRead, http.MethodGet, "/keys", nil)
	if err != nil {
		return err
	}
	return show(v.visit, answer, func(w io.Writer, list struct{ Keys []keyAnswer }) {
		for _, k := range list.Keys {
			k.line(w)
		}
	})
}

type keysAdd struct {
	signed
	Name   string   `arg:"" help:"Name of the key, for you."`
	Public string   `arg:"" optional:"" help:"File of the public key, an OpenSSH line, PEM or base64; - for the input (default: that of --key, or of \"arena key new\")."`
	Scopes []string `placeholder:"SCOPE,..." help:"What it may do (default: bots.read,bots.write); there are bots.read, bots.write, keys.read, keys.write, account.read and account.write."`
}

// Run registers a key. The caller's own is the one to sign with from now on.
func (c keysAdd) Run(ctx context.Context, s streams) error {
	own := c.Public == ""
	file := c.Key
	if own && c.KeyID == "" {
		c.Key = "" // it is what to register, not what to sign with
	}
	v, err := c.visit(s)
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
	order := map[string]any{"name": c.Name, "publicKey": line}
	if len(c.Scopes) > 0 {
		order["scopes"] = c.Scopes
	}
	answer, err := v.call(ctx, keysWrite, http.MethodPost, "/keys", order)
	if err != nil {
		return err
	}
	if own {
		var k keyAnswer
		if err := decode(answer, &k); err != nil {
			return err
		}
		if err := v.remember(k.ID, file, k.Scopes); err != nil {
			return err
		}
	}
	return show(v.visit, answer, func(w io.Writer, k keyAnswer) { k.line(w) })
}

// publicKey reads a public key that was made elsewhere.
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

// maxKeyFile is more than any format of a key takes, in bytes.
const maxKeyFile = 16 << 10

// publicHalf is the public line of a private key's file, and its path.
func publicHalf(file string) (path, line string, err error) {
	if file == "" {
		if file, err = standardKeyFile(); err != nil {
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

// remember has the arena called with a key from now on.
func (v *visit) remember(id, file string, scopes []string) error {
	v.mine.KeyID, v.mine.KeyFile, v.mine.Scopes = id, file, scopes
	v.profile.Arena = v.base
	if err := v.profile.save(); err != nil {
		return fmt.Errorf("the key %s is not remembered: %w", id, err)
	}
	return nil
}

type keysUse struct {
	remote
	ID  string `arg:"" help:"The key's id at the arena."`
	Key string `placeholder:"FILE" help:"Its private key, in PEM (default: that of \"arena key new\")."`
}

// Run remembers a key that was registered elsewhere.
func (c keysUse) Run(s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	file, _, err := publicHalf(c.Key)
	if err != nil {
		return err
	}
	return v.remember(c.ID, file, nil)
}

type keysRevoke struct {
	signed
	Name string `arg:"" name:"key" help:"The key, by its id or its name."`
}

// Run revokes a key, and forgets it if it was the one to sign with.
func (c keysRevoke) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	id, err := v.keyID(ctx, c.Name)
	if err != nil {
		return err
	}
	if _, err := v.call(ctx, keysWrite, http.MethodDelete, "/keys/"+id, nil); err != nil {
		return err
	}
	if v.mine.KeyID == id {
		return v.remember("", "", nil)
	}
	return nil
}

// keyID finds one of the caller's keys by its id or, among those that are not
// revoked, its name.
func (c *ownersVisit) keyID(ctx context.Context, named string) (string, error) {
	if uuid.Validate(named) == nil {
		return named, nil
	}
	answer, err := c.call(ctx, keysRead, http.MethodGet, "/keys", nil)
	if err != nil {
		return "", err
	}
	var list struct{ Keys []keyAnswer }
	if err := decode(answer, &list); err != nil {
		return "", err
	}
	var ids []string
	for _, k := range list.Keys {
		if k.Name == named && k.RevokedAt == nil {
			ids = append(ids, k.ID)
		}
	}
	return theOne("key", named, ids)
}

func decode(a client.Answer, into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("the arena answers what this program does not read: %w", err)
	}
	return nil
}

// checked says whether a deploy check was passed.
func checked(a client.Answer) (ok bool, err error) {
	var check struct{ OK bool }
	err = decode(a, &check)
	return check.OK, err
}
