package ladder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore/logtest"
)

const goldenSnapshot = "testdata/snapshot.golden"

// sampleState returns a state with every field set.
func sampleState() State {
	return State{
		Bots: []BotState{
			{ID: "a", Bot: Bot{
				Rating: rating.Rating{Mu: 24.5, Sigma: 8.1}, Games: 3, Match: "m3", Ended: noon,
				Misses: 2, MissedSince: noon.Add(-time.Hour), MissedAt: []time.Time{noon.Add(-time.Hour), noon.Add(123 * time.Millisecond)},
			}},
			{ID: "b", Bot: Bot{Rating: rating.New(), Match: "m3"}},
			{ID: "c", Bot: Bot{Rating: rating.New(), Match: "m3"}},
		},
		Open: []MatchState{{ID: "m3", match: match{
			Bots: []string{"a", "b", "c"}, Revision: 4, Index: 1,
			SeedKey: "k1", Commitment: seed.Commitment(seed.Seed{1}), Seated: noon,
		}}},
		Closed: []string{"m2", "m1"},
	}
}

func inJSON(t require.TestingT, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// throughTheLog encodes a snapshot and decodes it again.
func throughTheLog(t require.TestingT, e LadderSnapshotTaken) LadderSnapshotTaken {
	back, err := DecodeSnapshot(e.EventType(), []byte(inJSON(t, e)))
	require.NoError(t, err)
	require.Equal(t, e, back)
	return back.(LadderSnapshotTaken)
}

// The golden file contains the shape of State and a stored snapshot. If the shape
// changes, raise snapshotSchema, because logs already contain snapshots of the
// current version.
func TestSnapshotShape(t *testing.T) {
	state := inJSON(t, sampleState())
	if logtest.Updating() {
		taken, err := sampleState().Snapshot(Standard, 5, "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(goldenSnapshot, []byte(state+"\n"+inJSON(t, taken)+"\n"), 0o644))
	}
	golden, err := os.ReadFile(goldenSnapshot)
	require.NoError(t, err)
	shape, stored, _ := strings.Cut(string(golden), "\n")
	require.Equal(t, shape, state)

	e, err := DecodeSnapshot("LadderSnapshotTaken", []byte(stored))
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(stored), inJSON(t, e))
	l, err := e.(LadderSnapshotTaken).Restore(Standard)
	require.NoError(t, err)
	require.EqualValues(t, 6, l.Version())
	s := l.State()
	s.Sort()
	require.Equal(t, sampleState(), s)
	require.Equal(t, Streak{Misses: 1, Since: noon.Add(123 * time.Millisecond)}, l.Bot("a").Streak(noon))
}

func TestASnapshotIsACopy(t *testing.T) {
	l := given(seated("m1", "a", "b", "c"), rated("m1", "a", "b", "c"), seated("m2", "a", "b", "c"))
	state := l.State()
	before := inJSON(t, l.State())
	l = Evolve(l, missed(rated("m2", "a", "b", "c"), "a"), noon.Add(time.Hour))
	Evolve(l, seated("m3", "a", "b", "d"), noon.Add(2*time.Hour))
	state.Sort()
	var was State
	require.NoError(t, json.Unmarshal([]byte(before), &was))
	was.Sort()
	require.Equal(t, was, state)
}

// In this test, more matches end than a ladder remembers. The restored ladder must
// have forgotten the same matches as the original.
func TestASnapshotRestoresTheSameLadder(t *testing.T) {
	l := given()
	for i := range recentMatches + 2 {
		l = over(l, fmt.Sprint(i))
		if i == 2 {
			_, err := l.Void("0", WhyOperator)
			require.ErrorIs(t, err, ErrAlreadyFinished)
		}
	}
	taken, err := l.State().Snapshot(Standard, l.Version()-1, "id")
	require.NoError(t, err)
	again, err := taken.Restore(Standard)
	require.NoError(t, err)
	for oldest := range 2 {
		for id, want := range map[string]error{"1": ErrUnknownMatch, fmt.Sprint(2 + 3*oldest): ErrAlreadyFinished, "10001": ErrAlreadyFinished} {
			_, err := again.Void(id, WhyOperator)
			require.ErrorIs(t, err, want)
			_, err = l.Void(id, WhyOperator)
			require.ErrorIs(t, err, want)
		}
		require.True(t, slices.Equal(l.State().Closed, again.State().Closed), "the ids are the same, oldest first")
		for _, further := range []string{"x", "y", "z"} {
			l, again = over(l, further), over(again, further)
		}
	}
}

// The function over() returns a ladder after one more match, which is voided.
func over(l Ladder, id string) Ladder {
	return Evolve(Evolve(l, seated(id, "a", "b", "c"), noon), MatchVoided{MatchID: id, Why: WhyOperator}, noon)
}

func TestUnusableSnapshotsAreRejected(t *testing.T) {
	good, err := sampleState().Snapshot(Standard, 5, "id")
	require.NoError(t, err)
	_, err = good.Restore(Standard)
	require.NoError(t, err)
	for name, spoil := range map[string]func(*LadderSnapshotTaken){
		"another version":   func(e *LadderSnapshotTaken) { e.Schema++ },
		"no version":        func(e *LadderSnapshotTaken) { e.Schema = 0 },
		"another mode":      func(e *LadderSnapshotTaken) { e.Mode = Parley },
		"no such revision":  func(e *LadderSnapshotTaken) { e.Revision = math.MaxUint64 },
		"no state":          func(e *LadderSnapshotTaken) { e.State = nil },
		"a truncated state": func(e *LadderSnapshotTaken) { e.State = e.State[:len(e.State)-1] },
		"no gzip":           func(e *LadderSnapshotTaken) { e.State = []byte(inJSON(t, sampleState())) },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			spoil(&bad)
			_, err := bad.Restore(Standard)
			require.ErrorIs(t, err, ErrNoUse)
		})
	}
}

// If one bit of a stored snapshot flips, Restore must reject the snapshot or return
// the same ladder. Otherwise, the snapshot must name a different event, so that its
// reader rejects it.
func TestEveryFlippedBitIsFoundOrHarmless(t *testing.T) {
	e, err := sampleState().Snapshot(Standard, 5, "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90")
	require.NoError(t, err)
	whole := []byte(inJSON(t, e))
	want, err := e.Restore(Standard)
	require.NoError(t, err)
	refused := 0
	for at := range whole {
		for bit := range 8 {
			data := bytes.Clone(whole)
			data[at] ^= 1 << bit
			got, err := DecodeSnapshot("LadderSnapshotTaken", data)
			if err != nil {
				refused++
				continue
			}
			bad := got.(LadderSnapshotTaken)
			l, err := bad.Restore(Standard)
			if err != nil {
				refused++
				continue
			}
			if bad.Revision == e.Revision && bad.EventID == e.EventID {
				require.Equal(t, want, l, "byte %d, bit %d", at, bit)
			}
		}
	}
	require.Greater(t, refused, 7*len(whole)/2)
}

func TestDecodeSnapshotRefuses(t *testing.T) {
	for name, c := range map[string]struct{ eventType, data string }{
		"an unknown type":       {"LadderSnapshotMoved", `{}`},
		"a ladder's event":      {"MatchVoided", `{"match":"m","why":"operator"}`},
		"invalid JSON":          {"LadderSnapshotTaken", `{`},
		"a state not in base64": {"LadderSnapshotTaken", `{"state":"?"}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeSnapshot(c.eventType, []byte(c.data))
			require.Error(t, err)
		})
	}
}

// FuzzRestore checks that Restore, for any input, returns an error or a working
// ladder.
func FuzzRestore(f *testing.F) {
	whole, err := sampleState().Snapshot(Standard, 5, "id")
	require.NoError(f, err)
	f.Add([]byte(inJSON(f, whole)), []byte(nil))
	f.Add([]byte(`{"schema":1,"mode":"standard"}`), []byte(inJSON(f, sampleState())))
	f.Add([]byte(`{"schema":1,"mode":"standard","revision":18446744073709551615}`), []byte(`{"bots":[{"id":"a"},{"id":"a"}],"open":[{"id":"m","bots":["a"]},{"id":"m"}],"closed":["m","m",""]}`))
	f.Add([]byte(`null`), []byte(`null`))
	f.Fuzz(func(t *testing.T, data, state []byte) {
		got, err := DecodeSnapshot("LadderSnapshotTaken", data)
		if err != nil {
			return
		}
		e := got.(LadderSnapshotTaken)
		var s State
		if state != nil && json.Unmarshal(state, &s) == nil {
			if packed, err := s.Snapshot(Standard, e.Revision, e.EventID); err == nil {
				e.State = packed.State
			}
		}
		l, err := e.Restore(Standard)
		if err != nil {
			require.ErrorIs(t, err, ErrNoUse)
			return
		}
		require.Equal(t, e.Revision+1, l.Version())
		l = Evolve(l, seated("next", "x", "y", "z"), noon)
		_, err = l.Finish("next", []Result{{BotID: "x", Placement: 1}, {BotID: "y", Placement: 2}, {BotID: "z", Placement: 3}})
		require.NoError(t, err)
	})
}

// BenchmarkState measures State, because it is the only part of taking a snapshot
// that blocks changes to the ladder.
func BenchmarkState(b *testing.B) {
	l := big(10_000)
	for b.Loop() {
		l.State()
	}
}

func BenchmarkSnapshot(b *testing.B) {
	l := big(10_000)
	var taken LadderSnapshotTaken
	for b.Loop() {
		var err error
		taken, err = l.State().Snapshot(Standard, l.Version()-1, "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90")
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(inJSON(b, taken))), "bytes")
}

func BenchmarkRestore(b *testing.B) {
	l := big(10_000)
	taken, err := l.State().Snapshot(Standard, l.Version()-1, "6f1c1c62-0e63-5ac3-9b3f-6d5c1b7a8e90")
	require.NoError(b, err)
	for b.Loop() {
		_, err := taken.Restore(Standard)
		require.NoError(b, err)
	}
}

// The function big() returns a ladder on which the given number of bots have played. A
// third of the bots are in a match.
func big(bots int) Ladder {
	ids := make([]string, bots)
	for i := range ids {
		ids[i] = NameUUID(fmt.Sprint("bot ", i))
	}
	l := given()
	for round := range 5 {
		for i := 0; i+3 <= bots; i += 3 {
			id := NameUUID(fmt.Sprint("match ", round, i))
			at := noon.Add(time.Duration(round*bots+i) * time.Millisecond)
			l = Evolve(l, seated(id, ids[i:i+3]...), at)
			if round == 4 && i > bots*2/3 {
				continue
			}
			results := []Result{{BotID: ids[i], Placement: 1 + i%2}, {BotID: ids[i+1], Placement: 2 - i%2}, {BotID: ids[i+2], Placement: 3}}
			events, err := l.Finish(id, results)
			if err != nil {
				panic(err)
			}
			l = Evolve(l, events[0], at.Add(time.Minute))
		}
	}
	return l
}
