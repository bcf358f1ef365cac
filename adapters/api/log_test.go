package api_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	domain "hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/signedlog"
)

// The type logged is an arena with a signed log.
type logged struct {
	*arena
	play   *arenatest.Arena
	runner *projections.Runner

	cosigned     []byte // the newest cosigned head of a ladder tree
	cosignedSize uint64
	cosignatures int // of this head
}

// The type stoppable is a signed log, wired like the real one in cmd. After its runner
// has stopped, its methods return an error.
type stoppable struct {
	*signedlog.SignedLog
	runner *projections.Runner
}

func (s stoppable) Head(ctx context.Context, mode string) (uint64, []byte, error) {
	if err := s.runner.Err(); err != nil {
		return 0, nil, err
	}
	return s.SignedLog.Head(ctx, mode)
}

func newLogged(t *testing.T) *logged {
	t.Helper()
	l := &logged{}
	l.arena = newArena(t, func(o *api.Options) {
		signed := signedlog.New(o.Log)
		l.runner = arenatest.Follow(t, o.Log, signed)
		o.SignedLog = stoppable{signed, l.runner}
		o.SignHead = func(mode string, size uint64, root []byte) ([]byte, error) {
			return signedlog.Sign(signedlog.Head{Origin: signedlog.Origin("arena.example", mode), Size: size, Root: root}, ed25519.NewKeyFromSeed(make([]byte, 32)))
		}
		o.Checkpoint = func(mode string) (uint64, []byte, error) {
			size, root, err := signed.LadderHead(t.Context(), mode)
			if err := errors.Join(l.runner.Err(), err); err != nil {
				return 0, nil, err
			}
			h, err := signedlog.Sign(signedlog.Head{Origin: signedlog.LadderOrigin("arena.example", mode), Size: size, Root: root}, ed25519.NewKeyFromSeed(make([]byte, 32)))
			return size, h, err
		}
		o.Cosigned = func(_ string, n int) (uint64, []byte, bool) {
			if n > l.cosignatures {
				return 0, nil, false
			}
			return l.cosignedSize, l.cosigned, true
		}
		o.LadderKey = func(mode string) (string, error) {
			return signedlog.VerifierKey(signedlog.LadderOrigin("arena.example", mode), o.PlatformKey)
		}
	})
	l.play = arenatest.New(t, l.log, 3)
	require.NoError(t, l.runner.Sync(t.Context()))
	return l
}

func (l *logged) get(target string) *answer { return l.anyone().do(http.MethodGet, target, nil) }

func (l *logged) complete(n int) (id string) {
	id = l.play.Complete(ladder.Standard, l.play.Register("ada", ladder.Standard, fmt.Sprint("a", n), fmt.Sprint("b", n), fmt.Sprint("c", n))...).MatchID
	require.NoError(l.t, l.runner.Sync(l.t.Context()))
	require.NoError(l.t, l.read.runners[0].Sync(l.t.Context()))
	return id
}

// head verifies and returns the signed head.
func (l *logged) head() signedlog.Head {
	a := l.get("/log/standard/head").is(http.StatusOK)
	require.Equal(l.t, "text/plain; charset=utf-8", a.header.Get("Content-Type"))
	h, err := signedlog.Open(a.body, ladder.Standard, l.platform)
	require.NoError(l.t, err)
	return h
}

func (l *logged) hashes(a *answer) [][]byte {
	all := [][]byte{}
	for _, h := range a.is(http.StatusOK).json["hashes"].([]any) {
		hash, err := base64.StdEncoding.DecodeString(h.(string))
		require.NoError(l.t, err)
		all = append(all, hash)
	}
	return all
}

// With a match, a head and an inclusion proof, anyone can verify that the log contains
// the match. With an older head and a consistency proof, anyone can verify that the log
// has only grown since the older head.
func TestSignedLog(t *testing.T) {
	l := newLogged(t)
	empty := l.head()
	require.Zero(t, empty.Size)
	l.get("/log/standard/consistency?from=1&to=1").is(http.StatusUnprocessableEntity, "invalid").names("to")
	var ids []string
	var heads []signedlog.Head
	for n := range 3 {
		ids = append(ids, l.complete(n))
		heads = append(heads, l.head())
		require.EqualValues(t, n+1, heads[n].Size)
	}
	for i, id := range ids {
		leaf, err := signedlog.Leaf(l.get("/matches/" + id).is(http.StatusOK).body)
		require.NoError(t, err)
		a := l.get("/log/standard/inclusion?match=" + id)
		p := signedlog.Inclusion{Index: uint64(i), Size: 3, Hashes: l.hashes(a)}
		require.EqualValues(t, i, a.json["index"])
		require.EqualValues(t, 3, a.json["size"])
		root, err := p.RootOf(leaf)
		require.NoError(t, err)
		require.Equal(t, heads[2].Root, root)
	}
	for from := 1; from <= 3; from++ {
		a := l.get(fmt.Sprintf("/log/standard/consistency?from=%d&to=3", from))
		require.NoError(t, heads[2].Continues(heads[from-1], l.hashes(a)))
		require.Contains(t, a.header.Get("Cache-Control"), "immutable")
		require.EqualValues(t, from, a.json["from"])
	}
	require.Equal(t, []any{}, l.get("/log/standard/consistency?from=3&to=3").is(http.StatusOK).json["hashes"])
	for _, target := range []string{"/log/standard/head", "/log/standard/inclusion?match=" + ids[0], "/log/keys"} {
		a := l.get(target).is(http.StatusOK)
		require.Equal(t, "no-cache", a.header.Get("Cache-Control"), target)
		l.anyone().do(http.MethodGet, target, nil, func(r *http.Request) { r.Header.Set("If-None-Match", a.header.Get("ETag")) }).is(http.StatusNotModified)
	}
}

func TestSignedLogErrors(t *testing.T) {
	l := newLogged(t)
	id := l.complete(0)
	for target, field := range map[string]string{
		"/log/standard/inclusion":                                  "match",
		"/log/standard/inclusion?match=":                           "match",
		"/log/standard/inclusion?match=" + id + "&size=1":          "size",
		"/log/standard/consistency?from=1":                         "to",
		"/log/standard/consistency?from=0&to=1":                    "from",
		"/log/standard/consistency?from=1&to=2":                    "to",
		"/log/standard/consistency?from=2&to=1":                    "from",
		"/log/standard/consistency?from=1&to=99999999999999999999": "to",
		"/log/standard/head?at=1":                                  "at",
	} {
		l.get(target).is(http.StatusUnprocessableEntity, "invalid").names(field)
	}
	for _, target := range []string{
		"/log/chess/head", "/log/chess/inclusion?match=" + id, "/log/chess/consistency?from=1&to=1", "/log/parley/inclusion?match=" + id,
		"/log/standard/inclusion?match=nothing", "/log/standard", "/log",
	} {
		l.get(target).is(http.StatusNotFound, "not_found")
	}
	g := l.play.Seat(ladder.Standard, l.play.Register("ada", ladder.Standard, "x", "y", "z")...)[0]
	g.Start()
	g.Void(ladder.WhyOperator) // so the match's stream has no end event
	require.Error(t, l.runner.Sync(t.Context()))
	l.get("/log/standard/head").is(http.StatusServiceUnavailable, "out_of_date")
	newArena(t).anyone().do(http.MethodGet, "/log/standard/head", nil).is(http.StatusNotFound, "not_found")
}

func TestSeedKeysAreShownOncePublished(t *testing.T) {
	l := newLogged(t)
	require.Equal(t, map[string]any{"keys": []any{}}, l.get("/log/keys").is(http.StatusOK).json)
	key := domain.RevealedKey{1, 2, 3}
	events, err := eventstore.EncodeAll([]domain.Event{
		domain.SeedKeyAdded{ID: "k1", Hash: domain.Hash{7}}, domain.SeedKeyAdded{ID: "k2", Hash: domain.Hash{8}},
		domain.SeedKeyRetired{ID: "k1"}, domain.SeedKeyPublished{ID: "k1", Key: key},
	}, eventstore.Metadata{At: time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC), Correlation: "test"})
	require.NoError(t, err)
	_, err = l.log.Append(t.Context(), domain.KeysStream, eventstore.NoStream, events...)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"keys": []any{
		map[string]any{"id": "k1", "hash": "07" + strings.Repeat("0", 62), "key": "010203" + strings.Repeat("0", 58)},
		map[string]any{"id": "k2", "hash": "08" + strings.Repeat("0", 62), "key": nil},
	}}, l.get("/log/keys").is(http.StatusOK).json)
}
