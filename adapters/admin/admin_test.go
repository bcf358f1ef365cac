package admin_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/admin"
	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/accounts"
)

const (
	ada  = "owner-ada"
	adas = "bot-ada"
	gone = "match-gone"
	onIt = "match-on"
)

// fixture is a Server on an in-memory log. It also implements Directory and Player.
type fixture struct {
	t       *testing.T
	log     eventstore.Log
	handler http.Handler
	lines   *bytes.Buffer

	plays   bool
	paused  int      // number of calls to WithSeatingPaused
	aborted []string // match, reason, request
	rotated []eventstore.Metadata
	waited  []eventstore.Position
	fails   error // the error that Player's methods return
	lack    error // why the directory cannot tell whether a bot exists
}

func newFixture(t *testing.T) *fixture { return newFixtureOn(t, memory.New()) }

func newFixtureOn(t *testing.T, log eventstore.Log) *fixture {
	t.Helper()
	f := &fixture{t: t, log: log, lines: new(bytes.Buffer), plays: true}
	s := admin.New(admin.Options{
		Log: log, Accounts: accounts.New(log), Directory: f, Player: f,
		Logger: slog.New(slog.NewTextHandler(f.lines, nil)),
	})
	f.handler = s.Handler()
	return f
}

// storeAccount stores an account with a bot.
func storeAccount(t *testing.T, log eventstore.Log) {
	t.Helper()
	encoded, err := eventstore.EncodeAll([]owner.Event{
		owner.SignedUp{OwnerID: ada}, owner.BotRegistered{BotID: adas, Name: "Ada", Mode: ladder.Standard, URL: "http://127.0.0.1:9"},
	}, eventstore.Metadata{At: time.Now()})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), eventstore.StreamID(owner.AccountStream(ada)), eventstore.NoStream, encoded...)
	require.NoError(t, err)
}

func (f *fixture) OwnerOfBot(_ context.Context, id string) (string, error) {
	if id == adas {
		return ada, nil
	}
	return "", cmp.Or(f.lack, owner.ErrBotUnknown)
}

func (f *fixture) Wait(_ context.Context, p eventstore.Position) error {
	f.waited = append(f.waited, p)
	return f.lack
}

func (f *fixture) Running() (int, bool) {
	if !f.plays {
		return 0, false
	}
	return 3, true
}

func (f *fixture) Seats() bool { return f.plays }

func (f *fixture) Shared() admin.Shared {
	if !f.plays {
		return admin.Shared{}
	}
	return admin.Shared{Member: "m1", Handovers: 4, FencedAppends: 1, Members: []admin.Member{
		{ID: "m1", Host: "one", Since: seen, Running: 3, MaxMatches: 8, Free: 5, MissingSeedKeys: []string{"k0"}},
	}}
}

// seen is when the fixture first saw its member.
var seen = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)

func (f *fixture) WithSeatingPaused(run func()) { f.paused++; run() }

func (f *fixture) Abort(_ context.Context, matchID, reason, request string) error {
	switch {
	case f.fails != nil:
		return f.fails
	case !f.plays:
		return admin.ErrNotPlaying
	case matchID == gone:
		return admin.ErrMatchOver
	case matchID != onIt:
		return admin.ErrMatchUnknown
	}
	f.aborted = append(f.aborted, matchID, reason, request)
	return nil
}

func (f *fixture) Rotate(_ context.Context, _ string, m eventstore.Metadata) (admin.Rotation, error) {
	if f.fails != nil {
		return admin.Rotation{}, f.fails
	}
	f.rotated = append(f.rotated, m)
	return admin.Rotation{Added: "k2", Retired: []string{"k1"}}, nil
}

// answer is the response to a call, with its parsed body.
type answer struct {
	*httptest.ResponseRecorder
	body map[string]any
}

func (f *fixture) call(method, path, body string, change ...func(*http.Request)) answer {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	f.handler.ServeHTTP(a, r)
	require.NoError(f.t, json.Unmarshal(a.Body.Bytes(), &a.body), a.Body.String())
	require.NotEmpty(f.t, a.Header().Get("X-Request-Id"))
	return a
}

// order sends an order that must succeed.
func (f *fixture) order(path, body string) answer {
	f.t.Helper()
	a := f.call(http.MethodPost, path, body)
	require.Equal(f.t, http.StatusOK, a.Code, a.Body.String())
	return a
}

// The method stored() returns the events of a stream, and the correlation of the last
// event.
func (f *fixture) stored(stream string) (types, data []string, correlation string) {
	f.t.Helper()
	for r, err := range f.log.Read(f.t.Context(), eventstore.StreamID(stream), 0, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		m, err := eventstore.DecodeMetadata(r)
		require.NoError(f.t, err)
		types, data, correlation = append(types, r.Type), append(data, string(r.Data)), m.Correlation
	}
	return types, data, correlation
}

func TestDrainAndUndrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		o, err := admin.Operations(t.Context(), f.log)
		require.NoError(t, err)
		require.Equal(t, arena.Operations{}, o)

		a := f.order("/admin/drain", `{"reason":" a new release\n"}`)
		require.Equal(t, map[string]any{"changed": true}, a.body)
		require.Equal(t, 1, f.paused, "no table is seated while the order is stored")
		types, data, correlation := f.stored(arena.OperationsStream)
		require.Equal(t, []string{"DrainStarted"}, types)
		require.JSONEq(t, `{"reason":"a new release"}`, data[0])
		require.Equal(t, a.Header().Get("X-Request-Id"), correlation)
		require.Contains(t, f.lines.String(), "request="+correlation)

		require.Equal(t, map[string]any{"changed": false}, f.order("/admin/drain", `{"reason":"again"}`).body)
		o, err = admin.Operations(t.Context(), f.log)
		require.NoError(t, err)
		require.Equal(t, arena.Operations{Draining: true, Reason: "a new release", Since: time.Now().UTC()}, o)
		status := f.call(http.MethodGet, "/admin/status", "").body
		require.Equal(t, true, status["draining"])
		require.Equal(t, "a new release", status["reason"])
		require.Equal(t, time.Now().UTC().Format(time.RFC3339), status["since"])

		f.order("/admin/undrain", `{"reason":"released"}`)
		o, err = admin.Operations(t.Context(), f.log)
		require.NoError(t, err)
		require.Equal(t, arena.Operations{Reason: "released", Since: time.Now().UTC()}, o)
	})
}

func TestSuspendAndRestore(t *testing.T) {
	for _, order := range []struct{ path, body, event string }{
		{"/admin/suspend", `{"owner":"owner-ada","reason":"abuse"}`, "OwnerSuspended"},
		{"/admin/restore", `{"owner":"owner-ada","reason":"abuse"}`, "OwnerRestored"},
		{"/admin/suspend", `{"bot":"bot-ada","reason":"abuse"}`, "BotPaused"},
		{"/admin/restore", `{"bot":"bot-ada","reason":"abuse"}`, "BotUnpaused"},
	} {
		t.Run(order.event, func(t *testing.T) {
			f := newFixture(t)
			storeAccount(t, f.log)
			if order.path == "/admin/restore" {
				f.order("/admin/suspend", order.body)
			}
			a := f.order(order.path, order.body)
			require.Equal(t, true, a.body["changed"])
			require.Equal(t, ada, a.body["owner"])
			types, data, correlation := f.stored(owner.AccountStream(ada))
			require.Equal(t, order.event, types[len(types)-1])
			require.Contains(t, data[len(data)-1], `"reason":"abuse"`)
			require.Equal(t, a.Header().Get("X-Request-Id"), correlation)
			require.NotZero(t, f.waited[len(f.waited)-1], "waits for the directory")

			require.Equal(t, false, f.order(order.path, order.body).body["changed"])
			again, _, _ := f.stored(owner.AccountStream(ada))
			require.Len(t, again, len(types))
		})
	}
}

func TestAbort(t *testing.T) {
	f := newFixture(t)
	a := f.order("/admin/abort", `{"match":"match-on","reason":"a bug of the arena"}`)
	require.Equal(t, []string{onIt, "a bug of the arena", a.Header().Get("X-Request-Id")}, f.aborted)
	require.Equal(t, map[string]any{"changed": true, "match": onIt}, a.body)
}

func TestRotateSeedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		a := f.order("/admin/rotate-seed-key", `{"reason":"once a year"}`)
		require.Equal(t, map[string]any{"seedKey": "k2", "retired": []any{"k1"}}, a.body)
		require.Equal(t, []eventstore.Metadata{{At: time.Now(), Correlation: a.Header().Get("X-Request-Id")}}, f.rotated)
		require.Equal(t, 1, f.paused, "no table is seated under the old key meanwhile")
	})
}

func TestStatus(t *testing.T) {
	f := newFixture(t)
	store := func(stream eventstore.StreamID, expected eventstore.Expected, e arena.Event) {
		encoded, err := eventstore.Encode(e, eventstore.Metadata{At: seen})
		require.NoError(t, err)
		_, err = f.log.Append(t.Context(), stream, expected, encoded)
		require.NoError(t, err)
	}
	store(arena.KeysStream, eventstore.NoStream, arena.SeedKeyAdded{ID: "k1"})
	require.NotContains(t, f.call(http.MethodGet, "/admin/status", "").Body.String(), "lease", "nobody has it")
	store(arena.PlayerStream, eventstore.NoStream, arena.PlayerRenewed{Holder: "m2", Generation: 7, Host: "two"})
	require.JSONEq(t, `{"plays":true,"seats":true,"running":3,"draining":false,"seedKey":"k1",
		"lease":{"member":"m2","host":"two","generation":7,"renewed":"2026-11-26T08:00:00Z"},
		"member":"m1","handovers":4,"fencedAppends":1,
		"members":[{"id":"m1","host":"one","since":"2026-11-26T08:00:00Z","running":3,"maxMatches":8,"free":5,"missingSeedKeys":["k0"]}]}`,
		f.call(http.MethodGet, "/admin/status", "").Body.String())
	store(arena.PlayerStream, eventstore.At(0), arena.PlayerReleased{Holder: "m2", Generation: 7, Host: "two"})
	f.plays = false
	require.JSONEq(t, `{"plays":false,"seats":false,"running":0,"draining":false,"seedKey":"k1","handovers":0,"fencedAppends":0}`,
		f.call(http.MethodGet, "/admin/status", "").Body.String())
}

func TestInvalidOrderIsRefusedAndStoresNothing(t *testing.T) {
	long := strings.Repeat("a", 501)
	json := func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }
	for name, c := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		status             int
		code, says         string
	}{
		"no reason":                       {"POST", "/admin/drain", `{}`, nil, 422, "invalid", "reason is missing"},
		"an empty reason":                 {"POST", "/admin/drain", `{"reason":" \t"}`, nil, 422, "invalid", "reason is missing"},
		"a reason of two lines":           {"POST", "/admin/drain", `{"reason":"a\nb"}`, nil, 422, "invalid", "one line"},
		"a reason with hidden characters": {"POST", "/admin/drain", `{"reason":"a\u202eb"}`, nil, 422, "invalid", "one line"},
		"a long reason":                   {"POST", "/admin/drain", `{"reason":"` + long + `"}`, nil, 422, "invalid", "at most 500"},
		"a reason of another type":        {"POST", "/admin/drain", `{"reason":1}`, nil, 422, "invalid", "reason must be a string"},
		"an unknown field":                {"POST", "/admin/drain", `{"reason":"a","until":"now"}`, nil, 422, "invalid", "until is unknown: check the spelling"},
		"invalid JSON":                    {"POST", "/admin/drain", `reason`, nil, 400, "malformed", ""},
		"an array":                        {"POST", "/admin/drain", `["a"]`, nil, 400, "malformed", ""},
		"a field twice":                   {"POST", "/admin/drain", `{"reason":"a","reason":"b"}`, nil, 400, "malformed", "given twice"},
		"text after the object":           {"POST", "/admin/drain", `{"reason":"a"} {}`, nil, 400, "malformed", ""},
		"no body":                         {"POST", "/admin/drain", "", json, 400, "malformed", ""},
		"a form":                          {"POST", "/admin/drain", `reason=a`, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415, "unsupported_media_type", ""},
		"a long body":                     {"POST", "/admin/drain", `{"reason":"` + strings.Repeat("a", 65536) + `"}`, nil, 413, "body_too_large", ""},
		"an order by GET":                 {"GET", "/admin/drain", "", nil, 404, "not_found", ""},
		"an unknown order":                {"POST", "/admin/explode", `{"reason":"a"}`, nil, 404, "not_found", ""},
		"neither owner nor bot":           {"POST", "/admin/suspend", `{"reason":"a"}`, nil, 422, "invalid", "owner or bot is required: give the id of exactly one of them"},
		"both owner and bot":              {"POST", "/admin/suspend", `{"owner":"a","bot":"b","reason":"a"}`, nil, 422, "invalid", "owner or bot is required: give the id of exactly one of them"},
		"an unknown owner":                {"POST", "/admin/suspend", `{"owner":"nobody","reason":"a"}`, nil, 404, "not_found", "no such account"},
		"an unknown bot":                  {"POST", "/admin/restore", `{"bot":"nobody","reason":"a"}`, nil, 404, "not_found", "no such bot"},
		"suspended without reason":        {"POST", "/admin/suspend", `{"owner":"owner-ada"}`, nil, 422, "invalid", "reason is missing"},
		"no match":                        {"POST", "/admin/abort", `{"reason":"a"}`, nil, 422, "invalid", "match is missing"},
		"an unknown match":                {"POST", "/admin/abort", `{"match":"nobody","reason":"a"}`, nil, 404, "not_found", "no such match"},
		"a match that is over":            {"POST", "/admin/abort", `{"match":"match-gone","reason":"a"}`, nil, 409, "match_over", "the match is over"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			storeAccount(t, f.log)
			var changes []func(*http.Request)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			a := f.call(c.method, c.path, c.body, changes...)
			require.Equal(t, c.status, a.Code, a.Body.String())
			require.Equal(t, "application/problem+json", a.Header().Get("Content-Type"))
			require.Equal(t, c.code, a.body["code"])
			require.Contains(t, a.body["detail"], c.says)
			require.Equal(t, a.Header().Get("X-Request-Id"), a.body["requestId"])
			require.NotContains(t, a.body["detail"], "\n")

			types, _, _ := f.stored(arena.OperationsStream)
			require.Empty(t, types)
			types, _, _ = f.stored(owner.AccountStream(ada))
			require.Len(t, types, 2)
			require.Empty(t, f.aborted)
		})
	}
}

// Without a player, orders to abort or rotate fail. Orders to drain or suspend succeed,
// because they only store events, which every process follows.
func TestOrdersWithoutPlayer(t *testing.T) {
	f := newFixture(t)
	storeAccount(t, f.log)
	f.plays, f.fails = false, admin.ErrNotPlaying
	for _, path := range []string{"/admin/abort", "/admin/rotate-seed-key"} {
		body := map[string]string{"reason": "a"}
		if path == "/admin/abort" {
			body["match"] = onIt
		}
		encoded, err := json.Marshal(body)
		require.NoError(t, err)
		a := f.call(http.MethodPost, path, string(encoded))
		require.Equal(t, http.StatusConflict, a.Code)
		require.Equal(t, "not_playing", a.body["code"])
		require.Equal(t, "this arena does not play matches: send the order to the arena that does", a.body["detail"])
	}
	f.order("/admin/drain", `{"reason":"a"}`)
	f.order("/admin/suspend", `{"owner":"owner-ada","reason":"a"}`)
	require.Equal(t, false, f.call(http.MethodGet, "/admin/status", "").body["plays"])
}

// unavailableLog is a log whose appends fail.
type unavailableLog struct{ eventstore.Log }

func (unavailableLog) Append(context.Context, eventstore.StreamID, eventstore.Expected, ...eventstore.Event) (eventstore.Appended, error) {
	return eventstore.Appended{}, eventstore.ErrUnavailable
}

func TestOrdersDuringOutage(t *testing.T) {
	log := memory.New()
	storeAccount(t, log)
	f := newFixtureOn(t, unavailableLog{log})
	for _, body := range []string{`{"reason":"a"}`, `{"owner":"owner-ada","reason":"a"}`} {
		path := "/admin/drain"
		if strings.Contains(body, "owner") {
			path = "/admin/suspend"
		}
		a := f.call(http.MethodPost, path, body)
		require.Equal(t, http.StatusServiceUnavailable, a.Code)
		require.Equal(t, "log_unavailable", a.body["code"])
		require.Equal(t, "1", a.Header().Get("Retry-After"))
	}
}

// If the directory cannot tell whether a bot exists, the operator must repeat the order. An
// order that was carried out succeeds even if the directory does not catch up.
func TestOrdersWhileTheDirectoryLacksBots(t *testing.T) {
	for _, lack := range []error{projections.ErrBehind, fmt.Errorf("at account-a@1: %w", projections.ErrStopped)} {
		f := newFixture(t)
		storeAccount(t, f.log)
		f.lack = lack
		f.order("/admin/suspend", `{"bot":"bot-ada","reason":"a"}`)
		require.Contains(t, f.lines.String(), "the directory has not caught up")
		a := f.call(http.MethodPost, "/admin/suspend", `{"bot":"bot-bob","reason":"a"}`)
		require.Equal(t, http.StatusServiceUnavailable, a.Code)
		require.Equal(t, "out_of_date", a.body["code"])
		require.Equal(t, "the data of this arena is not up to date, so the order was not carried out: see /ready, and repeat the order later", a.body["detail"])
	}
}

// During an outage, the status does not wait for the log. It says how long the outage has
// lasted, and what has stopped.
func TestStatusDuringOutage(t *testing.T) {
	s := admin.New(admin.Options{
		Log: unreadableLog{}, Player: fakePlayer{}, Logger: slog.New(slog.DiscardHandler),
		Outage: func(time.Duration) (time.Duration, string) { return 1234 * time.Millisecond, "nobody is seated" },
	})
	a := httptest.NewRecorder()
	s.Handler().ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/admin/status", http.NoBody))
	require.Equal(t, http.StatusOK, a.Code, a.Body.String())
	require.JSONEq(t, `{"plays":true,"seats":true,"running":2,"draining":false,"seedKey":"","handovers":2,"fencedAppends":0,"logUnavailableSeconds":1.2,"stopped":"nobody is seated"}`, a.Body.String())
}

// unreadableLog is a log on which any call panics.
type unreadableLog struct{ eventstore.Log }

// fakePlayer plays two matches.
type fakePlayer struct{ admin.Player }

func (fakePlayer) Running() (int, bool) { return 2, true }

func (fakePlayer) Shared() admin.Shared { return admin.Shared{Handovers: 2} }
func (fakePlayer) Seats() bool          { return true }

// If an internal error occurs, the response contains only the id of the request. The
// log line with that id contains the error.
func TestInternalErrorIsNotShown(t *testing.T) {
	f := newFixture(t)
	f.fails = errors.New("disk /secret/folder")
	a := f.call(http.MethodPost, "/admin/abort", `{"match":"match-on","reason":"a"}`)
	require.Equal(t, http.StatusInternalServerError, a.Code)
	require.NotContains(t, a.Body.String(), "disk")
	require.Contains(t, f.lines.String(), "disk /secret/folder")
	require.Contains(t, f.lines.String(), a.Header().Get("X-Request-Id"))
}
