package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hexarena/cmd/arena/demo"
	"hexarena/cmd/arena/remote"

	"github.com/stretchr/testify/require"
)

// After the log is scavenged, no file of the arena contains the address of a deleted
// account, not even the files of the read models. The test does not check the folder
// of emails, which belongs to the operator.
func TestNoFileHoldsADeletedAccount(t *testing.T) {
	t.Parallel()
	const address = "ada.lovelace@example.org"
	s := newTestArena(t, "--no-play")
	s.start()
	s.owner()
	o := &demo.Owner{Base: s.base()}
	require.NoError(t, o.Call(t.Context(), http.MethodPost, "/sign-in", map[string]string{"email": address}, nil))
	token, err := remote.MailedToken(filepath.Join(s.data, "mail"), address)
	require.NoError(t, err)
	require.NoError(t, o.Call(t.Context(), http.MethodPost, "/sign-in/confirm", map[string]string{"token": token}, nil))
	require.NoError(t, o.Call(t.Context(), http.MethodPatch, "/me", map[string]string{"name": "ada"}, nil))
	require.NotEmpty(t, keepers(t, s.data, address))
	require.NoError(t, o.Call(t.Context(), http.MethodDelete, "/me", nil, nil))
	require.Contains(t, command(t, "node", "scavenge", "--admin", s.arena.await(`operators' endpoints on (http://\S+)`)[1]), "removed")
	require.Empty(t, keepers(t, s.data, address))
	s.arena.end(syscall.SIGTERM)
	require.Empty(t, keepers(t, s.data, address))
}

// keepers returns the files in a data folder that contain the given text. It skips
// the emails.
func keepers(t *testing.T, data, text string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "mail" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // the file may have been removed after it was listed
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			files = append(files, path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}))
	return files
}
