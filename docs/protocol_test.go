package docs_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
)

// The script in protocol.md prints the proof that the arena accepts, and the example
// shows the text that it signs.
func TestProofOfAKey(t *testing.T) {
	page := read(t, "protocol.md")
	_, section, found := strings.Cut(page, "#### Moving a key to another account")
	require.True(t, found)
	base := &url.URL{Scheme: "https", Host: "Arena.example"}
	const account = "10c36178-defa-4bd5-8772-456515cd40fd"
	example, err := base64.StdEncoding.DecodeString("vy0+BOmNjeJgulBwSNwYIV0hAgOAQ1BsKTdFdj4+ohY=")
	require.NoError(t, err)
	require.Contains(t, section, "```\n"+rest.KeyChallenge(base, account, example)+"\n```")

	_, script, found := strings.Cut(section, "```sh\n")
	require.True(t, found)
	script, _, _ = strings.Cut(script, "```")
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), key, 0o600))
	command := exec.CommandContext(t.Context(), "sh", "-c", script)
	command.Dir, command.Env = dir, append(os.Environ(), "ARENA_HOST=arena.example", "ACCOUNT="+account)
	printed, err := command.Output()
	require.NoError(t, err)
	proof, err := base64.StdEncoding.DecodeString(string(printed))
	require.NoError(t, err, "%s", printed)
	require.True(t, ed25519.Verify(public, []byte(rest.KeyChallenge(base, account, public)), proof))
}
