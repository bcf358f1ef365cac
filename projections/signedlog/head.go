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

// Head is a tree head: the size and the root hash of one of a mode's trees.
type Head struct {
	Origin string
	Size   uint64
	Root   []byte
}

// Origin returns the name of a mode's tree of results at an arena's host.
func Origin(host, mode string) string { return host + "/" + resultsTree(mode) }

// LadderOrigin returns the name of a mode's ladder tree at an arena's host.
func LadderOrigin(host, mode string) string { return host + "/" + ladderTree(mode) }

// VerifierKey returns the key that verifies the heads of an origin, in the format
// of C2SP signed-note.
func VerifierKey(origin string, key ed25519.PublicKey) (string, error) {
	text, err := note.NewEd25519VerifierKey(origin, key)
	if err != nil {
		return "", err
	}
	if _, err := note.NewVerifier(text); err != nil {
		return "", fmt.Errorf("invalid origin %q: %w", origin, err)
	}
	return text, nil
}

// Sign returns a head as a signed note (C2SP tlog-checkpoint). The same head always
// results in the same note.
func Sign(h Head, key ed25519.PrivateKey) ([]byte, error) {
	v, err := verifierOf(h.Origin, key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	text := checkpoint.Checkpoint{Origin: h.Origin, Size: h.Size, Hash: h.Root}.Marshal()
	return note.Sign(&note.Note{Text: string(text)}, signer{v, key})
}

// verifierOf returns the verifier for signatures that a key makes under an origin.
func verifierOf(origin string, key ed25519.PublicKey) (note.Verifier, error) {
	text, err := VerifierKey(origin, key)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(text)
}

// signer is a note.Signer for a private key.
type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

// Sign implements note.Signer.
func (s signer) Sign(text []byte) ([]byte, error) { return ed25519.Sign(s.key, text), nil }

var errHead = errors.New("not a signed head")

// Open parses a signed head of a mode's tree of results and checks the signature.
// The origin may contain any host, because the key identifies the arena.
func Open(signed []byte, mode string, key ed25519.PublicKey) (Head, error) {
	return open(signed, mode, Origin("", mode), key)
}

// OpenLadder is like Open, but for a head of a mode's ladder tree. It ignores the
// signatures of other keys, for example those of witnesses.
func OpenLadder(signed []byte, mode string, key ed25519.PublicKey) (Head, error) {
	return open(signed, mode, LadderOrigin("", mode), key)
}

func open(signed []byte, mode, suffix string, key ed25519.PublicKey) (Head, error) {
	origin, _, _ := strings.Cut(string(signed), "\n")
	if !strings.HasSuffix(origin, suffix) {
		return Head{}, fmt.Errorf("%w of mode %s: its origin is %q", errHead, mode, origin)
	}
	v, err := verifierOf(origin, key)
	if err != nil {
		return Head{}, err
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return Head{}, fmt.Errorf("%w of the platform key: %w", errHead, err)
	}
	var c checkpoint.Checkpoint
	rest, err := c.Unmarshal([]byte(n.Text))
	if err != nil || len(rest) > 0 || len(c.Hash) != rfc6962.DefaultHasher.Size() {
		return Head{}, fmt.Errorf("%w: its text must consist of origin, size and root", errHead)
	}
	return Head{Origin: origin, Size: c.Size, Root: c.Hash}, nil
}

// RootOf computes the root hash of the tree from a leaf and the proof. It fails if
// the proof has the wrong number of hashes.
func (i Inclusion) RootOf(leaf []byte) ([]byte, error) {
	return proof.RootFromInclusionProof(rfc6962.DefaultHasher, i.Index, i.Size, rfc6962.DefaultHasher.HashLeaf(leaf), i.Hashes)
}

// Continues returns nil if the hashes prove that h continues an earlier head. Every
// head continues an empty head.
func (h Head) Continues(earlier Head, hashes [][]byte) error {
	if earlier.Size == 0 {
		return nil
	}
	return proof.VerifyConsistency(rfc6962.DefaultHasher, earlier.Size, h.Size, hashes, earlier.Root, h.Root)
}
