package remote

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/auth"
)

// The arena can parse the public key in the printed line, and that key verifies
// signatures by the private key.
func TestKeyNewMakesAMatchingPair(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	var out, errOut bytes.Buffer
	require.NoError(t, keyNew{Out: path}.Run(&kong.Kong{Stdout: &out, Stderr: &errOut}))
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
