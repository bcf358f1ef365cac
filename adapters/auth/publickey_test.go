package auth

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"hexarena/domain/owner"
)

func pemOf(t testing.TB, blockType string, der []byte, err error) string {
	t.Helper()
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der}))
}

func pkixOf(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	return pemOf(t, "PUBLIC KEY", der, err)
}

func sshOf(t testing.TB, key any) string {
	t.Helper()
	public, err := ssh.NewPublicKey(key)
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
}

func TestParsePublicKey(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	x25519, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	pkcs8, pkcs8Err := x509.MarshalPKCS8PrivateKey(private)
	openSSH, err := ssh.MarshalPrivateKey(private, "ada")
	require.NoError(t, err)
	raw, line, block := encodeBase64(public), sshOf(t, public), pkixOf(t, public)

	for name, text := range map[string]string{
		"raw base64":                raw,
		"raw base64 and a newline":  raw + "\n",
		"an OpenSSH line":           line,
		"with a comment":            line + " ada@laptop of hers",
		"and a newline":             line + "\r\n",
		"a PEM block":               block,
		"a PEM block, trimmed":      strings.TrimSpace(block),
		"a PEM block, CR LF":        strings.ReplaceAll(block, "\n", "\r\n"),
		"white space around a line": "  " + line + "  ",
	} {
		t.Run(name, func(t *testing.T) {
			key, err := ParsePublicKey(text)
			require.NoError(t, err)
			require.Equal(t, public, key)
		})
	}

	for name, text := range map[string]string{
		"nothing":                       "",
		"white space":                   " \n",
		"31 bytes":                      encodeBase64(public[:31]),
		"33 bytes":                      encodeBase64(append(bytes.Clone(public), 0)),
		"the 64 bytes of a private key": encodeBase64(private),
		"base64 without padding":        strings.TrimRight(raw, "="),
		"base64 with unused bits set":   setUnusedBits(raw),
		"base64 with a line break":      raw[:20] + "\n" + raw[20:],
		"base64 for URLs":               base64.URLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, 32)),
		"hex":                           hex.EncodeToString(public),
		"two in base64":                 raw + "\n" + raw,
		"two lines":                     line + "\n" + line,
		"a line cut short":              line[:40],
		"a line with options":           `command="x" ` + line,
		"another type before the key":   strings.Replace(line, "ssh-ed25519", "ssh-rsa", 1),
		"RSA, OpenSSH":                  sshOf(t, rsaKey.Public()),
		"RSA, PEM":                      pkixOf(t, rsaKey.Public()),
		"ECDSA, PEM":                    pkixOf(t, ec.Public()),
		"X25519, PEM":                   pkixOf(t, x25519.PublicKey()),
		"two blocks":                    block + block,
		"text after a block":            block + "x",
		"text before a block":           "x" + block,
		"a block of another type":       strings.ReplaceAll(block, "PUBLIC KEY", "CERTIFICATE"),
		"a block with headers":          strings.Replace(block, "\n", "\nProc-Type: 4\n\n", 1),
		"a block cut short":             block[:60],
		"zero bytes":                    encodeBase64(make([]byte, 32)),
		"huge":                          strings.Repeat("A", 1<<20),
		"invalid UTF-8":                 "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePublicKey(text)
			var invalid *owner.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, "publicKey", invalid.Faults[0].Field)
		})
	}

	for name, text := range map[string]string{
		"PKCS #8": pemOf(t, "PRIVATE KEY", pkcs8, pkcs8Err),
		"OpenSSH": string(pem.EncodeToMemory(openSSH)),
	} {
		t.Run("a private key, "+name, func(t *testing.T) {
			_, err := ParsePublicKey(text)
			require.ErrorContains(t, err, "private key")
			require.NotContains(t, err.Error(), strings.Split(text, "\n")[1], "the error must not contain the key")
		})
	}
}

// The keys are the points of order 1, 2, 4 and 8, in canonical and in non-canonical
// encodings. Anyone can forge signatures that are valid for these keys.
func TestParsePublicKeyRejectsSmallOrder(t *testing.T) {
	for _, text := range []string{
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"0100000000000000000000000000000000000000000000000000000000000080",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	} {
		key, err := hex.DecodeString(text)
		require.NoError(t, err)
		for _, form := range []string{encodeBase64(key), sshOf(t, ed25519.PublicKey(key)), pkixOf(t, ed25519.PublicKey(key))} {
			_, err := ParsePublicKey(form)
			require.Error(t, err, text)
		}
	}
}

func FuzzParsePublicKey(f *testing.F) {
	public := ed25519.NewKeyFromSeed(make([]byte, 32)).Public()
	f.Add(encodeBase64(public.(ed25519.PublicKey)))
	f.Add(sshOf(f, public) + " ada")
	f.Add(pkixOf(f, public))
	f.Add("-----BEGIN PUBLIC KEY-----")
	f.Add("ssh-ed25519 AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := ParsePublicKey(text)
		if err != nil {
			return
		}
		again, err := ParsePublicKey(encodeBase64(key))
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}
