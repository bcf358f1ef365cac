package main

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/auth"
)

// A key pair as it is made: what the private half signs, the line that is
// printed, as it is registered, verifies.
func TestKeyNewMakesAPair(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	var out, errOut bytes.Buffer
	require.Zero(t, run([]string{"key", "new", "--out", path}, &out, &errOut))
	require.Equal(t, "the private key is in "+path+"\n", errOut.String())

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	private, err := readKey(path)
	require.NoError(t, err)
	public, err := auth.ParsePublicKey(out.String())
	require.NoError(t, err)
	message := []byte("1.GET./me.")
	require.True(t, ed25519.Verify(public, message, ed25519.Sign(private, message)))
}
