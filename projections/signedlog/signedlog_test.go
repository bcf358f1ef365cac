package signedlog_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
	"hexarena/projections/signedlog"
)

// fixture is a log with matches, and the signed log of these matches.
type fixture struct {
	t      testing.TB
	log    *memory.Log
	play   *arenatest.Arena
	list   *matches.Matches
	listed *projections.Runner
	signed *signedlog.SignedLog
	runner *projections.Runner
}

func newFixture(t testing.TB) *fixture {
	w := &fixture{t: t, log: memory.New(), list: matches.New()}
	w.play = arenatest.New(t, w.log, 5)
	w.signed = signedlog.New(w.log)
	w.runner = arenatest.Follow(t, w.log, w.signed)
	w.listed = arenatest.Follow(t, w.log, w.list)
	return w
}

func (w *fixture) sync() {
	require.NoError(w.t, w.runner.Sync(w.t.Context()))
	require.NoError(w.t, w.listed.Sync(w.t.Context()))
}

// begin starts a match of three new bots.
func (w *fixture) begin(mode string, n int) *arenatest.Game {
	g := w.play.Seat(mode, w.play.Register("ada", mode, fmt.Sprintf("A%d%s", n, mode), fmt.Sprintf("B%d%s", n, mode), fmt.Sprintf("C%d%s", n, mode))...)[0]
	return g
}

// stop plays a few turns and aborts the match, so that it is short.
func (w *fixture) stop(mode string, n int) *arenatest.Game {
	g := w.begin(mode, n)
	g.Start()
	g.Play(1)
	g.Abort(match.Operator)
	g.Conclude()
	return g
}

// record builds the public record of a match in the same way as GET /matches/{id}.
func (w *fixture) record(id string) []byte {
	m, found, err := w.list.Get(id)
	require.NoError(w.t, err)
	require.True(w.t, found)
	h, err := frames.Read(w.t.Context(), w.log, id)
	require.NoError(w.t, err)
	text, err := json.Marshal(struct {
		matches.Summary
		Seed       any   `json:"seed"`
		Replay     any   `json:"replay"`
		Commitment any   `json:"commitment"`
		Proof      any   `json:"proof"`
		ThinkingMs []int `json:"thinkingMs"`
	}{m, h.Seed, h.Replay(), h.Started.Commitment, h.Proof, []int{1, 2, 3}})
	require.NoError(w.t, err)
	return text
}

func (w *fixture) head(mode string) signedlog.Head {
	size, root, err := w.signed.Head(w.t.Context(), mode)
	require.NoError(w.t, err)
	return signedlog.Head{Origin: signedlog.Origin("arena.example", mode), Size: size, Root: root}
}

// root computes a tree's root hash as RFC 6962 defines it, independently of the
// model.
func root(leaves [][]byte) []byte {
	h := rfc6962.DefaultHasher
	switch len(leaves) {
	case 0:
		return h.EmptyRoot()
	case 1:
		return h.HashLeaf(leaves[0])
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	return h.HashChildren(root(leaves[:k]), root(leaves[k:]))
}

// The record of an aborted match has a reason, but its leaf does not. Otherwise the
// hashes of old leaves would change.
func TestReasonIsNotPartOfALeaf(t *testing.T) {
	w := newFixture(t)
	g := w.stop(ladder.Standard, 0)
	w.sync()
	record := w.record(g.MatchID)
	require.Contains(t, string(record), `"reason":"operator"`)
	leaf, err := signedlog.Leaf(record)
	require.NoError(t, err)
	require.NotContains(t, string(leaf), `"reason":"operator"`)
	require.Equal(t, root([][]byte{leaf}), w.head(ladder.Standard).Root)

	text, err := os.ReadFile("../../docs/audit/vectors.json")
	require.NoError(t, err)
	var vectors struct {
		Matches []map[string]any
		Leaves  []struct {
			Match int
			Hash  string
		}
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors.Leaves)
	for _, v := range vectors.Leaves {
		m := vectors.Matches[v.Match]
		m["reason"] = ladder.WhyBeacon
		record, err := json.Marshal(m)
		require.NoError(t, err)
		leaf, err := signedlog.Leaf(record)
		require.NoError(t, err)
		require.Equal(t, v.Hash, hex.EncodeToString(rfc6962.DefaultHasher.HashLeaf(leaf)))
	}
}

// Each leaf can be computed from the public record, and each head continues all
// earlier heads.
func TestEveryClosedMatchIsALeaf(t *testing.T) {
	w := newFixture(t)

	_, _, err := w.signed.Head(t.Context(), ladder.Standard)
	require.NoError(t, err)
	var leaves [][]byte
	heads := []signedlog.Head{w.head(ladder.Standard)}
	var ids []string
	for n := range 9 {
		var g *arenatest.Game
		if n%4 == 0 {
			g = w.play.Complete(ladder.Standard, w.play.Register("ada", ladder.Standard, fmt.Sprint("x", n), fmt.Sprint("y", n), fmt.Sprint("z", n))...)
		} else {
			g = w.stop(ladder.Standard, n)
		}
		unstarted := w.begin(ladder.Standard, 100+n)
		unstarted.Void(ladder.WhyOperator)
		w.stop(ladder.Parley, n) // these matches belong to another tree
		w.sync()
		leaf, err := signedlog.Leaf(w.record(g.MatchID))
		require.NoError(t, err)
		independent, err := jcs.Transform(leaf)
		require.NoError(t, err)
		require.Equal(t, string(independent), string(leaf))
		leaves, ids = append(leaves, leaf), append(ids, g.MatchID)
		heads = append(heads, w.head(ladder.Standard))
		require.Equal(t, uint64(n+1), heads[n+1].Size)
		require.Equal(t, root(leaves), heads[n+1].Root)
	}
	for to, h := range heads {
		for from, earlier := range heads[:to+1] {
			hashes, err := w.signed.Consistency(t.Context(), ladder.Standard, uint64(from), uint64(to))
			require.NoError(t, err)
			require.NoError(t, h.Continues(earlier, hashes))
			if from > 0 {
				earlier.Root = root(leaves[:1:1])
				if from > 1 {
					require.Error(t, h.Continues(earlier, hashes), "%d to %d", from, to)
				}
			}
		}
	}
	for i, id := range ids {
		p, found, err := w.signed.Inclusion(t.Context(), ladder.Standard, id)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, uint64(i), p.Index)
		at, err := p.RootOf(leaves[i])
		require.NoError(t, err)
		require.Equal(t, heads[9].Root, at)
		other, err := p.RootOf(leaves[(i+1)%9])
		require.NoError(t, err)
		require.NotEqual(t, heads[9].Root, other)
		_, found, err = w.signed.Inclusion(t.Context(), ladder.Parley, id)
		require.NoError(t, err)
		require.False(t, found)
	}
}

func TestLeafHasOnlyTheDocumentedFields(t *testing.T) {
	record := sample.New(sample.Options{Chance: 1, Bots: 3, Abort: 1}).Tick()[0]
	leaf, err := signedlog.Leaf(record)
	require.NoError(t, err)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(leaf, &fields))
	require.Len(t, fields, 10)
	require.NotContains(t, fields, "thinkingMs")
	require.True(t, strings.HasPrefix(string(leaf), `{"commitment":"`), "sorted keys")
	_, err = signedlog.Leaf([]byte(`{"id":"m"}`))
	require.ErrorContains(t, err, "has no mode")
	_, err = signedlog.Leaf([]byte(`[]`))
	require.Error(t, err)
}

func TestRebuiltAndResumedTreesAreEqual(t *testing.T) {
	w := newFixture(t)
	dir := t.TempDir()
	for n := range 3 {
		w.stop(ladder.Standard, n)
		r, err := projections.Open(dir, w.log, signedlog.New(w.log), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, r.Sync(t.Context()))
		require.NoError(t, r.Close())
	}
	resumed := arenatest.FollowIn(t, dir, w.log, signedlog.New(w.log))
	require.NoError(t, resumed.Sync(t.Context()))
	w.sync()
	logtest.RequireSameText(t, arenatest.Dump(t, w.runner), arenatest.Dump(t, resumed))
	require.Contains(t, arenatest.Dump(t, resumed), "leaves")
}

// A match that starts after its ladder has voided it has no leaf. This must be true
// even in a rebuild, which reads the stream only after the match has started.
func TestMatchStartedAfterItsVoidHasNoLeaf(t *testing.T) {
	w := newFixture(t)
	g := w.begin(ladder.Standard, 1)
	g.Void(ladder.WhyOperator)
	g.Start()
	w.sync()
	require.Zero(t, w.head(ladder.Standard).Size)
}

// A match that is voided because of the beacon has no leaf, even if it has started.
// This can happen if a process that has lost its lease voids the match just after
// another process has started it. If the model expected a leaf for such a match, it
// would stop, and so would all play.
func TestMatchVoidedForTheBeaconHasNoLeaf(t *testing.T) {
	w := newFixture(t)
	g := w.begin(ladder.Standard, 1)
	g.Start()
	g.Void(ladder.WhyBeacon)
	w.sync()
	require.Zero(t, w.head(ladder.Standard).Size)
}

// The type away is a log in which the next few reads of streams fail.
type away struct {
	*memory.Log
	reads atomic.Int32
}

func (a *away) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if a.reads.Add(-1) >= 0 {
		return func(yield func(eventstore.Recorded, error) bool) {
			yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
		}
	}
	return a.Log.Read(ctx, id, from, o)
}

func TestFoldContinuesAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		g := w.stop(ladder.Standard, 1)
		w.stop(ladder.Standard, 2)
		w.sync()
		log := &away{Log: w.log}
		log.reads.Store(3)
		signed := signedlog.New(log)
		require.NoError(t, arenatest.Follow(t, log, signed).Sync(t.Context()))
		size, root, err := signed.Head(t.Context(), ladder.Standard)
		require.NoError(t, err)
		require.Equal(t, signedlog.Head{Origin: "arena.example/log/standard", Size: size, Root: root}, w.head(ladder.Standard))
		require.EqualValues(t, 2, size)
		p, _, err := signed.Inclusion(t.Context(), ladder.Standard, g.MatchID)
		require.NoError(t, err)
		require.Zero(t, p.Index)
	})
}

func TestRatedMatchWithoutAnEndStopsTheModel(t *testing.T) {
	w := newFixture(t)
	g := w.begin(ladder.Standard, 1)
	g.Start()
	g.Void(ladder.WhyOperator)
	require.ErrorContains(t, w.runner.Sync(t.Context()), "the match's stream has no end event")
	require.ErrorIs(t, w.runner.Err(), projections.ErrStopped)
	require.Zero(t, w.head(ladder.Standard).Size)
}

func TestOpenChecksSignedHeads(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	public := key.Public().(ed25519.PublicKey)
	h := signedlog.Head{Origin: signedlog.Origin("arena.example:8080", "parley"), Size: 7, Root: make([]byte, 32)}
	signed, err := signedlog.Sign(h, key)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(signed), "arena.example:8080/log/parley\n7\n"+strings.Repeat("A", 43)+"=\n\n— arena.example:8080/log/parley "), string(signed))
	opened, err := signedlog.Open(signed, "parley", public)
	require.NoError(t, err)
	require.Equal(t, h, opened)
	again, err := signedlog.Sign(h, key)
	require.NoError(t, err)
	require.Equal(t, signed, again)

	_, err = signedlog.Open(signed, "standard", public)
	require.ErrorContains(t, err, "of mode standard")
	_, err = signedlog.Open(signed, "parley", ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32))).Public().(ed25519.PublicKey))
	require.ErrorContains(t, err, "of the platform key")
	for name, forged := range map[string]string{
		"size":   strings.Replace(string(signed), "\n7\n", "\n8\n", 1),
		"root":   strings.Replace(string(signed), "\nA", "\nB", 1),
		"origin": strings.Replace(string(signed), "arena", "arens", 1),
		"a note": "text\n",
		"empty":  "",
	} {
		_, err := signedlog.Open([]byte(forged), "parley", public)
		require.Error(t, err, name)
	}
	_, err = signedlog.Sign(signedlog.Head{Origin: "a host/log/parley", Root: make([]byte, 32)}, key)
	require.ErrorContains(t, err, "invalid origin")
}
