package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// profile is what the owner's commands remember: which arena, and how to call
// it. It is a file of its user alone, since sessions are in it.
type profile struct {
	path   string
	Arena  string                  `json:"arena,omitempty"` // when none is named
	Arenas map[string]*credentials `json:"arenas,omitempty"`
}

// credentials are what is remembered of one arena.
type credentials struct {
	Session string   `json:"session,omitempty"` // the cookie, name=value
	KeyID   string   `json:"keyId,omitempty"`
	KeyFile string   `json:"keyFile,omitempty"` // of the private key; an absolute path
	Scopes  []string `json:"scopes,omitempty"`  // of the key; none: unknown
}

// may says whether the key is there and may have a scope.
func (c *credentials) may(scope string) bool {
	return c.KeyID != "" && (len(c.Scopes) == 0 || slices.Contains(c.Scopes, scope))
}

func loadProfile() (*profile, error) {
	dir, err := configFolder()
	if err != nil {
		return nil, err
	}
	p := &profile{path: filepath.Join(dir, "profile.json"), Arenas: map[string]*credentials{}}
	text, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w: mend it, or remove it and sign in again", p.path, err)
	}
	if p.Arenas == nil {
		p.Arenas = map[string]*credentials{}
	}
	return p, nil
}

// at is what is remembered of an arena; what is changed there is kept by save.
func (p *profile) at(base string) *credentials {
	if p.Arenas[base] == nil {
		p.Arenas[base] = new(credentials)
	}
	return p.Arenas[base]
}

// save keeps the profile, whole or not at all.
func (p *profile) save() error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(p.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".profile-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(append(text, '\n'))
	if err := errors.Join(err, temp.Close()); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := os.Rename(temp.Name(), p.path); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
