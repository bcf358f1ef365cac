package api_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	domain "hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// ladderKey returns the verifier of the heads of a mode's ladder tree.
func (l *logged) ladderKey(mode string) note.Verifier {
	a := l.get("/log/" + mode + "/vkey").is(http.StatusOK)
	require.Equal(l.t, "text/plain; charset=utf-8", a.header.Get("Content-Type"))
	line, ok := strings.CutSuffix(string(a.body), "\n")
	require.True(l.t, ok)
	v, err := note.NewVerifier(line)
	require.NoError(l.t, err)
	require.Equal(l.t, "arena.example/ladder/"+mode, v.Name())
	return v
}

// policy returns a policy that accepts the heads of a mode's ladder tree if the arena
// signed them.
func (l *logged) policy(mode string) torchwood.Policy {
	v := l.ladderKey(mode)
	return torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(v.Name()), torchwood.SingleVerifierPolicy(v))
}

func (l *logged) checkpoint(mode string) torchwood.Checkpoint {
	a := l.get("/ladder/" + mode + "/checkpoint").is(http.StatusOK)
	require.Equal(l.t, "text/plain; charset=utf-8", a.header.Get("Content-Type"))
	require.Equal(l.t, "no-cache", a.header.Get("Cache-Control"))
	c, _, err := torchwood.VerifyCheckpoint(a.body, l.policy(mode))
	require.NoError(l.t, err)
	return c
}

// The method events() reads all events of a mode's ladder, page by page. limit is the
// number of events per page.
func (l *logged) events(mode string, limit int) (all []map[string]any) {
	from, size := 0, -1
	for {
		a := l.get(fmt.Sprintf("/ladder/%s/events?from=%d&limit=%d", mode, from, limit)).is(http.StatusOK)
		require.Equal(l.t, mode, a.json["mode"])
		if size >= 0 {
			require.EqualValues(l.t, size, a.json["size"])
		}
		size = int(a.json["size"].(float64))
		for _, e := range a.json["events"].([]any) {
			require.EqualValues(l.t, len(all), e.(map[string]any)["revision"])
			all = append(all, e.(map[string]any))
		}
		if a.json["next"] == nil {
			require.Len(l.t, all, size)
			require.Equal(l.t, "no-cache", a.header.Get("Cache-Control"))
			return all
		}
		require.Contains(l.t, a.header.Get("Cache-Control"), "immutable")
		from = int(a.json["next"].(float64))
		require.Len(l.t, all, from)
	}
}

// An auditor reads the ladder's events, recomputes each entry, and checks a proof that
// the checkpoint's tree contains the entry.
func TestLadderTree(t *testing.T) {
	l := newLogged(t)
	require.Zero(t, l.checkpoint(domain.Standard).N)
	require.Empty(t, l.events(domain.Standard, 10))
	l.get("/ladder/standard/proof/0").is(http.StatusNotFound, "not_found")

	l.complete(0)
	l.play.Seat(domain.Standard, l.play.Register("ada", domain.Standard, "x", "y", "z")...)[0].Void(domain.WhyOperator)
	aborted := l.play.Seat(domain.Standard, l.play.Register("ada", domain.Standard, "u", "v", "w")...)[0]
	aborted.Start()
	aborted.Play(1)
	aborted.Abort("operator")
	aborted.Conclude()
	require.NoError(t, l.runner.Sync(t.Context()))
	c := l.checkpoint(domain.Standard)
	require.EqualValues(t, 6, c.N)
	require.Zero(t, l.checkpoint(domain.Parley).N)
	require.Empty(t, l.events(domain.Parley, 500))

	for _, limit := range []int{1, 2, 6, 500} {
		events := l.events(domain.Standard, limit)
		require.Len(t, events, 6)
		leaves := 0
		for i, e := range events {
			sum := sha256.Sum256([]byte(e["data"].(string)))
			entry := fmt.Sprintf(`{"revision":%d,"sha256":"%s","type":"%s"}`, i, hex.EncodeToString(sum[:]), e["type"])
			if i == 1 || i == 5 { // these events are the results of matches that had started
				entry = fmt.Sprintf(`{"leaf":"%s",%s`, l.leafHash(leaves), entry[1:])
				leaves++
			}
			proof := l.get(fmt.Sprintf("/ladder/standard/proof/%d", i)).is(http.StatusOK)
			require.NoError(t, torchwood.VerifyProof(l.policy(domain.Standard), tlog.RecordHash([]byte(entry)), proof.body))
			require.Error(t, torchwood.VerifyProof(l.policy(domain.Parley), tlog.RecordHash([]byte(entry)), proof.body))
			_, err := time.Parse(time.RFC3339, e["at"].(string))
			require.NoError(t, err)
		}
	}
	types := []any{}
	for _, e := range l.events(domain.Standard, 100) {
		types = append(types, e["type"])
		require.True(t, json.Valid([]byte(e["data"].(string))))
	}
	require.Equal(t, []any{"TablesSeated", "RatingsChanged", "TablesSeated", "MatchVoided", "TablesSeated", "MatchVoided"}, types)
}

// leafHash returns the hash, in hex, of a leaf in the tree of results. It reads the
// leaf from the record of the match.
func (l *logged) leafHash(index int) string {
	l.t.Helper()
	events := l.events(domain.Standard, 500)
	var closed struct {
		Match string `json:"match"`
	}
	require.NoError(l.t, json.Unmarshal([]byte(events[[]int{1, 5}[index]]["data"].(string)), &closed))
	require.NoError(l.t, l.read.runners[0].Sync(l.t.Context()))
	leaf, err := signedlog.Leaf(l.get("/matches/" + closed.Match).is(http.StatusOK).body)
	require.NoError(l.t, err)
	hash := tlog.RecordHash(leaf)
	return hex.EncodeToString(hash[:])
}

func TestTilesOfTheLadderTree(t *testing.T) {
	l := newLogged(t)
	for n := range 3 {
		l.play.Seat(domain.Standard, l.play.Register("ada", domain.Standard, fmt.Sprint("x", n), fmt.Sprint("y", n), fmt.Sprint("z", n))...)[0].Void(domain.WhyOperator)
	}
	require.NoError(t, l.runner.Sync(t.Context()))
	for width := 1; width <= 6; width++ {
		bundle := l.get(fmt.Sprintf("/ladder/standard/tile/entries/000.p/%d", width)).is(http.StatusOK)
		tile := l.get(fmt.Sprintf("/ladder/standard/tile/0/000.p/%d", width)).is(http.StatusOK)
		require.Equal(t, "application/octet-stream", tile.header.Get("Content-Type"))
		require.Contains(t, tile.header.Get("Cache-Control"), "immutable")
		require.Contains(t, bundle.header.Get("Cache-Control"), "immutable")
		require.Len(t, tile.body, width*tlog.HashSize)
		rest := bundle.body
		for i := range width {
			var entry []byte
			var err error
			entry, rest, err = torchwood.ReadTileEntry(rest)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(entry), fmt.Sprintf(`{"revision":%d,`, i)), string(entry))
			hash := tlog.RecordHash(entry)
			require.Equal(t, hash[:], tile.body[i*tlog.HashSize:(i+1)*tlog.HashSize])
		}
		require.Empty(t, rest)
	}
	for _, path := range []string{
		"tile/0/000", "tile/0/000.p/7", "tile/0/001.p/1", "tile/1/000.p/1", "tile/entries/000", "tile/entries/000.p/7", "tile/63/000.p/1",
		"tile/0/x999/x999/x999/x999/x999/x999/999", "tile/0/x001/000.p/1", // beyond the tree
		"tile", "tile/", "tile/0", "tile/0/0", "tile/00/000.p/1", "tile/-1/000.p/1", "tile/data/000.p/1", "tile/64/000.p/1", "tile/8/0/000.p/1",
		"tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/01", "tile/0/000.p/1/", "tile/0//000.p/1", "tile/0/x000/000.p/1", "tile/0/../0/000.p/1",
		"tile/entries/000.p/-1", "tile/entries/000.p/99999999999999999999", "tile/0/000%2Ep/7",
	} {
		l.get("/ladder/standard/"+path).is(http.StatusNotFound, "not_found")
	}
	l.get("/ladder/standard/tile/0/000.p/1?x=1").is(http.StatusUnprocessableEntity, "invalid").names("x")
	l.anyone().do(http.MethodPost, "/ladder/standard/tile/0/000.p/1", nil).is(http.StatusMethodNotAllowed)
}

func TestLadderTreeErrors(t *testing.T) {
	l := newLogged(t)
	g := l.play.Seat(domain.Standard, l.play.Register("ada", domain.Standard, "x", "y", "z")...)[0]
	require.NoError(t, l.runner.Sync(t.Context()))
	for target, field := range map[string]string{
		"/ladder/standard/events?from=-1":    "from",
		"/ladder/standard/events?from=2":     "from",
		"/ladder/standard/events?from=x":     "from",
		"/ladder/standard/events?limit=0":    "limit",
		"/ladder/standard/events?limit=501":  "limit",
		"/ladder/standard/events?before=1":   "before",
		"/ladder/standard/checkpoint?size=1": "size",
		"/log/standard/vkey?x=1":             "x",
		"/ladder/standard/proof/0?size=1":    "size",
	} {
		l.get(target).is(http.StatusUnprocessableEntity, "invalid").names(field)
	}
	require.Equal(t, []any{}, l.get("/ladder/standard/events?from=1").is(http.StatusOK).json["events"])
	for _, target := range []string{
		"/ladder/chess/checkpoint", "/ladder/chess/events", "/ladder/chess/proof/0", "/ladder/chess/tile/0/000.p/1", "/log/chess/vkey",
		"/ladder/standard/proof/1", "/ladder/standard/proof/-1", "/ladder/standard/proof/00", "/ladder/standard/proof/x", "/ladder/standard/proof/18446744073709551615",
		"/ladder/standard/proof", "/ladder/standard/proof/0/1", "/ladder/standard/nothing",
	} {
		l.get(target).is(http.StatusNotFound, "not_found")
	}
	g.Start()
	g.Void(domain.WhyOperator) // so the match's stream has no end event
	require.Error(t, l.runner.Sync(t.Context()))
	l.get("/ladder/standard/checkpoint").is(http.StatusServiceUnavailable, "out_of_date")
	l.get("/ladder/standard/proof/0").is(http.StatusServiceUnavailable, "out_of_date")
	require.Len(t, l.events(domain.Standard, 1), 2, "the events come from the log itself")
	for _, target := range []string{"/ladder/standard/checkpoint", "/ladder/standard/proof/0", "/ladder/standard/tile/0/000.p/1", "/log/standard/vkey"} {
		newArena(t).anyone().do(http.MethodGet, target, nil).is(http.StatusNotFound, "not_found")
	}
}

// Witnesses take time to sign, so the newest head has fewer cosignatures than an older
// one. A caller can ask for a head with a minimum number of cosignatures, and for a
// proof in the tree of that head.
func TestCosignedHeads(t *testing.T) {
	l := newLogged(t)
	policy := []torchwood.Policy{l.policy(domain.Standard)}
	l.get("/ladder/standard/checkpoint?cosignatures=1").is(http.StatusNotFound, "not_found")
	l.get("/ladder/standard/proof/0?cosignatures=1").is(http.StatusNotFound, "not_found")
	seat := func(n int) {
		l.play.Seat(domain.Standard, l.play.Register("ada", domain.Standard, fmt.Sprint("x", n), fmt.Sprint("y", n), fmt.Sprint("z", n))...)[0].Void(domain.WhyOperator)
		require.NoError(t, l.runner.Sync(t.Context()))
	}
	seat(1)
	l.cosigned, l.cosignedSize, l.cosignatures = l.get("/ladder/standard/checkpoint").body, 2, 2
	text, _, _ := strings.Cut(string(l.cosigned), "\n\n")
	for n := range 2 {
		w, err := torchwood.NewCosignatureSigner(fmt.Sprintf("w%d.example", n), ed25519.NewKeyFromSeed([]byte(fmt.Sprintf("%032d", n))))
		require.NoError(t, err)
		signed, err := note.Sign(&note.Note{Text: text + "\n"}, w)
		require.NoError(t, err)
		_, line, _ := strings.Cut(string(signed), "\n\n")
		l.cosigned = append(l.cosigned, line...)
		policy = append(policy, torchwood.SingleVerifierPolicy(w.Verifier()))
	}
	all := torchwood.ThresholdPolicy(3, policy...)
	seat(2)

	require.EqualValues(t, 4, l.checkpoint(domain.Standard).N)
	require.Equal(t, l.get("/ladder/standard/checkpoint").body, l.get("/ladder/standard/checkpoint?cosignatures=0").body)
	for n := 1; n <= 2; n++ {
		a := l.get(fmt.Sprintf("/ladder/standard/checkpoint?cosignatures=%d", n)).is(http.StatusOK)
		require.Equal(t, "no-cache", a.header.Get("Cache-Control"))
		c, _, err := torchwood.VerifyCheckpoint(a.body, all)
		require.NoError(t, err)
		require.EqualValues(t, 2, c.N)
	}
	l.get("/ladder/standard/checkpoint?cosignatures=3").is(http.StatusNotFound, "not_found")
	for i := range 2 {
		entry := l.entry(i)
		require.NoError(t, torchwood.VerifyProof(all, entry, l.get(fmt.Sprintf("/ladder/standard/proof/%d?cosignatures=2", i)).is(http.StatusOK).body))
		require.Error(t, torchwood.VerifyProof(all, entry, l.get(fmt.Sprintf("/ladder/standard/proof/%d", i)).is(http.StatusOK).body), "the newest head has no cosignatures")
	}
	l.get("/ladder/standard/proof/2?cosignatures=1").is(http.StatusNotFound, "not_found")
	l.get("/ladder/standard/proof/2").is(http.StatusOK)
	for target, field := range map[string]string{
		"/ladder/standard/checkpoint?cosignatures=-1":  "cosignatures",
		"/ladder/standard/checkpoint?cosignatures=101": "cosignatures",
		"/ladder/standard/checkpoint?cosignatures=x":   "cosignatures",
		"/ladder/standard/proof/0?cosignatures=x":      "cosignatures",
	} {
		l.get(target).is(http.StatusUnprocessableEntity, "invalid").names(field)
	}
}

// entry reads an entry of the standard ladder from its bundle and returns the entry's
// tree hash.
func (l *logged) entry(index int) tlog.Hash {
	rest := l.get(fmt.Sprintf("/ladder/standard/tile/entries/000.p/%d", index+1)).is(http.StatusOK).body
	var entry []byte
	for range index + 1 {
		var err error
		entry, rest, err = torchwood.ReadTileEntry(rest)
		require.NoError(l.t, err)
	}
	return tlog.RecordHash(entry)
}

// A page of large events ends early, so that the response stays small.
func TestPageOfLargeEventsEndsEarly(t *testing.T) {
	l := newLogged(t)
	const each = 400 << 10
	var events []eventstore.Event
	for n := range 5 {
		e, err := eventstore.Encode(domain.MatchVoided{MatchID: strings.Repeat(fmt.Sprint(n), each), Why: domain.WhyOperator}, eventstore.Metadata{At: time.Unix(1_800_000_000, 0)})
		require.NoError(t, err)
		events = append(events, e)
	}
	for i, e := range events {
		expected := eventstore.NoStream
		if i > 0 {
			expected = eventstore.At(eventstore.Revision(i - 1))
		}
		_, err := l.log.Append(t.Context(), eventstore.StreamID(domain.Stream(domain.Standard)), expected, e)
		require.NoError(t, err)
	}
	first := l.get("/ladder/standard/events").is(http.StatusOK)
	require.Len(t, first.json["events"], 2)
	require.EqualValues(t, 2, first.json["next"])
	require.Len(t, l.events(domain.Standard, 500), 5)
}
