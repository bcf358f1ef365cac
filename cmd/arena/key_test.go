package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/auth"
)

// A key pair as it is printed: what the first half signs, the second, as it is
// registered, verifies.
func TestKeyNewMakesAPair(t *testing.T) {
	var out, errOut bytes.Buffer
	require.Zero(t, run([]string{"key", "new"}, &out, &errOut))
	require.Empty(t, errOut.String())

	block, line := pem.Decode(out.Bytes())
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(t, err)
	public, err := auth.ParsePublicKey(string(line))
	require.NoError(t, err)
	message := []byte("1.GET./me.")
	require.True(t, ed25519.Verify(public, message, ed25519.Sign(private.(ed25519.PrivateKey), message)))
}
