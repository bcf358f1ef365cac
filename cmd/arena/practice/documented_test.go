package practice

import (
	"crypto/ed25519"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/docs"
)

// The guide tells the key that signs local matches.
func TestTheGuideTellsTheKey(t *testing.T) {
	page, err := docs.Pages.ReadFile("practice.md")
	require.NoError(t, err)
	require.Contains(t, string(page), base64.StdEncoding.EncodeToString(platformKey.Public().(ed25519.PublicKey)))
}
