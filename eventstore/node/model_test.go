package node

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// modelStream is the simplest model of a stream as the protocol describes it.
type modelStream struct {
	ids        []uuid.UUID
	gone       int                    // number of ids that were scavenged; retries of these events are no longer recognized by revision
	unknown    map[uuid.UUID]struct{} // scavenged ids that the node forgot when it was reopened
	tombstoned bool
	described  bool // whether the stream has metadata
	tb, count  int64
}

func (m *modelStream) soft() bool  { return m.tb == math.MaxInt64 }
func (m *modelStream) last() int64 { return int64(len(m.ids)) - 1 }

func (m *modelStream) visible() []uint64 {
	seen := []uint64{}
	for i := range m.ids {
		if i >= m.gone && int64(i) >= m.tb && (m.count == 0 || len(m.ids)-i <= int(m.count)) {
			seen = append(seen, uint64(i))
		}
	}
	return seen
}

// append returns the outcome that a node must report for an append, without the
// position.
func (m *modelStream) append(expected int64, ids []uuid.UUID) writer.Outcome {
	if m.tombstoned || expected == writer.StreamExists && m.soft() {
		return writer.Outcome{Verdict: writer.StreamDeleted}
	}
	wrong := writer.Outcome{Verdict: writer.WrongVersion, Current: m.last()}
	switch {
	case expected == writer.StreamExists && m.last() < 0 && !m.described:
		return wrong
	case expected == writer.Any || expected == writer.StreamExists:
		if len(ids) > 0 && m.knows(ids[0]) {
			for _, id := range ids {
				if !m.knows(id) {
					return wrong
				}
			}
			return writer.Outcome{Current: int64(slices.Index(m.ids, ids[len(ids)-1]))}
		}
	case expected > m.last():
		return wrong
	case expected < m.last():
		end := int(expected) + 1 + len(ids)
		if len(ids) > 0 && int(expected)+1 >= m.gone && end <= len(m.ids) && slices.Equal(m.ids[expected+1:end], ids) {
			return writer.Outcome{Current: int64(end - 1)}
		}
		if expected != writer.NoStream || !m.soft() {
			return wrong
		}
	}
	if m.soft() {
		m.tb = int64(len(m.ids))
	}
	m.ids = append(m.ids, ids...)
	return writer.Outcome{Current: m.last()}
}

func (m *modelStream) knows(id uuid.UUID) bool {
	_, unknown := m.unknown[id]
	return slices.Contains(m.ids, id) && !unknown
}

// scavenge marks the hidden events as removed.
func (m *modelStream) scavenge() {
	seen := m.visible()
	m.gone = len(m.ids)
	if len(seen) > 0 && !m.tombstoned {
		m.gone = int(seen[0])
	}
}

// reopen forgets the ids of removed events.
func (m *modelStream) reopen() {
	for _, id := range m.ids[:m.gone] {
		m.unknown[id] = struct{}{}
	}
}

func (m *modelStream) describe(tb, count int64) {
	m.described = true
	if m.soft() && tb != math.MaxInt64 {
		tb = int64(len(m.ids))
	}
	m.tb, m.count = tb, count
}

func (m *modelStream) delete(expected int64) writer.Outcome {
	fits := expected == writer.Any || expected == writer.StreamExists || expected == writer.NoStream && m.soft() || expected == m.last()
	switch {
	case m.tombstoned || expected == writer.StreamExists && m.soft():
		return writer.Outcome{Verdict: writer.StreamDeleted}
	case m.last() < 0 || !fits:
		return writer.Outcome{Verdict: writer.WrongVersion, Current: m.last()}
	}
	m.described, m.tb, m.count = true, math.MaxInt64, 0
	return writer.Outcome{Current: m.last()}
}

func (m *modelStream) tombstone(expected int64) writer.Outcome {
	fits := expected == writer.Any || expected == writer.StreamExists && (m.last() >= 0 || m.described) ||
		expected == writer.NoStream && (m.last() < 0 || m.soft()) || expected >= 0 && expected == m.last()
	switch {
	case m.tombstoned || expected == writer.StreamExists && m.soft():
		return writer.Outcome{Verdict: writer.StreamDeleted}
	case !fits:
		return writer.Outcome{Verdict: writer.WrongVersion, Current: m.last()}
	}
	m.tombstoned = true
	return writer.Outcome{Current: record.TombstoneRevision}
}

// The node responds to random writes as the model does, and contains the same events,
// even after restarts and power failures.
func TestNodeAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &modelRun{disk: crashable(), streams: map[string]*modelStream{}}
		for _, name := range []string{"a", "b"} {
			m.streams[name] = &modelStream{unknown: map[uuid.UUID]struct{}{}}
		}
		m.open(t)
		defer func() { require.NoError(t, m.node.Close()) }()
		t.Repeat(map[string]func(*rapid.T){
			"append":    m.append,
			"describe":  m.describe,
			"delete":    m.delete,
			"tombstone": m.tombstone,
			"scavenge":  m.scavenge,
			"close":     func(t *rapid.T) { require.NoError(t, m.node.Close()); m.open(t) },
			"crash":     m.crash,
			"":          m.check,
		})
	})
}

type modelRun struct {
	disk    *vfs.MemFS
	node    *Node
	streams map[string]*modelStream
	pool    []uuid.UUID // ids that were used before
	made    byte
}

func (m *modelRun) open(t *rapid.T) {
	var err error
	m.node, err = Open(Options{Dir: "log", FS: m.disk, Logger: quiet})
	require.NoError(t, err)
	for _, s := range m.streams {
		s.reopen()
	}
}

func (m *modelRun) scavenge(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		t.Skip("a scavenge takes long")
	}
	_, err := m.node.Scavenge(context.Background(), nil)
	require.NoError(t, err)
	for _, s := range m.streams {
		s.scavenge()
	}
}

func (m *modelRun) crash(t *rapid.T) {
	after := powerLoss(m.disk, rapid.SampledFrom([]int{0, 50, 100}).Draw(t, "kept"))
	require.NoError(t, m.node.Close())
	m.disk = after
	m.open(t)
}

func (m *modelRun) stream(t *rapid.T) (string, *modelStream) {
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "stream")
	return name, m.streams[name]
}

func drawExpected(t *rapid.T, m *modelStream) int64 {
	return rapid.OneOf(rapid.SampledFrom([]int64{writer.Any, writer.NoStream, writer.StreamExists, max(m.last(), 0)}), rapid.Int64Range(-1, 6)).Draw(t, "expected")
}

// drawIDs returns ids, some of which were used before. They come in stored order,
// as in a retry, or in any order.
func (m *modelRun) drawIDs(t *rapid.T, s *modelStream) (ids []uuid.UUID) {
	if n := len(s.ids); n > 0 && rapid.Bool().Draw(t, "retry") {
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		ids = append(ids, s.ids[from:rapid.IntRange(from+1, n).Draw(t, "to")]...)
	}
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		if len(m.pool) > 0 && rapid.IntRange(0, 3).Draw(t, "old") == 0 {
			ids = append(ids, rapid.SampledFrom(m.pool).Draw(t, "id"))
			continue
		}
		m.made++
		ids = append(ids, uuid.NewSHA1(uuid.Nil, []byte{m.made, byte(len(m.pool) >> 8)}))
	}
	return ids
}

// unique reports whether each id would be in the stream only once after the append. If
// a stream contains an id twice, the node may differ from the model for that id.
func unique(s *modelStream, expected int64, ids []uuid.UUID) bool {
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if seen[id] {
			return false
		}
		seen[id] = true
	}
	after := *s
	after.ids = slices.Clone(s.ids)
	after.append(expected, ids)
	slices.SortFunc(after.ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return len(slices.Compact(slices.Clone(after.ids))) == len(after.ids)
}

func (m *modelRun) append(t *rapid.T) {
	name, s := m.stream(t)
	expected, ids := drawExpected(t, s), m.drawIDs(t, s)
	if !unique(s, expected, ids) {
		t.Skip("an id would be in the stream twice")
	}
	r := &writer.Request{Stream: name, Expected: expected}
	for _, id := range ids {
		r.Events = append(r.Events, writer.Proposed{ID: id, Type: "T"})
	}
	want := s.append(expected, ids)
	m.pool = append(m.pool, ids...)
	m.submit(t, r, want)
}

func (m *modelRun) describe(t *rapid.T) {
	name, s := m.stream(t)
	tb := rapid.SampledFrom([]int64{0, 1, 3, math.MaxInt64}).Draw(t, "tb")
	count := rapid.Int64Range(0, 3).Draw(t, "count")
	want := writer.Outcome{}
	if s.tombstoned {
		want.Verdict = writer.StreamDeleted
	} else {
		s.describe(tb, count)
	}
	r := &writer.Request{Stream: record.MetadataPrefix + name, Expected: writer.Any, Events: []writer.Proposed{{ID: uuid.New(), JSON: true, Type: record.TypeMetadata, Data: fmt.Sprintf(`{"$tb":%d,"$maxCount":%d}`, tb, count)}}}
	out, err := m.node.writer.Submit(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, want.Verdict, out.Verdict)
}

func (m *modelRun) delete(t *rapid.T) {
	name, s := m.stream(t)
	expected := drawExpected(t, s)
	m.submit(t, &writer.Request{Act: writer.Delete, Stream: name, Expected: expected}, s.delete(expected))
}

func (m *modelRun) tombstone(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "seldom") > 0 {
		t.Skip("a tombstone ends all other writes to a stream")
	}
	name, s := m.stream(t)
	expected := drawExpected(t, s)
	m.submit(t, &writer.Request{Act: writer.Tombstone, Stream: name, Expected: expected}, s.tombstone(expected))
}

func (m *modelRun) submit(t *rapid.T, r *writer.Request, want writer.Outcome) {
	got, err := m.node.writer.Submit(t.Context(), r)
	require.NoError(t, err)
	got.Position = 0
	require.Equal(t, want, got, "%d %s %d", r.Act, r.Stream, r.Expected)
}

func (m *modelRun) check(t *rapid.T) {
	within := m.node.log.Tail.End()
	for name, s := range m.streams {
		v, err := m.node.log.Store.View(name, within, 0)
		require.NoError(t, err)
		require.Equal(t, s.tombstoned, v.Tombstoned())
		if s.tombstoned {
			continue
		}
		require.Equal(t, s.last(), v.Last)
		require.Equal(t, s.soft(), v.Meta.SoftDeleted())
		p, err := m.node.log.Store.Page(name, v, storage.Range{Within: within, Limit: math.MaxInt})
		require.NoError(t, err)
		got := []uint64{}
		for _, r := range p.Records {
			require.Equal(t, s.ids[r.Revision], r.ID)
			got = append(got, r.Revision)
		}
		require.Equal(t, s.visible(), got)
	}
}
