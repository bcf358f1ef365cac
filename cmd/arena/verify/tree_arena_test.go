package verify

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	"github.com/cloudflare/circl/sign/bls"
	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/adapters/rest"
	"hexarena/domain/audit/sample"
	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/projections/signedlog"
)

// testChain is a drand chain with a real BLS key. Its first round is older than the
// matches of package sample.
type testChain struct {
	beacon.Chain

	key *bls.PrivateKey[bls.KeyG2SigG1]
}

func newTestChain(t testing.TB) testChain {
	t.Helper()
	key, err := bls.KeyGen[bls.KeyG2SigG1](bytes.Repeat([]byte{7}, 32), nil, nil)
	require.NoError(t, err)
	public, err := key.PublicKey().MarshalBinary()
	require.NoError(t, err)
	chain := beacon.Chain{PublicKey: public, Period: 3 * time.Second, Genesis: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), ID: "tests"}
	return testChain{chain.WithHash(), key}
}

func (c testChain) sign(round uint64) []byte { return bls.Sign(c.key, beacon.Message(round)) }

// flag returns the chain as a value of --beacon-chain.
func (c testChain) flag() string { return c.Hash + ":" + hex.EncodeToString(c.PublicKey) }

// treeArena is a fakeArena that also serves the tree of its ladder. A test can change
// the served events and the entries of the tree, as a dishonest operator could.
type treeArena struct {
	*fakeArena

	t         *testing.T
	arena     *sample.Arena
	chain     testChain
	served    []rest.LadderEvent
	entries   [][]byte
	witnesses []*torchwood.CosignatureSigner
	keys      []rest.SeedKey
	owners    map[string]string // of bots, in the leaderboard
	size      int               // of the checkpoint; -1 for all entries
	cosigned  []byte            // the checkpoint that has cosignatures; nil if the newest one has them
}

// newTreeArena serves an arena with a beacon, after the given number of ticks. Every
// third match is aborted.
func newTreeArena(t *testing.T, ticks int, change func(o *sample.Options)) *treeArena {
	t.Helper()
	s := &treeArena{fakeArena: serveArena(t), t: t, chain: newTestChain(t), owners: map[string]string{}, size: -1}
	o := sample.Options{Chance: 2, Bots: 4, Abort: 3, PlatformKey: s.platformKey(), Beacon: &sample.Beacon{Chain: s.chain.Chain, Sign: s.chain.sign}}
	if change != nil {
		change(&o)
	}
	s.arena = sample.New(o)
	key := hex.EncodeToString(sample.SeedKey)
	s.keys = []rest.SeedKey{{ID: sample.SeedKeyID, Hash: sample.SeedKeyHash().String(), Key: &key}}
	s.more = s.respond
	for range ticks {
		s.add(t, s.arena.Tick()...)
	}
	s.publish()
	return s
}

// publish serves the events of the arena and puts them into the tree.
func (s *treeArena) publish() {
	s.served, s.entries = nil, nil
	for i, e := range s.arena.Events {
		data, err := json.Marshal(e)
		require.NoError(s.t, err)
		s.append(e.EventType(), s.arena.Times[i], string(data))
	}
}

// append adds an event to the served events and to the tree. If the event closes a
// match that has a record, the entry contains the hash of the record's leaf.
func (s *treeArena) append(name string, at time.Time, data string) {
	n := len(s.served)
	s.served = append(s.served, rest.LadderEvent{Revision: n, Type: name, At: rest.FormatTime(at), Data: data})
	s.entries = append(s.entries, signedlog.Entry(uint64(n), name, []byte(data), s.leafOf(name, data)))
}

func (s *treeArena) leafOf(name, data string) []byte {
	if name == (ladder.TablesSeated{}).EventType() {
		return nil
	}
	var e struct{ Match string }
	require.NoError(s.t, json.Unmarshal([]byte(data), &e))
	for i := range s.records {
		if s.id(s.t, i) == e.Match {
			return rfc6962.DefaultHasher.HashLeaf(s.leaves[i])
		}
	}
	return nil
}

// change replaces the data of a served event, and puts it into the tree.
func (s *treeArena) change(revision int, replace func(data string) string) {
	e := &s.served[revision]
	changed := replace(e.Data)
	require.NotEqual(s.t, e.Data, changed)
	e.Data = changed
	s.entries[revision] = signedlog.Entry(uint64(revision), e.Type, []byte(changed), s.leafOf(e.Type, changed))
}

// The method stored() computes the hashes of the tree from its entries.
func (s *treeArena) stored() (tlog.HashReader, tlog.Tree) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
		for _, i := range indexes {
			list = append(list, stored[i])
		}
		return list, nil
	})
	entries := s.entries
	if s.size >= 0 {
		entries = entries[:s.size]
	}
	for i, e := range entries {
		hashes, err := tlog.StoredHashes(int64(i), e, reader)
		require.NoError(s.t, err)
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(int64(len(entries)), reader)
	require.NoError(s.t, err)
	return reader, tlog.Tree{N: int64(len(entries)), Hash: root}
}

// checkpoint returns the signed checkpoint, with the witnesses' cosignatures.
func (s *treeArena) checkpoint() []byte {
	_, tree := s.stored()
	signed, err := signedlog.Sign(signedlog.Head{Origin: s.origin(), Size: uint64(tree.N), Root: tree.Hash[:]}, s.key)
	require.NoError(s.t, err)
	text, _, _ := strings.Cut(string(signed), "\n\n")
	for _, w := range s.witnesses {
		cosigned, err := note.Sign(&note.Note{Text: text + "\n"}, w)
		require.NoError(s.t, err)
		_, lines, _ := bytes.Cut(cosigned, []byte("\n\n"))
		signed = append(signed, lines...)
	}
	return signed
}

func (s *treeArena) origin() string { return signedlog.LadderOrigin("arena.example", ladder.Standard) }

// respond handles the calls that read the ladder.
func (s *treeArena) respond(r *http.Request) []byte {
	encode := func(v any) []byte {
		b, err := json.Marshal(v)
		require.NoError(s.t, err)
		return b
	}
	path, isLadder := strings.CutPrefix(r.URL.Path, "/ladder/standard/")
	switch {
	case r.URL.Path == "/.well-known/arena.json":
		return encode(map[string]any{"publicKey": s.platformKey(), "beacon": s.chain.Info()})
	case r.URL.Path == "/log/keys":
		return encode(rest.SeedKeys{Keys: s.keys})
	case r.URL.Path == "/leaderboard":
		board := rest.Leaderboard{}
		for bot, owner := range s.owners {
			board.Rows = append(board.Rows, rest.LeaderboardRow{BotID: bot, Owner: owner})
		}
		return encode(board)
	case !isLadder:
		return nil
	case path == "checkpoint" && r.URL.Query().Has("cosignatures"):
		return s.cosigned
	case path == "checkpoint":
		return s.checkpoint()
	case path == "events":
		return encode(s.page(r))
	}
	tile, err := torchwood.ParseTilePath(path)
	if err != nil {
		return nil
	}
	return s.tile(tile)
}

func (s *treeArena) page(r *http.Request) rest.LadderEvents {
	var from, limit int
	_, err := fmt.Sscan(r.URL.Query().Get("from")+" "+r.URL.Query().Get("limit"), &from, &limit)
	require.NoError(s.t, err)
	limit = min(limit, 7) // pages may be shorter than the limit
	page := rest.LadderEvents{Mode: ladder.Standard, Size: len(s.served), Events: []rest.LadderEvent{}}
	if from < len(s.served) {
		page.Events = s.served[from:min(from+limit, len(s.served))]
	}
	return page
}

func (s *treeArena) tile(tile tlog.Tile) (data []byte) {
	if tile.L < 0 {
		from := tile.N * torchwood.TileWidth
		for _, e := range s.entries[from : from+int64(tile.W)] {
			var err error
			data, err = torchwood.AppendTileEntry(data, e)
			require.NoError(s.t, err)
		}
		return data
	}
	reader, _ := s.stored()
	data, err := tlog.ReadTileData(tile, reader)
	require.NoError(s.t, err)
	return data
}

// verify runs `arena verify` with the chain of the arena.
func (s *treeArena) verify(args ...string) (out, errOut string, status int) {
	return call(append([]string{"--beacon-chain", s.chain.flag()}, args...)...)
}

func (s *treeArena) ladder(args ...string) (out, errOut string, status int) {
	return s.verify(append([]string{"--ladder", ladder.Standard, "--arena", s.URL}, args...)...)
}

// newWitness returns a witness with a new key.
func newWitness(t testing.TB, name string) *torchwood.CosignatureSigner {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	w, err := torchwood.NewCosignatureSigner(name, key)
	require.NoError(t, err)
	return w
}

func (s *fakeArena) public() ed25519.PublicKey { return s.key.Public().(ed25519.PublicKey) }

func randomnessOf(signature []byte) string {
	return beacon.NewRound(beacon.Named{}, signature).Randomness
}
