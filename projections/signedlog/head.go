package signedlog

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"

	checkpoint "github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

// Head is what a signed head says.
type Head struct {
	Origin string
	Size   uint64
	Root   []byte
}

// Origin names the log of a mode at an arena's host.
func Origin(host, mode string) string { return host + "/log/" + mode }

// Sign writes a head as a signed note (C2SP tlog-checkpoint). The same head is
// always the same note.
func Sign(h Head, key ed25519.PrivateKey) ([]byte, error) {
	v, err := verifierOf(h.Origin, key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	text := checkpoint.Checkpoint{Origin: h.Origin, Size: h.Size, Hash: h.Root}.Marshal()
	return note.Sign(&note.Note{Text: string(text)}, signer{v, key})
}

// verifierOf checks what a key signs under an origin.
func verifierOf(origin string, key ed25519.PublicKey) (note.Verifier, error) {
	text, err := note.NewEd25519VerifierKey(origin, key)
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, fmt.Errorf("%q can be no origin: %w", origin, err)
	}
	return v, nil
}

// signer is a note.Signer of a key that is at hand as such.
type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

// Sign implements note.Signer.
func (s signer) Sign(text []byte) ([]byte, error) { return ed25519.Sign(s.key, text), nil }

var errHead = errors.New("it is no head of a log")

// Open reads a head of a mode's log and checks its signature. Its origin may
// name any host: what tells arenas apart is the key.
func Open(signed []byte, mode string, key ed25519.PublicKey) (Head, error) {
	origin, _, _ := strings.Cut(string(signed), "\n")
	if !strings.HasSuffix(origin, Origin("", mode)) {
		return Head{}, fmt.Errorf("%w of mode %s: its origin is %q", errHead, mode, origin)
	}
	v, err := verifierOf(origin, key)
	if err != nil {
		return Head{}, err
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return Head{}, fmt.Errorf("%w that the platform key has signed: %w", errHead, err)
	}
	var c checkpoint.Checkpoint
	rest, err := c.Unmarshal([]byte(n.Text))
	if err != nil || len(rest) > 0 || len(c.Hash) != rfc6962.DefaultHasher.Size() {
		return Head{}, fmt.Errorf("%w: its text is not origin, size and root", errHead)
	}
	return Head{Origin: origin, Size: c.Size, Root: c.Hash}, nil
}

// RootOf is the root of the tree in which an inclusion places a leaf. An error
// says that it places it in none.
func (i Inclusion) RootOf(leaf []byte) ([]byte, error) {
	return proof.RootFromInclusionProof(rfc6962.DefaultHasher, i.Index, i.Size, rfc6962.DefaultHasher.HashLeaf(leaf), i.Hashes)
}

// Continues says why the hashes do not show that a head continues another; nil
// where they do. Every head continues an empty one.
func (h Head) Continues(earlier Head, hashes [][]byte) error {
	if earlier.Size == 0 {
		return nil
	}
	return proof.VerifyConsistency(rfc6962.DefaultHasher, earlier.Size, h.Size, hashes, earlier.Root, h.Root)
}
