package witness

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	mode   = "standard"
	origin = "arena.example/ladder/standard"
)

// keyOf returns a key that depends only on the name.
func keyOf(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

// ladderTree is a tree with signed heads. To be independent of the arena, it uses
// golang.org/x/mod and not the arena's library.
type ladderTree struct {
	signer note.Signer
	vkey   string

	mu     sync.Mutex
	hashes []tlog.Hash
	size   int64
	err    error // if not nil, reads return this error
}

// arenaKey is a signer for the tree's origin.
type arenaKey struct {
	note.Verifier
	key ed25519.PrivateKey
}

func (k arenaKey) Sign(text []byte) ([]byte, error) { return ed25519.Sign(k.key, text), nil }

func newLadderTree(t testing.TB) *ladderTree {
	key := keyOf("arena")
	vkey, err := note.NewEd25519VerifierKey(origin, key.Public().(ed25519.PublicKey))
	require.NoError(t, err)
	v, err := note.NewVerifier(vkey)
	require.NoError(t, err)
	return &ladderTree{signer: arenaKey{v, key}, vkey: vkey}
}

// ReadHashes implements tlog.HashReader. The caller holds mu.
func (l *ladderTree) ReadHashes(places []int64) ([]tlog.Hash, error) {
	var found []tlog.Hash
	for _, p := range places {
		found = append(found, l.hashes[p])
	}
	return found, nil
}

// grow adds entries. The entries depend on the name.
func (l *ladderTree) grow(name string, entries int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range entries {
		hashes, err := tlog.StoredHashes(l.size, fmt.Appendf(nil, "%s %d", name, l.size), l)
		if err != nil {
			panic(err)
		}
		l.hashes = append(l.hashes, hashes...)
		l.size++
	}
}

// l.at returns the signed head for a size.
func (l *ladderTree) at(size int64) []byte {
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		panic(err)
	}
	signed, err := note.Sign(&note.Note{Text: torchwood.Checkpoint{Origin: origin, Tree: tlog.Tree{N: size, Hash: root}}.String()}, l.signer)
	if err != nil {
		panic(err)
	}
	return signed
}

// SignedHead implements Trees.
func (l *ladderTree) SignedHead(string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	return l.at(l.size), nil
}

// Consistency implements Trees.
func (l *ladderTree) Consistency(_ context.Context, _ string, from, to uint64) ([][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	proof, err := tlog.ProveTree(int64(to), int64(from), l)
	var hashes [][]byte
	for _, h := range proof {
		hashes = append(hashes, h[:])
	}
	return hashes, err
}

// The method newest() returns the newest signed head.
func (l *ladderTree) newest() []byte {
	signed, err := l.SignedHead(mode)
	if err != nil {
		panic(err)
	}
	return signed
}

// fakeWitness is a witness that implements C2SP tlog-witness for a single log.
type fakeWitness struct {
	signer *torchwood.CosignatureSigner
	logKey string

	mu       sync.Mutex
	size     int64
	root     tlog.Hash
	requests []string                              // the first line of each request
	fault    func(http.ResponseWriter) (done bool) // if not nil, responds instead of the witness
	before   func(context.Context)                 // if not nil, is called before each response
}

func newFakeWitness(t testing.TB, name, logKey string) *fakeWitness {
	signer, err := torchwood.NewCosignatureSigner(name, keyOf(name))
	require.NoError(t, err)
	return &fakeWitness{signer: signer, logKey: logKey}
}

// flag returns the value of the flag --witness for this witness at a URL.
func (f *fakeWitness) flag(url string) string { return f.signer.Verifier().String() + " " + url }

func (f *fakeWitness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/add-checkpoint" {
		http.Error(w, "only POST /add-checkpoint", http.StatusNotFound)
		return
	}
	if f.before != nil {
		f.before(r.Context())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	first, _, _ := strings.Cut(string(body), "\n")
	f.requests = append(f.requests, first)
	if f.fault != nil && f.fault(w) {
		return
	}
	f.serve(w, string(body))
}

// serve checks a request and cosigns its head.
func (f *fakeWitness) serve(w http.ResponseWriter, body string) {
	intro, signed, found := strings.Cut(body, "\n\n")
	lines := strings.Split(intro, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if err != nil || !found || !strings.HasPrefix(lines[0], "old ") {
		http.Error(w, "malformed request", http.StatusBadRequest)
		return
	}
	var proof tlog.TreeProof
	for _, line := range lines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		proof = append(proof, h)
	}
	v, err := note.NewVerifier(f.logKey)
	if err != nil {
		panic(err)
	}
	n, err := note.Open([]byte(signed), note.VerifierList(v))
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	c, err := torchwood.ParseCheckpoint(n.Text)
	switch {
	case err != nil || old > c.N || old == 0 && len(proof) > 0:
		http.Error(w, "malformed head", http.StatusBadRequest)
	case old != f.size, old == c.N && old > 0 && c.Hash != f.root:
		w.Header().Set("Content-Type", "text/x.tlog.size")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, "%d\n", f.size)
	case old > 0 && tlog.CheckTree(proof, c.N, c.Hash, f.size, f.root) != nil:
		http.Error(w, "bad proof", http.StatusUnprocessableEntity)
	default:
		f.size, f.root = c.N, c.Hash
		fmt.Fprint(w, cosignatures(n.Text, f.signer))
	}
}

// The function cosignatures() returns the cosignatures of a head as lines of a note.
func cosignatures(text string, signers ...note.Signer) string {
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		panic(err)
	}
	_, lines, _ := strings.Cut(string(signed), "\n\n")
	return lines
}

// setFault sets the function that responds instead of the witness.
func (f *fakeWitness) setFault(fault func(http.ResponseWriter) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *fakeWitness) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// inMemory passes requests to handlers without a network, so that tests can use the
// clock of a synctest bubble. It selects the handler by the host in the URL.
type inMemory map[string]http.Handler

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	h, ok := m[r.URL.Host]
	if !ok {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// policyOf returns a policy that requires cosignatures from n of the witnesses.
func policyOf(t testing.TB, l *ladderTree, n int, witnesses ...*fakeWitness) torchwood.Policy {
	t.Helper()
	text, names := "log "+l.vkey+"\n", ""
	for i, w := range witnesses {
		text += fmt.Sprintf("witness w%d %s\n", i, w.signer.Verifier())
		names += fmt.Sprintf(" w%d", i)
	}
	p, err := torchwood.ParsePolicy(fmt.Appendf(nil, "%sgroup all %d%s\nquorum all\n", text, n, names))
	require.NoError(t, err)
	return p
}

// sizeOf returns the size of a head, and requires that the head satisfies a policy.
func sizeOf(t testing.TB, signed []byte, p torchwood.Policy) int64 {
	t.Helper()
	c, _, err := torchwood.VerifyCheckpoint(signed, p)
	require.NoError(t, err, "%s", signed)
	return c.N
}

// logLines keeps the log's lines.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newClient returns a client with the given flags, and the lines that it logs.
func newClient(t testing.TB, trees Trees, flags ...string) (*Client, *logLines) {
	t.Helper()
	witnesses, err := ParseAll(flags)
	require.NoError(t, err)
	lines := new(logLines)
	return New(Options{
		Witnesses: witnesses, Modes: []string{mode}, Trees: trees, Logger: slog.New(slog.NewTextHandler(lines, nil)),
	}), lines
}

// garbage returns a line that looks like a signature, but is not valid under any
// key.
func garbage(name string) string {
	return fmt.Sprintf("— %s %s\n", name, base64.StdEncoding.EncodeToString(make([]byte, 76)))
}
