package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/domain/ladder"
	"hexarena/projections/signedlog"
)

// logVectors holds the test vectors for the signed log.
type logVectors struct {
	Leaves        []leafVector        `json:"leaves"`
	Heads         []headVector        `json:"heads"`
	Inclusions    []inclusionVector   `json:"inclusions"`
	Consistencies []consistencyVector `json:"consistencies"`
}

type (
	leafVector struct {
		Match int    `json:"match"`
		Leaf  string `json:"leaf,omitempty"` // only if it is short
		Hash  string `json:"hash"`
	}
	headVector struct {
		PlatformKey string   `json:"platformKey"`
		Mode        string   `json:"mode"`
		Leaves      []string `json:"leaves"` // hashes
		Root        []byte   `json:"root"`
		Head        string   `json:"head"`
	}
	inclusionVector struct {
		Head   int      `json:"head"`
		Index  uint64   `json:"index"`
		Hashes [][]byte `json:"hashes"`
	}
	consistencyVector struct {
		From   int      `json:"from"`
		To     int      `json:"to"`
		Hashes [][]byte `json:"hashes"`
	}
)

// tree is the growing Merkle tree of a log. It keeps every node.
type tree struct {
	t testing.TB
	*compact.Range
	nodes  map[compact.NodeID][]byte
	leaves []string
}

func (r *tree) add(hash []byte) {
	r.leaves = append(r.leaves, hex.EncodeToString(hash))
	require.NoError(r.t, r.Append(hash, func(id compact.NodeID, hash []byte) { r.nodes[id] = hash }))
}

func (r *tree) hashes(n proof.Nodes, err error) [][]byte {
	require.NoError(r.t, err)
	hashes := [][]byte{}
	for _, id := range n.IDs {
		hashes = append(hashes, r.nodes[id])
	}
	hashes, err = n.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
	require.NoError(r.t, err)
	return hashes
}

// addLog adds the vectors for a log that begins with the given matches, and for some
// heads of this log.
func (v *logVectors) addLog(t testing.TB, matches []json.RawMessage) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	r := &tree{t: t, Range: (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0), nodes: map[compact.NodeID][]byte{}}
	for size := range 12 {
		var hash []byte
		if size < len(matches) {
			leaf, err := signedlog.Leaf(matches[size])
			require.NoError(t, err)
			hash = rfc6962.DefaultHasher.HashLeaf(leaf)
			l := leafVector{Match: size, Hash: hex.EncodeToString(hash)}
			if len(leaf) < 16<<10 {
				l.Leaf = string(leaf)
			}
			v.Leaves = append(v.Leaves, l)
		} else {
			hash = rfc6962.DefaultHasher.HashLeaf([]byte{byte(size)})
		}
		r.add(hash)
		if r.End() == 4 || r.End() == 9 || r.End() == 10 {
			continue
		}
		root, err := r.GetRootHash(nil)
		require.NoError(t, err)
		signed, err := signedlog.Sign(signedlog.Head{Origin: "arena.example/log/standard", Size: r.End(), Root: root}, key)
		require.NoError(t, err)
		v.Heads = append(v.Heads, headVector{
			base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey)), ladder.Standard, append([]string{}, r.leaves...), root, string(signed),
		})
	}
	for i, h := range v.Heads {
		size := uint64(len(h.Leaves))
		for _, index := range []uint64{0, size / 2, size - 1} {
			v.Inclusions = append(v.Inclusions, inclusionVector{i, index, r.hashes(proof.Inclusion(index, size))})
		}
		for from := range i {
			v.Consistencies = append(v.Consistencies, consistencyVector{from, i, r.hashes(proof.Consistency(uint64(len(v.Heads[from].Leaves)), size))})
		}
	}
}

// The package signedlog, which the arena uses, verifies the vectors of the log.
func TestVectorsOfTheLog(t *testing.T) {
	v := readVectors(t)
	for _, i := range v.Inclusions {
		h := v.Heads[i.Head]
		key, err := base64.StdEncoding.DecodeString(h.PlatformKey)
		require.NoError(t, err)
		opened, err := signedlog.Open([]byte(h.Head), h.Mode, key)
		require.NoError(t, err)
		require.Equal(t, h.Root, opened.Root)
		if int(i.Index) < len(v.Leaves) && v.Leaves[i.Index].Leaf != "" {
			root, err := signedlog.Inclusion{Index: i.Index, Size: opened.Size, Hashes: i.Hashes}.RootOf([]byte(v.Leaves[i.Index].Leaf))
			require.NoError(t, err)
			require.Equal(t, h.Root, root)
		}
	}
	for _, c := range v.Consistencies {
		from, to := v.Heads[c.From], v.Heads[c.To]
		earlier := signedlog.Head{Size: uint64(len(from.Leaves)), Root: from.Root}
		require.NoError(t, signedlog.Head{Size: uint64(len(to.Leaves)), Root: to.Root}.Continues(earlier, c.Hashes))
	}
}

// The Python checker verifies that a record is in the tree of a head. It also finds
// those changes to the record that only the tree reveals.
func TestPythonChecksInclusion(t *testing.T) {
	v := readVectors(t)
	var at inclusionVector
	for _, i := range v.Inclusions {
		if len(v.Heads[i.Head].Leaves) == 3 && i.Index == 1 {
			at = i
		}
	}
	shown, err := json.Marshal(map[string]any{"index": at.Index, "size": 3, "hashes": at.Hashes})
	require.NoError(t, err)
	check := func(record []byte) (string, int) {
		return python(t, "--inclusion", file(t, shown), "--head", file(t, []byte(v.Heads[at.Head].Head)), file(t, record))
	}
	out, status := check(v.Matches[1])
	require.Zero(t, status, "%.2000s", out) // a line may be longer than testify prints
	require.Contains(t, out, "ok ")
	out, status = check(bytes.Replace(v.Matches[1], []byte(`"botName":"Bot`), []byte(`"botName":"Bat`), 1))
	require.Equal(t, 1, status)
	require.Contains(t, out, "a head of 3 results")
}
