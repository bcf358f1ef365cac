package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/adapters/witness"
	"hexarena/domain/ladder"
	"hexarena/projections/signedlog"
)

// witnessedArena is an arena behind a proxy. The proxy's address stays the same when
// the arena restarts, so the trees keep their origins.
type witnessedArena struct {
	*testArena
	t      *testing.T
	target atomic.Pointer[url.URL]
	forged atomic.Pointer[forgedHead] // served to readers instead of the standard ladder's tree; nil if readers get the real tree
}

// forgedHead is a head of a forged ladder, with the cosignature of one witness.
type forgedHead struct {
	*forgedLadder
	signed []byte
}

// ServeHTTP serves the head and its tiles in the way that an arena does.
func (f *forgedHead) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/ladder/standard/")
	if path == "checkpoint" && slices.Contains([]string{"", "0", "1"}, r.FormValue("cosignatures")) {
		_, _ = w.Write(f.signed)
		return
	}
	tile, err := torchwood.ParseTilePath(path)
	if err == nil && tile.L >= 0 {
		var data []byte
		if data, err = tlog.ReadTileData(tile, f); err == nil {
			_, _ = w.Write(data)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

func newWitnessedArena(t *testing.T) *witnessedArena {
	a := &witnessedArena{t: t}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(a.target.Load())
		r.Out.Host = r.In.Host
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forged := a.forged.Load(); forged != nil && strings.HasPrefix(r.URL.Path, "/ladder/standard/") {
			forged.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	a.testArena = newTestArena(t, "--base-url", proxy.URL, "--tick", "200ms", "--rest-standard", "0s")
	return a
}

// serve starts the arena with witnesses.
func (a *witnessedArena) serve(witnesses ...*litewitness) {
	a.t.Helper()
	var flags []string
	for _, w := range witnesses {
		flags = append(flags, "--witness", w.flag())
	}
	a.launch(flags...)
	target, err := url.Parse("http://" + a.arena.address())
	a.must(err)
	a.target.Store(target)
}

// key returns the key of a mode's ladder tree.
func (a *witnessedArena) key(mode string) string {
	a.t.Helper()
	status, key := fetch(a.t, a.base()+"/log/"+mode+"/vkey")
	require.Equal(a.t, http.StatusOK, status, key)
	return strings.TrimSuffix(key, "\n")
}

// awaitHead waits for a head of the standard ladder with cosignatures of n witnesses
// and at least size events. The head must satisfy the policy.
func (a *witnessedArena) awaitHead(n int, size int64, p torchwood.Policy) torchwood.Checkpoint {
	a.t.Helper()
	var c torchwood.Checkpoint
	eventually(a.t, fmt.Sprintf("a head of %d events has %d cosignatures", size, n), func() bool {
		status, signed := fetch(a.t, fmt.Sprintf("%s/ladder/standard/checkpoint?cosignatures=%d", a.base(), n))
		if status != http.StatusOK {
			require.Contains(a.t, []int{http.StatusNotFound, http.StatusServiceUnavailable}, status, signed)
			return false
		}
		var err error
		c, _, err = torchwood.VerifyCheckpoint([]byte(signed), p)
		require.NoError(a.t, err, signed)
		return c.N >= size
	})
	return c
}

// failures returns how often a witness did not cosign a head of the standard ladder
// for the given reason.
func (a *witnessedArena) failures(w *litewitness, why string) string {
	a.t.Helper()
	_, metrics := fetch(a.t, "http://"+a.arena.admin()+"/metrics")
	_, value, found := strings.Cut(metrics, fmt.Sprintf("arena_witness_failures_total{mode=%q,why=%q,witness=%q} ", ladder.Standard, why, w.name))
	require.True(a.t, found, metrics)
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// policy returns a C2SP tlog-policy that requires cosignatures from n witnesses of the
// standard ladder.
func (a *witnessedArena) policy(n int, witnesses ...*litewitness) torchwood.Policy {
	a.t.Helper()
	p, err := torchwood.ParsePolicy([]byte(a.policyFile(n, witnesses...)))
	a.must(err)
	return p
}

func (a *witnessedArena) policyFile(n int, witnesses ...*litewitness) string {
	text, names := "log "+a.key(ladder.Standard)+"\n", ""
	for i, w := range witnesses {
		text += fmt.Sprintf("witness w%d %s\n", i, w.flag())
		names += fmt.Sprintf(" w%d", i)
	}
	return fmt.Sprintf("%sgroup quorum %d%s\nquorum quorum\n", text, n, names)
}

// verify runs `arena verify` on the standard ladder, without remembered heads and
// with a policy that requires cosignatures from n witnesses. It requires the given
// exit status, and returns the output.
func (a *witnessedArena) verify(status, n int, witnesses ...*litewitness) string {
	a.t.Helper()
	file := filepath.Join(a.t.TempDir(), "policy")
	a.must(os.WriteFile(file, []byte(a.policyFile(n, witnesses...)), 0o600))
	p := launchIn(a.t, processOptions{env: []string{"XDG_CONFIG_HOME=" + a.t.TempDir()}},
		"verify", "--ladder", ladder.Standard, "--arena", a.base(), "--policy", file)
	p.awaitExit()
	require.Equal(a.t, status, p.cmd.ProcessState.ExitCode(), p.err.String())
	return p.out.String() + p.err.String()
}

// entry returns the tree hash of an entry of the standard ladder.
func (a *witnessedArena) entry(index int) tlog.Hash {
	a.t.Helper()
	_, bundle := fetch(a.t, fmt.Sprintf("%s/ladder/standard/tile/entries/000.p/%d", a.base(), index+1))
	rest := []byte(bundle)
	var entry []byte
	for range index + 1 {
		var err error
		entry, rest, err = torchwood.ReadTileEntry(rest)
		a.must(err)
	}
	return tlog.RecordHash(entry)
}

// litewitness, a program from another project, cosigns the heads of an arena whose
// bots play. The other witnesses continue to cosign if one witness does not know the
// log, if one is stopped, and if the arena restarts.
func TestLitewitnessCosignsLadderHeads(t *testing.T) {
	t.Parallel()
	l := newLitewitnesses(t)
	one, two, three := l.start("one.example/w1"), l.start("two.example"), l.start("three.example")
	a := newWitnessedArena(t)
	a.serve(one, two, three)
	for _, w := range []*litewitness{one, two} {
		w.know(a.key(ladder.Standard))
		w.know(a.key(ladder.Parley))
	}
	quorum, all := a.policy(2, one, two, three), a.policy(3, one, two, three)
	a.awaitHead(2, 0, quorum)
	eventually(t, "the third witness does not know the log", func() bool { return a.failures(three, "unknown_log") != "0" })
	status, _ := fetch(t, a.base()+"/ladder/standard/checkpoint?cosignatures=3")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, a.verify(1, 3, one, two, three), "too few witnesses of the policy cosigned it; missing: w2")
	three.know(a.key(ladder.Standard))

	a.join(newTestBot(t, "Ann"), newTestBot(t, "Bea"), newTestBot(t, "Cat"))
	c := a.awaitHead(3, 2, all)
	require.Regexp(t, `(?m)^witness w[01] cosigned the tree of \d+ events at `, a.verify(0, 2, one, two, three))
	for index := range 2 { // offline proofs that a seating and a result are in the ladder
		status, proof := fetch(t, fmt.Sprintf("%s/ladder/standard/proof/%d?cosignatures=2", a.base(), index))
		require.Equal(t, http.StatusOK, status, proof)
		require.NoError(t, torchwood.VerifyProof(quorum, a.entry(index), []byte(proof)))
		require.Error(t, torchwood.VerifyProof(quorum, a.entry(1-index), []byte(proof)))
	}

	two.end()
	a.stop()
	a.serve(one, two, three)
	c = a.awaitHead(2, c.N, a.policy(2, one, three))
	two.restart()
	a.awaitHead(3, c.N, all)
	require.Equal(t, "0", a.failures(one, "inconsistent"))
	a.arena.awaitLog(0, "the witness cosigned the head of size")
	eventually(t, "the arena is ready", func() bool {
		status, _ := fetch(t, "http://"+a.arena.admin()+"/ready")
		return status == http.StatusOK
	})
}

// forgedLadder is a ladder tree with forged events that the arena has signed. It
// implements witness.Trees.
type forgedLadder struct {
	t      testing.TB
	origin string
	key    ed25519.PrivateKey
	hashes []tlog.Hash
	size   int64
}

// ReadHashes implements tlog.HashReader.
func (f *forgedLadder) ReadHashes(places []int64) (found []tlog.Hash, err error) {
	for _, p := range places {
		found = append(found, f.hashes[p])
	}
	return found, nil
}

func (f *forgedLadder) grow(entries int) {
	for range entries {
		hashes, err := tlog.StoredHashes(f.size, fmt.Appendf(nil, "forged %d", f.size), f)
		require.NoError(f.t, err)
		f.hashes = append(f.hashes, hashes...)
		f.size++
	}
}

// SignedHead implements witness.Trees.
func (f *forgedLadder) SignedHead(string) ([]byte, error) {
	root, err := tlog.TreeHash(f.size, f)
	require.NoError(f.t, err)
	return signedlog.Sign(signedlog.Head{Origin: f.origin, Size: uint64(f.size), Root: root[:]}, f.key)
}

// Consistency implements witness.Trees.
func (f *forgedLadder) Consistency(_ context.Context, _ string, from, to uint64) (hashes [][]byte, err error) {
	proof, err := tlog.ProveTree(int64(to), int64(from), f)
	for _, h := range proof {
		hashes = append(hashes, h[:])
	}
	return hashes, err
}

// submit sends the forged head to witnesses, as an arena does. It waits until each
// witness has responded, and returns the head with their cosignatures.
func (f *forgedLadder) submit(witnesses ...*litewitness) []byte {
	f.t.Helper()
	var flags []string
	for _, w := range witnesses {
		flags = append(flags, w.flag())
	}
	parsed, err := witness.ParseAll(flags)
	require.NoError(f.t, err)
	said := new(transcript)
	c := witness.New(witness.Options{Witnesses: parsed, Modes: []string{ladder.Standard}, Trees: f, Logger: slog.New(slog.NewTextHandler(said, nil))})
	ctx, stop := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	defer func() { stop(); <-done }()
	var signed []byte
	eventually(f.t, "every witness has answered", func() bool {
		signed, err = f.SignedHead(ladder.Standard)
		require.NoError(f.t, err)
		lines := c.Cosignatures(ladder.Standard, signed)
		signed = append(signed, lines...)
		return strings.Count(string(lines), "\n")+strings.Count(said.String(), "level=ERROR") >= len(witnesses)
	})
	return signed
}

// platformKey reads the key of a stopped or running arena from its secrets.
func (a *witnessedArena) platformKey() ed25519.PrivateKey {
	a.t.Helper()
	text, err := os.ReadFile(filepath.Join(a.data, "secrets.json"))
	a.must(err)
	var secrets struct{ PlatformSeed string }
	a.must(json.Unmarshal(text, &secrets))
	seed, err := hex.DecodeString(secrets.PlatformSeed)
	a.must(err)
	return ed25519.NewKeyFromSeed(seed)
}

// A dishonest operator shows one ladder to most readers, and a forged one to a single
// reader. A witness that has not seen the ladder yet cosigns the forged one. A reader
// who requires cosignatures from two of three witnesses rejects the forged ladder,
// and still accepts the other one.
func TestPolicyOfTwoOfThreeRefusesASplitView(t *testing.T) {
	t.Parallel()
	l := newLitewitnesses(t)
	one, two, three := l.start("one.example"), l.start("two.example"), l.start("three.example")
	a := newWitnessedArena(t)
	a.serve(one, two)
	for _, w := range []*litewitness{one, two, three} {
		w.know(a.key(ladder.Standard))
	}
	a.join(newTestBot(t, "Ann"), newTestBot(t, "Bea"), newTestBot(t, "Cat"))
	policy := a.policy(2, one, two, three)
	c := a.awaitHead(2, 2, policy)
	a.retire() // the test needs no more matches

	origin, _, _ := strings.Cut(a.key(ladder.Standard), "+")
	forged := &forgedLadder{t: t, origin: origin, key: a.platformKey()}
	refused := func(signed []byte) {
		_, _, err := torchwood.VerifyCheckpoint(signed, policy)
		require.ErrorContains(t, err, "only 1/2 policy components satisfied")
	}
	for _, entries := range []int{1, 1000} { // the larger number is more than the ladder gets during the test
		forged.grow(entries)
		signed := forged.submit(three)
		_, _, err := torchwood.VerifyCheckpoint(signed, a.policy(1, three))
		require.NoError(t, err, "the arena has signed the forged head, and the third witness has cosigned it")
		refused(signed)
		a.forged.Store(&forgedHead{forged, signed})
		require.Contains(t, a.verify(1, 2, one, two, three), "missing: w0, w1")
		a.forged.Store(nil)
		out := a.verify(0, 2, one, two, three)
		require.Contains(t, out, "witness w0 cosigned the tree")
		require.Contains(t, out, "witness w1 cosigned the tree")
	}
	refused(forged.submit(one, two, three)) // the first two refuse it

	// Now the operator wants the third witness to cosign the ladder that the other
	// two know.
	a.stop()
	a.serve(one, two, three)
	a.awaitHead(2, c.N, policy)
	eventually(t, "the third witness refuses the ladder", func() bool {
		return a.failures(three, "ahead")+a.failures(three, "inconsistent") != "00"
	})
	require.Equal(t, "0", a.failures(one, "inconsistent"))
	status, _ := fetch(t, a.base()+"/ladder/standard/checkpoint?cosignatures=3")
	require.Equal(t, http.StatusNotFound, status)
}
