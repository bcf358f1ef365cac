package verify

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/signedlog"
)

// fakeArena serves records and a signed log of these records. Tests can make its
// responses false.
type fakeArena struct {
	*httptest.Server
	key     ed25519.PrivateKey
	records [][]byte
	leaves  [][]byte // leaves of the tree; at first, the leaves of the records
	lie     func(path string, answer []byte) []byte
	busy    int                          // number of calls to reject before a call succeeds
	more    func(r *http.Request) []byte // responds to other calls; may be nil
}

func newFakeArena(t *testing.T, matches int) *fakeArena {
	t.Helper()
	s := serveArena(t)
	a := sample.New(sample.Options{Chance: 2, Bots: 4, PlatformKey: s.platformKey()})
	for len(s.records) < matches {
		s.add(t, a.Tick()...)
	}
	return s
}

func (s *fakeArena) platformKey() string {
	return base64.StdEncoding.EncodeToString(s.key.Public().(ed25519.PublicKey))
}

// add adds records and their leaves.
func (s *fakeArena) add(t *testing.T, records ...[]byte) {
	for _, r := range records {
		leaf, err := signedlog.Leaf(r)
		require.NoError(t, err)
		s.records, s.leaves = append(s.records, r), append(s.leaves, leaf)
	}
}

// serveArena serves an arena without matches, with a new platform key.
func serveArena(t *testing.T) *fakeArena {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	s := &fakeArena{key: key}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.busy > 0 && strings.HasPrefix(r.URL.Path, "/log/") {
			s.busy--
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		answer := s.answer(t, r)
		if s.lie != nil {
			answer = s.lie(r.URL.Path, answer)
		}
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *fakeArena) hashes(t *testing.T, n proof.Nodes) [][]byte {
	nodes := map[compact.NodeID][]byte{}
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for _, leaf := range s.leaves {
		require.NoError(t, tree.Append(rfc6962.DefaultHasher.HashLeaf(leaf), func(id compact.NodeID, hash []byte) { nodes[id] = hash }))
	}
	var list [][]byte
	for _, id := range n.IDs {
		list = append(list, nodes[id])
	}
	list, err := n.Rehash(list, rfc6962.DefaultHasher.HashChildren)
	require.NoError(t, err)
	return list
}

func (s *fakeArena) head(t *testing.T) []byte {
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for _, leaf := range s.leaves {
		require.NoError(t, tree.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil))
	}
	root, err := tree.GetRootHash(nil)
	require.NoError(t, err)
	signed, err := signedlog.Sign(signedlog.Head{Origin: "arena.example/log/standard", Size: tree.End(), Root: root}, s.key)
	require.NoError(t, err)
	return signed
}

func (s *fakeArena) answer(t *testing.T, r *http.Request) []byte {
	encode := func(v any) []byte {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return b
	}
	if s.more != nil {
		if body := s.more(r); body != nil {
			return body
		}
	}
	switch r.URL.Path {
	case "/.well-known/arena.json":
		return encode(map[string][]byte{"publicKey": s.key.Public().(ed25519.PublicKey)})
	case "/log/standard/head":
		return s.head(t)
	case "/log/standard/inclusion":
		for i, leaf := range s.leaves {
			if bytes.Contains(leaf, []byte(r.URL.Query().Get("match"))) {
				n, err := proof.Inclusion(uint64(i), uint64(len(s.leaves)))
				require.NoError(t, err)
				return encode(map[string]any{"index": i, "size": len(s.leaves), "hashes": s.hashes(t, n)})
			}
		}
	case "/log/standard/consistency":
		var from, to uint64
		_, err := fmt.Sscan(r.URL.Query().Get("from")+" "+r.URL.Query().Get("to"), &from, &to)
		require.NoError(t, err)
		n, err := proof.Consistency(from, to)
		require.NoError(t, err)
		return encode(map[string]any{"from": from, "to": to, "hashes": s.hashes(t, n)})
	}
	for _, record := range s.records {
		if strings.HasPrefix(r.URL.Path, "/matches/") && bytes.Contains(record, []byte(strings.TrimPrefix(r.URL.Path, "/matches/"))) {
			return record
		}
	}
	return nil
}

func (s *fakeArena) id(t *testing.T, i int) string {
	var r namedRecord
	require.NoError(t, json.Unmarshal(s.records[i], &r))
	return r.ID
}

// keep writes a head to a file, and returns the file's path.
func keep(t *testing.T, head []byte) string {
	name := filepath.Join(t.TempDir(), "head")
	require.NoError(t, os.WriteFile(name, head, 0o600))
	return name
}

func TestVerifyChecksTheSignedLog(t *testing.T) {
	t.Parallel()
	s := newFakeArena(t, 5)
	all := s.leaves
	s.leaves = all[:3]
	kept := keep(t, s.head(t))
	s.leaves = all
	s.busy = 1
	out, errOut, status := call("--arena", s.URL, "--head", kept, samples(t, s.records...))
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^signed log +5 correct$`, out)
	out, errOut, status = call(s.URL + "/matches/" + s.id(t, 1))
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^signed log +1 correct$`, out)
	out, _, status = call(samples(t, s.records[0]))
	require.Zero(t, status)
	require.Regexp(t, `(?m)^signed log +not checked: no arena was given$`, out)
}

// The check finds every changed or missing leaf, head and proof.
func TestVerifyFindsWhatTheSignedLogHides(t *testing.T) {
	t.Parallel()
	s := newFakeArena(t, 5)
	kept := keep(t, s.head(t))
	target := s.URL + "/matches/" + s.id(t, 1)
	leaves := s.leaves
	another := [][]byte{leaves[0], leaves[1], []byte("another"), leaves[3], leaves[4]}
	for name, c := range map[string]struct {
		leaves [][]byte
		head   string
		lie    func(path string, answer []byte) []byte
		says   string
	}{
		"a leaf that was changed":  {leaves: [][]byte{leaves[0], bytes.Replace(leaves[1], []byte("Bot 00"), []byte("Bot 01"), 1), leaves[2]}, says: "a head that continues"},
		"a match that was dropped": {leaves: [][]byte{leaves[0], leaves[2], leaves[3]}, says: "no leaf for this match"},
		"another that was changed": {leaves: another, head: kept, says: "the earlier head has 5"},
		"a log that was cut":       {leaves: leaves[:4], head: kept, says: "the log only grows"},
		"a log that was rewritten": {leaves: append(another[:5:5], []byte("more")), head: kept, says: "the earlier head has 5"},
		"a head's size": {lie: func(path string, answer []byte) []byte {
			return bytes.Replace(answer, []byte("\n5\n"), []byte("\n6\n"), 1)
		}, says: "the platform key has signed"},
		"a proof": {lie: func(path string, answer []byte) []byte {
			return bytes.Replace(answer, []byte(`"index":1`), []byte(`"index":2`), 1)
		}, says: "a head that continues"},
		"a proof for a missing leaf": {lie: func(path string, answer []byte) []byte {
			return bytes.Replace(answer, []byte(`"index":1`), []byte(`"index":7`), 1)
		}, says: "a proof of inclusion"},
		"the name of a bot": {lie: func(path string, answer []byte) []byte {
			return bytes.Replace(answer, []byte(`"botName":"Bot`), []byte(`"botName":"Bat`), 1)
		}, says: "a head that continues"},
	} {
		s.leaves, s.lie = leaves, c.lie
		if c.leaves != nil {
			s.leaves = c.leaves
		}
		args := []string{target, "--no-remember"}
		if c.head != "" {
			args = append(args, "--head", c.head)
		}
		_, errOut, status := call(args...)
		require.Equal(t, 1, status, "%s: %s", name, errOut)
		require.Contains(t, errOut, "signed log", name)
		require.Contains(t, errOut, c.says, name)
	}
	s.leaves, s.lie = leaves, nil
	for says, args := range map[string][]string{
		"--head needs --arena":   {"--head", kept, samples(t, s.records[0])},
		"no such file":           {"--head", "/nowhere/at/all", target},
		"the file is not a head": {"--head", keep(t, bytes.Replace(s.head(t), []byte("\n5\n"), []byte("\n4\n"), 1)), target},
	} {
		_, errOut, status := call(args...)
		require.Equal(t, 2, status, errOut)
		require.Contains(t, errOut, says)
	}
}

// An arena that returns the record of another match hides the requested one. This is
// a difference, even if the other record is correct.
func TestVerifyRefusesTheRecordOfAnotherMatch(t *testing.T) {
	t.Parallel()
	s := newFakeArena(t, 2)
	asked, given := s.id(t, 0), s.id(t, 1)
	s.lie = func(path string, answer []byte) []byte {
		if path == "/matches/"+asked {
			return s.records[1]
		}
		return answer
	}
	_, errOut, status := call(s.URL + "/matches/" + asked)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "the log has match "+given+"; expected match "+asked)
}

// A saved head can be recomputed from the matches in the event log. A head of another
// log is a difference.
func TestVerifyRecomputesAHead(t *testing.T) {
	t.Parallel()
	log := memory.New()
	play := arenatest.New(t, log, 1)
	for _, names := range [][]string{{"Ann", "Bea", "Cat"}, {"Dot", "Eve", "Fay"}} {
		play.Complete(ladder.Standard, play.Register("ada", ladder.Standard, names...)...)
	}
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, 32))
	platform := base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
	recompute := func(mode string, h signedlog.Head) error {
		signed, err := signedlog.Sign(h, key)
		require.NoError(t, err)
		l := ladderCheck{Cmd: &Cmd{Ladder: mode, Head: keep(t, signed)}, errOut: io.Discard}
		return l.recomputeHead(t.Context(), log, platform)
	}
	for size := range uint64(3) {
		h, err := signedlog.Recompute(t.Context(), log, ladder.Standard, size, func(uint64) {})
		require.NoError(t, err)
		require.Equal(t, size, h.Size)
		h.Origin = "arena.example/log/standard"
		err = recompute(ladder.Standard, h)
		require.NoError(t, err)
		for _, other := range []signedlog.Head{{Origin: h.Origin, Size: size, Root: bytes.Repeat([]byte{1}, 32)}, {Origin: h.Origin, Size: 3, Root: h.Root}} {
			var differs *audit.LadderDifference
			err = recompute(ladder.Standard, other)
			require.ErrorAs(t, err, &differs)
		}
		err = recompute(ladder.Parley, h)
		require.ErrorContains(t, err, "belongs to the standard log")
	}
}
