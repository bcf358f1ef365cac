package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hexarena/domain/owner"
)

// profile holds the data that commands share: the arena that the user last signed in
// to, and the credentials for each arena. The profile's file contains session
// cookies, so only the user can read it.
type profile struct {
	path   string
	Arena  string                  `json:"arena,omitempty"` // used if no flag names an arena
	Arenas map[string]*credentials `json:"arenas,omitempty"`
}

// The type credentials holds the user's credentials for one arena.
type credentials struct {
	Session string        `json:"session,omitempty"` // the cookie, name=value
	KeyID   string        `json:"keyId,omitempty"`
	KeyFile string        `json:"keyFile,omitempty"` // absolute path of the private key
	Scopes  []owner.Scope `json:"scopes,omitempty"`  // the key's scopes; empty if unknown
}

// hasScope reports whether there is a key that has the scope or whose scopes are
// unknown.
func (c *credentials) hasScope(scope owner.Scope) bool {
	return c.KeyID != "" && (len(c.Scopes) == 0 || slices.Contains(c.Scopes, scope))
}

// LastArena returns the URL of the arena that the user last signed in to, or of
// the default arena.
func LastArena() (string, error) {
	p, err := loadProfile()
	if err != nil {
		return "", err
	}
	return cmp.Or(p.Arena, defaultArena), nil
}

// ConfigFolder returns the program's folder in the user's configuration folder.
func ConfigFolder() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "hexarena"), nil
}

func loadProfile() (*profile, error) {
	dir, err := ConfigFolder()
	if err != nil {
		return nil, err
	}
	p := &profile{path: filepath.Join(dir, "profile.json")}
	text, err := os.ReadFile(p.path)
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s cannot be read: %w; fix it, or remove it and sign in again", p.path, err)
	}
	if p.Arenas == nil {
		p.Arenas = map[string]*credentials{}
	}
	return p, nil
}

// p.at returns the credentials for an arena. The caller may change the credentials and
// call p.save to store the change.
func (p *profile) at(base string) *credentials {
	if p.Arenas[base] == nil {
		p.Arenas[base] = new(credentials)
	}
	return p.Arenas[base]
}

// save replaces the profile's file.
func (p *profile) save() error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return ReplaceFile(p.path, append(text, '\n'))
}

// ReplaceFile writes a file in one step, so that a crash leaves either the old file or
// the new file. It creates the folder if necessary. Only the user can read the file and
// the folder.
func ReplaceFile(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
