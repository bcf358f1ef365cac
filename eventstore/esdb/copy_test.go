package esdb

import (
	"context"
	"fmt"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

func noProgress(string, uint64, uint64) {}

// The function visible() reads each stream of a log and returns the events.
func visible(a testLog, h contents) map[string][]string {
	a.t.Helper()
	seen := map[string][]string{}
	for _, e := range h.Events {
		if seen[e.Stream] != nil {
			continue
		}
		seen[e.Stream] = []string{}
		for r, err := range a.Read(a.t.Context(), eventstore.StreamID(e.Stream), 0, eventstore.ReadOptions{}) {
			text := fmt.Sprintf("%d %s", r.Revision, r.ID)
			if err != nil {
				require.ErrorIs(a.t, err, eventstore.ErrStreamDeleted)
				text = "deleted"
			}
			seen[e.Stream] = append(seen[e.Stream], text)
		}
	}
	return seen
}

func requireCopy(t *testing.T, source, target testLog) {
	t.Helper()
	want, got := source.contents(), target.contents()
	require.Equal(t, want, got)
	require.Equal(t, visible(source, want), visible(target, got))
}

func TestCopyMovesEverything(t *testing.T) {
	source, target := newTestLog(t, nil), newTestLog(t, nil)
	source.fill()
	copied, err := Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	requireCopy(t, source, target)

	want := source.contents()
	require.Equal(t, []string{"deleted"}, visible(target, want)["doomed"])
	require.Len(t, visible(target, want)["arena-player"], 1)
	require.Len(t, visible(target, want)["truncated"], 2)
	require.Empty(t, visible(target, want)["deleted"])
	require.Len(t, visible(target, want)["revived"], 3)
	require.Equal(t, 2, copied.Tombstones)
	require.Equal(t, len(want.Events), int(copied.Events)+copied.Tombstones)
	require.Equal(t, copied.Events, copied.Written)
	require.Equal(t, len(want.Metadata), copied.Described)
	require.Zero(t, copied.Renumbered)
	require.Zero(t, copied.Expired)

	again, err := Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	require.Zero(t, again.Written)
	copied.Written = 0
	require.Equal(t, copied, again)
	requireCopy(t, source, target)

	_, err = target.Append(t.Context(), "ladder-standard", eventstore.At(11), events(1)...)
	require.NoError(t, err, "a client that knows the revision can append")
	require.ErrorIs(t, target.Tombstone(t.Context(), "doomed", eventstore.Any), eventstore.ErrStreamDeleted)
}

// A copy that is interrupted several times, after any number of events, produces
// the same target as a copy without interruptions.
func TestCopyContinuesAfterInterruptions(t *testing.T) {
	source := newTestLog(t, nil)
	source.fill()
	rng := logtest.Random(t)
	for range 4 {
		target := newTestLog(t, nil)
		interruptions, written := 0, uint64(0)
		for ended := true; ended; {
			ctx, kill := context.WithCancel(t.Context())
			left := rng.IntN(40) // events until the interruption; there are more than 200
			c := newCopier(source.Log, target.Log, func(step string, _, _ uint64) {
				if left--; step == StepWrite && left < 0 {
					kill()
				} else if step != StepWrite {
					left++
				}
			}, testPatience)
			c.every = 1
			copied, err := c.copy(ctx)
			kill()
			if ended = err != nil; ended {
				require.ErrorIs(t, err, context.Canceled)
				interruptions++
			}
			written += copied.Written
		}
		t.Logf("interrupted %d times, %d events written", interruptions, written)
		require.Greater(t, interruptions, 3)
		requireCopy(t, source, target)
	}
}

// A scavenged source has gaps in its streams and in $all. Copy copies each
// remaining event once, and numbers the events of each stream from 0 without gaps.
func TestCopyOfAScavengedLog(t *testing.T) {
	source, target := newTestLog(t, nil), newTestLog(t, nil)
	source.fill()
	scavenged, err := source.node.Scavenge(t.Context(), nil)
	require.NoError(t, err)
	require.Positive(t, scavenged.Events)
	copied, err := Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	want := source.contents()
	require.Equal(t, len(want.Events), int(copied.Events)+copied.Tombstones)
	require.Equal(t, 4, copied.Renumbered)
	next := map[string]uint64{}
	for i, e := range want.Events {
		want.Events[i].Revision = next[e.Stream]
		next[e.Stream]++
	}
	want.Metadata["revived"], want.Metadata["truncated"] = `{}`, `{"kept":"as it is"}`
	require.Equal(t, want, target.contents())
	t.Logf("%d events removed, %d copied, %d streams renumbered", scavenged.Events, copied.Events, copied.Renumbered)

	source.appendSmall("ladder-standard", 3)
	again, err := Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	require.Equal(t, uint64(3), again.Written)
}

func TestCopyOfAnEmptyLog(t *testing.T) {
	source, target := newTestLog(t, nil), newTestLog(t, nil)
	source.appendSmall("$of-the-server", 2)
	copied, err := Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	require.Zero(t, copied.Events)
	target.appendSmall("$of-another-server", 2)
	_, err = Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	target.appendSmall("mine", 1)
	_, err = Copy(t.Context(), source.Log, target.Log, noProgress)
	require.ErrorIs(t, err, ErrNoCopy)
}

func TestCopyOfABigStream(t *testing.T) {
	source, target := newTestLog(t, nil), newTestLog(t, nil)
	for range 10 {
		source.appendSmall("match-big", 2500)
	}
	for range 3 {
		source.append("match-wide", es.EventData{EventID: uuid.New(), EventType: "Wide", ContentType: es.ContentTypeBinary, Data: make([]byte, 400_000)})
	}
	var total uint64
	_, err := Copy(t.Context(), source.Log, target.Log, func(step string, done, all uint64) {
		if step == StepWrite {
			total = all
			require.LessOrEqual(t, done, all)
		}
	})
	require.NoError(t, err)
	require.EqualValues(t, 25_003, total)
	requireCopy(t, source, target)
}

func TestCopyRejectsATargetWithOtherEvents(t *testing.T) {
	source := newTestLog(t, nil)
	source.appendSmall("match-1", 3)
	source.describe("match-1", `{"$maxCount":2}`)
	source.tombstone("gone")
	tests := []struct {
		name    string
		prepare func(target testLog)
		names   string
	}{
		{"another stream", func(a testLog) { a.appendSmall("match-2", 1) }, "match-2@0 (Small0)"},
		{"another stream after the copy", func(a testLog) { copyInto(a, source); a.appendSmall("match-2", 1) }, "match-2@0"},
		{"more of the same stream", func(a testLog) { copyInto(a, source); a.appendSmall("match-1", 1) }, "match-1@3"},
		{"other events of the same stream", func(a testLog) { a.appendSmall("match-1", 3) }, "match-1@0"},
		{"a tombstone", func(a testLog) { a.tombstone("match-1") }, "match-1@9223372036854775807 ($streamDeleted)"},
		{"a tombstone after the copy", func(a testLog) { copyInto(a, source); a.tombstone("match-1") }, "$streamDeleted"},
		{"metadata of another stream", func(a testLog) { a.describe("match-2", `{}`) }, "$$match-2@0 ($metadata)"},
		{"metadata that the source does not have", func(a testLog) { a.describe("gone", `{}`) }, "$$gone@0"},
		{"the same id with other data", func(a testLog) {
			for e, err := range source.everything(a.t.Context(), nil) {
				require.NoError(a.t, err)
				forged := proposal(e)
				forged.Data = []byte(`{"n":"forged"}`)
				a.append(e.StreamID, forged)
				break
			}
		}, "match-1@0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target := newTestLog(t, nil)
			test.prepare(target)
			before := target.contents()
			_, err := Copy(t.Context(), source.Log, target.Log, noProgress)
			require.ErrorIs(t, err, ErrNoCopy)
			require.ErrorContains(t, err, test.names)
			require.NotContains(t, err.Error(), "\n")
			require.Equal(t, before, target.contents(), "nothing was written")
		})
	}
}

func copyInto(target, source testLog) {
	_, err := Copy(target.t.Context(), source.Log, target.Log, noProgress)
	require.NoError(target.t, err)
}

// Copy can copy a growing source in several runs. The source must not grow during
// the last run.
func TestCopyOfAGrowingSource(t *testing.T) {
	source, target := newTestLog(t, nil), newTestLog(t, nil)
	source.fill()
	grown := false
	grow := func(step string, _, _ uint64) {
		if step != StepWrite || grown {
			return
		}
		grown = true
		source.appendSmall("match-0", 2)
		source.describe("match-0", `{"note":"third"}`)
		source.appendSmall("deleted", 2) // this revives the stream; the target then also writes metadata automatically
		source.appendSmall("revived", 1)
		source.describe("revived", `{"$maxCount":2}`)
		source.tombstone("odd")
		source.tombstone("without-events")
		source.softDelete("match-1")
		source.appendSmall("new", 1)
		source.appendSmall("$of-the-server", 1)
	}
	_, err := Copy(t.Context(), source.Log, target.Log, grow)
	require.ErrorIs(t, err, ErrGrown)
	require.NotContains(t, err.Error(), "\n")
	for range 2 {
		_, err = Copy(t.Context(), source.Log, target.Log, noProgress)
		require.NoError(t, err)
		requireCopy(t, source, target)
	}
}

// Expired events do not reappear in the target, and a $tb still hides the same events
// although the streams are renumbered.
func TestCopyLeavesOutExpiredEvents(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	source, target := newTestLog(t, func() time.Time { return now }), newTestLog(t, nil)
	source.describe("signatures-1", `{"$maxAge":660}`)
	source.describe("both", `{"$maxAge":660,"$tb":5}`)
	source.describe("beyond", `{"$maxAge":660,"$tb":9}`)
	for _, stream := range []string{"signatures-1", "both", "beyond", "whole"} {
		source.appendSmall(stream, 3)
	}
	now = now.Add(11*time.Minute + time.Second)
	for _, stream := range []string{"signatures-1", "both", "beyond"} {
		source.appendSmall(stream, 4)
	}
	want := source.contents()
	copied, err := Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	require.EqualValues(t, 9, copied.Expired)
	require.Equal(t, 3, copied.Renumbered)
	got := target.contents()
	require.Equal(t, map[string]string{
		"signatures-1": `{"$maxAge":660}`,
		"both":         `{"$maxAge":660,"$tb":2}`, // $tb was 5 for the events 3..6
		"beyond":       `{"$maxAge":660,"$tb":6}`, // $tb was 9, two after the last event
	}, got.Metadata)
	for stream, n := range map[string]int{"signatures-1": 4, "both": 2, "beyond": 0, "whole": 3} {
		require.Len(t, visible(target, got)[stream], n, stream)
		require.Len(t, visible(source, want)[stream], n, stream)
	}
	again, err := Copy(t.Context(), source.Log, target.Log, noProgress)
	require.NoError(t, err)
	require.Zero(t, again.Written)
	require.Equal(t, got, target.contents())
}

func TestCopySurvivesOutages(t *testing.T) {
	source := newTestLog(t, nil)
	source.fill()
	to, p := openThrough(t)
	cuts := 0
	c := newCopier(source.Log, to, func(step string, done, _ uint64) {
		if (step == StepWrite || step == StepVerify) && done%40 == 1 {
			p.Cut()
			cuts++
		}
	}, testPatience)
	c.every = 1
	_, err := c.copy(t.Context())
	require.NoError(t, err)
	t.Logf("%d cuts", cuts)
	require.Greater(t, cuts, 5)
	requireCopy(t, source, testLog{t: t, Log: openDirect(t, p.Target())})
}

func TestCopyGivesUpOnAnUnavailableLog(t *testing.T) {
	const stalled = 10 * time.Second // the other log must respond within this time
	there := newTestLog(t, nil)
	there.appendSmall("match-1", 3)
	for _, o := range []outage.Kind{outage.Refused, outage.Hung} {
		away, p := openThrough(t)
		p.Set(o)
		for name, logs := range map[string][2]*Log{"source": {away, there.Log}, "target": {there.Log, away}} {
			t.Run(fmt.Sprint(name, " ", o), func(t *testing.T) {
				t.Parallel()
				_, err := newCopier(logs[0], logs[1], noProgress, stalled).copy(t.Context())
				require.ErrorIs(t, err, eventstore.ErrUnavailable)
				require.ErrorContains(t, err, "the "+name)
				require.NotContains(t, err.Error(), "\n")
			})
		}
	}
}

func TestVerifyFindsDifferences(t *testing.T) {
	tests := []struct {
		name  string
		forge func(c *copier)
		want  error
	}{
		{"one event fewer", func(c *copier) { c.streams["match-1"].copied++ }, ErrDiffers},
		{"another event", func(c *copier) { c.copied.Sum[0]++ }, ErrDiffers},
		{"other metadata", func(c *copier) { c.streams["match-1"].meta.Data = []byte(`{}`) }, ErrDiffers},
		{"one stream more", func(c *copier) { delete(c.streams, "match-2") }, ErrNoCopy},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source, target := newTestLog(t, nil), newTestLog(t, nil)
			source.appendSmall("match-1", 3)
			source.describe("match-1", `{"$maxCount":2}`)
			source.appendSmall("match-2", 3)
			c := newCopier(source.Log, target.Log, noProgress, testPatience)
			_, err := c.copy(t.Context())
			require.NoError(t, err)
			require.NoError(t, c.verify(t.Context()))
			test.forge(c)
			err = c.verify(t.Context())
			require.ErrorIs(t, err, test.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestLimitsOfMetadata(t *testing.T) {
	for _, test := range []struct {
		metadata string
		want     limits
	}{
		{``, limits{}},
		{`{}`, limits{}},
		{`[]`, limits{}},
		{`{"$maxCount":5}`, limits{}},
		{`{"$tb":7}`, limits{truncate: 7}},
		{`{"$tb":9223372036854775807}`, limits{}},
		{`{"$tb":-1,"$maxAge":0}`, limits{}},
		{`{"$maxAge":660}`, limits{age: 11 * time.Minute}},
		{`{"$maxAge":9223372036854775807}`, limits{age: 9223372036 * time.Second}},
		{`{"$maxAge":660,"$tb":"7"}`, limits{}},
		{`{"$maxAge":660,"$maxCount":null}`, limits{}},
		{`{"$maxAge":660,"$cacheControl":1.5}`, limits{}},
		{`{"$maxAge":660,"$acl":"x"}`, limits{}},
		{`{"$maxAge":660,"$acl":{"$r":"x"}}`, limits{age: 11 * time.Minute}},
		{`{"$MAXAGE":660}`, limits{}},
	} {
		require.Equal(t, test.want, readLimits([]byte(test.metadata)), test.metadata)
	}
	require.JSONEq(t, `{"$tb":3,"a":[1.50,"x"]}`, string(withTruncateBefore([]byte(`{"a":[1.50,"x"],"$tb":10}`), 3)))
	require.JSONEq(t, `{"a":1}`, string(withTruncateBefore([]byte(`{"a":1,"$tb":10}`), 0)))
}
