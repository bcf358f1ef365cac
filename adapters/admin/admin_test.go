package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/admin"
	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/accounts"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	ada  = "owner-ada"
	adas = "bot-ada"
	gone = "match-gone"
	onIt = "match-on"
)

// world is a Server over a log in memory, with one account and one bot.
type world struct {
	t       *testing.T
	log     eventstore.Log
	handler http.Handler
	lines   *bytes.Buffer

	plays   bool
	between int      // how often seating was held up
	aborted []string // match, reason, request
	rotated []eventstore.Metadata
	waited  []eventstore.Position
	fails   error // of the player
}

func newWorld(t *testing.T) *world { return newWorldOn(t, memory.New()) }

func newWorldOn(t *testing.T, log eventstore.Log) *world {
	t.Helper()
	w := &world{t: t, log: log, lines: new(bytes.Buffer), plays: true}
	s := admin.New(admin.Options{
		Log: log, Accounts: accounts.New(log), Directory: w, Player: w,
		Now: func() time.Time { return noon }, Logger: slog.New(slog.NewTextHandler(w.lines, nil)),
	})
	w.handler = s.Handler()
	return w
}

// settled stores an account with a bot.
func settled(t *testing.T, log eventstore.Log) {
	t.Helper()
	encoded, err := eventstore.EncodeAll([]owner.Event{
		owner.SignedUp{OwnerID: ada}, owner.BotRegistered{BotID: adas, Name: "Ada", Mode: ladder.Standard, URL: "http://127.0.0.1:9"},
	}, eventstore.Metadata{At: noon})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), eventstore.StreamID(owner.AccountStream(ada)), eventstore.NoStream, encoded...)
	require.NoError(t, err)
}

func (w *world) OwnerOfBot(id string) (string, bool) { return ada, id == adas }

func (w *world) Wait(_ context.Context, p eventstore.Position) error {
	w.waited = append(w.waited, p)
	return nil
}

func (w *world) Running() (int, bool) { return 3, w.plays }

func (w *world) WithSeatingPaused(f func()) { w.between++; f() }

func (w *world) Abort(_ context.Context, matchID, reason, request string) error {
	switch {
	case w.fails != nil:
		return w.fails
	case !w.plays:
		return admin.ErrNotPlaying
	case matchID == gone:
		return admin.ErrMatchOver
	case matchID != onIt:
		return admin.ErrMatchUnknown
	}
	w.aborted = append(w.aborted, matchID, reason, request)
	return nil
}

func (w *world) Rotate(_ context.Context, _ string, m eventstore.Metadata) (admin.Rotation, error) {
	if w.fails != nil {
		return admin.Rotation{}, w.fails
	}
	w.rotated = append(w.rotated, m)
	return admin.Rotation{Added: "k2", Retired: []string{"k1"}}, nil
}

// answer is what an order was answered.
type answer struct {
	*httptest.ResponseRecorder
	body map[string]any
}

func (w *world) call(method, path, body string, change ...func(*http.Request)) answer {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8081"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	w.handler.ServeHTTP(a, r)
	require.NoError(w.t, json.Unmarshal(a.Body.Bytes(), &a.body), a.Body.String())
	require.NotEmpty(w.t, a.Header().Get("X-Request-Id"))
	return a
}

// order is carried out, and answers.
func (w *world) order(path, body string) answer {
	w.t.Helper()
	a := w.call(http.MethodPost, path, body)
	require.Equal(w.t, http.StatusOK, a.Code, a.Body.String())
	return a
}

// stored are the events of a stream, with the correlation of the last.
func (w *world) stored(stream string) (types, data []string, correlation string) {
	w.t.Helper()
	for r, err := range w.log.Read(w.t.Context(), eventstore.StreamID(stream), 0, eventstore.ReadOptions{}) {
		require.NoError(w.t, err)
		m, err := eventstore.DecodeMetadata(r)
		require.NoError(w.t, err)
		types, data, correlation = append(types, r.Type), append(data, string(r.Data)), m.Correlation
	}
	return types, data, correlation
}

func TestDrain(t *testing.T) {
	w := newWorld(t)
	o, err := admin.Operations(t.Context(), w.log)
	require.NoError(t, err)
	require.Equal(t, arena.Operations{}, o)

	a := w.order("/admin/drain", `{"reason":" a new release\n"}`)
	require.Equal(t, map[string]any{"changed": true}, a.body)
	require.Equal(t, 1, w.between, "nobody is seated while it is stored")
	types, data, correlation := w.stored(arena.OperationsStream)
	require.Equal(t, []string{"DrainStarted"}, types)
	require.JSONEq(t, `{"reason":"a new release"}`, data[0])
	require.Equal(t, a.Header().Get("X-Request-Id"), correlation)
	require.Contains(t, w.lines.String(), "request="+correlation)

	require.Equal(t, map[string]any{"changed": false}, w.order("/admin/drain", `{"reason":"again"}`).body)
	o, err = admin.Operations(t.Context(), w.log)
	require.NoError(t, err)
	require.Equal(t, arena.Operations{Draining: true, Reason: "a new release", Since: noon}, o)
	status := w.call(http.MethodGet, "/admin/status", "").body
	require.Equal(t, true, status["draining"])
	require.Equal(t, "a new release", status["reason"])
	require.Equal(t, "2026-11-21T12:00:00Z", status["since"])

	w.order("/admin/undrain", `{"reason":"released"}`)
	o, err = admin.Operations(t.Context(), w.log)
	require.NoError(t, err)
	require.Equal(t, arena.Operations{Reason: "released", Since: noon}, o)
}

func TestSuspendAndRestore(t *testing.T) {
	for _, order := range []struct{ path, body, event string }{
		{"/admin/suspend", `{"owner":"owner-ada","reason":"abuse"}`, "OwnerSuspended"},
		{"/admin/restore", `{"owner":"owner-ada","reason":"abuse"}`, "OwnerRestored"},
		{"/admin/suspend", `{"bot":"bot-ada","reason":"abuse"}`, "BotPaused"},
		{"/admin/restore", `{"bot":"bot-ada","reason":"abuse"}`, "BotUnpaused"},
	} {
		t.Run(order.event, func(t *testing.T) {
			w := newWorld(t)
			settled(t, w.log)
			if order.path == "/admin/restore" {
				w.order("/admin/suspend", order.body)
			}
			a := w.order(order.path, order.body)
			require.Equal(t, true, a.body["changed"])
			require.Equal(t, ada, a.body["owner"])
			types, data, correlation := w.stored(owner.AccountStream(ada))
			require.Equal(t, order.event, types[len(types)-1])
			require.Contains(t, data[len(data)-1], `"reason":"abuse"`)
			require.Equal(t, a.Header().Get("X-Request-Id"), correlation)
			require.NotZero(t, w.waited[len(w.waited)-1], "who looks the bot up knows")

			require.Equal(t, false, w.order(order.path, order.body).body["changed"])
			again, _, _ := w.stored(owner.AccountStream(ada))
			require.Len(t, again, len(types))
		})
	}
}

func TestAbort(t *testing.T) {
	w := newWorld(t)
	a := w.order("/admin/abort", `{"match":"match-on","reason":"a fault of ours"}`)
	require.Equal(t, []string{onIt, "a fault of ours", a.Header().Get("X-Request-Id")}, w.aborted)
	require.Equal(t, map[string]any{"changed": true, "match": onIt}, a.body)
}

func TestRotate(t *testing.T) {
	w := newWorld(t)
	a := w.order("/admin/rotate-seed-key", `{"reason":"once a year"}`)
	require.Equal(t, map[string]any{"seedKey": "k2", "retired": []any{"k1"}}, a.body)
	require.Equal(t, []eventstore.Metadata{{At: noon, Correlation: a.Header().Get("X-Request-Id")}}, w.rotated)
	require.Equal(t, 1, w.between, "nobody is seated under the old key meanwhile")
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	encoded, err := eventstore.Encode(arena.SeedKeyAdded{ID: "k1"}, eventstore.Metadata{At: noon})
	require.NoError(t, err)
	_, err = w.log.Append(t.Context(), arena.KeysStream, eventstore.NoStream, encoded)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"plays": true, "running": 3.0, "draining": false, "seedKey": "k1"}, w.call(http.MethodGet, "/admin/status", "").body)
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("a", 501)
	json := func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }
	for name, c := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		status             int
		code, says         string
	}{
		"no reason":                 {"POST", "/admin/drain", `{}`, nil, 422, "invalid", "reason is missing"},
		"an empty reason":           {"POST", "/admin/drain", `{"reason":" \t"}`, nil, 422, "invalid", "reason is missing"},
		"a reason of two lines":     {"POST", "/admin/drain", `{"reason":"a\nb"}`, nil, 422, "invalid", "one line"},
		"a reason that turns about": {"POST", "/admin/drain", `{"reason":"a\u202eb"}`, nil, 422, "invalid", "one line"},
		"a long reason":             {"POST", "/admin/drain", `{"reason":"` + long + `"}`, nil, 422, "invalid", "at most 500"},
		"a reason of another type":  {"POST", "/admin/drain", `{"reason":1}`, nil, 422, "invalid", "reason must be a string"},
		"an unknown field":          {"POST", "/admin/drain", `{"reason":"a","until":"now"}`, nil, 422, "invalid", "until is not known here"},
		"no JSON":                   {"POST", "/admin/drain", `reason`, nil, 400, "malformed", ""},
		"no object":                 {"POST", "/admin/drain", `["a"]`, nil, 400, "malformed", ""},
		"text after it":             {"POST", "/admin/drain", `{"reason":"a"} {}`, nil, 400, "malformed", ""},
		"no body":                   {"POST", "/admin/drain", "", json, 400, "malformed", ""},
		"a form":                    {"POST", "/admin/drain", `reason=a`, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415, "unsupported_media_type", ""},
		"a long body":               {"POST", "/admin/drain", `{"reason":"` + strings.Repeat("a", 65536) + `"}`, nil, 413, "body_too_large", ""},
		"another site":              {"POST", "/admin/drain", `{"reason":"a"}`, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, "cross_site", ""},
		"another origin":            {"POST", "/admin/drain", `{"reason":"a"}`, func(r *http.Request) { r.Header.Set("Origin", "https://example.org") }, 403, "cross_site", ""},
		"a name that leads here":    {"POST", "/admin/drain", `{"reason":"a"}`, func(r *http.Request) { r.Host = "example.org:8081" }, 403, "host", ""},
		"reading under such a name": {"GET", "/admin/status", "", func(r *http.Request) { r.Host = "example.org:8081" }, 403, "host", ""},
		"an order by GET":           {"GET", "/admin/drain", "", nil, 404, "not_found", ""},
		"an unknown order":          {"POST", "/admin/explode", `{"reason":"a"}`, nil, 404, "not_found", ""},
		"nobody to suspend":         {"POST", "/admin/suspend", `{"reason":"a"}`, nil, 422, "invalid", "owner or bot must be named"},
		"two to suspend":            {"POST", "/admin/suspend", `{"owner":"a","bot":"b","reason":"a"}`, nil, 422, "invalid", "owner or bot must be named"},
		"an unknown owner":          {"POST", "/admin/suspend", `{"owner":"nobody","reason":"a"}`, nil, 404, "not_found", "no such account"},
		"an unknown bot":            {"POST", "/admin/restore", `{"bot":"nobody","reason":"a"}`, nil, 404, "not_found", "no such bot"},
		"suspended without reason":  {"POST", "/admin/suspend", `{"owner":"owner-ada"}`, nil, 422, "invalid", "reason is missing"},
		"no match":                  {"POST", "/admin/abort", `{"reason":"a"}`, nil, 422, "invalid", "match is missing"},
		"an unknown match":          {"POST", "/admin/abort", `{"match":"nobody","reason":"a"}`, nil, 404, "not_found", "no such match"},
		"a match that is over":      {"POST", "/admin/abort", `{"match":"match-gone","reason":"a"}`, nil, 409, "match_over", "the match is over"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			settled(t, w.log)
			var changes []func(*http.Request)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			a := w.call(c.method, c.path, c.body, changes...)
			require.Equal(t, c.status, a.Code, a.Body.String())
			require.Equal(t, "application/problem+json", a.Header().Get("Content-Type"))
			require.Equal(t, c.code, a.body["code"])
			require.Contains(t, a.body["detail"], c.says)
			require.Equal(t, a.Header().Get("X-Request-Id"), a.body["requestId"])
			require.NotContains(t, a.body["detail"], "\n")

			types, _, _ := w.stored(arena.OperationsStream)
			require.Empty(t, types)
			types, _, _ = w.stored(owner.AccountStream(ada))
			require.Len(t, types, 2)
			require.Empty(t, w.aborted)
		})
	}
}

// Where nothing plays, nothing can be aborted or rotated; drains and
// suspensions are in the log, which all honour.
func TestWhereNothingPlays(t *testing.T) {
	w := newWorld(t)
	settled(t, w.log)
	w.plays, w.fails = false, admin.ErrNotPlaying
	for _, path := range []string{"/admin/abort", "/admin/rotate-seed-key"} {
		body := map[string]string{"reason": "a"}
		if path == "/admin/abort" {
			body["match"] = onIt
		}
		encoded, err := json.Marshal(body)
		require.NoError(t, err)
		a := w.call(http.MethodPost, path, string(encoded))
		require.Equal(t, http.StatusConflict, a.Code)
		require.Equal(t, "not_playing", a.body["code"])
		require.Equal(t, "this arena does not play: order it from the one that does", a.body["detail"])
	}
	w.order("/admin/drain", `{"reason":"a"}`)
	w.order("/admin/suspend", `{"owner":"owner-ada","reason":"a"}`)
	require.Equal(t, false, w.call(http.MethodGet, "/admin/status", "").body["plays"])
}

// away is a log that stores nothing and does not answer.
type away struct{ eventstore.Log }

func (away) Append(context.Context, eventstore.StreamID, eventstore.Expected, ...eventstore.Event) (eventstore.Appended, error) {
	return eventstore.Appended{}, eventstore.ErrUnavailable
}

func TestWhileTheLogIsAway(t *testing.T) {
	log := memory.New()
	settled(t, log)
	w := newWorldOn(t, away{log})
	for _, body := range []string{`{"reason":"a"}`, `{"owner":"owner-ada","reason":"a"}`} {
		path := "/admin/drain"
		if strings.Contains(body, "owner") {
			path = "/admin/suspend"
		}
		a := w.call(http.MethodPost, path, body)
		require.Equal(t, http.StatusServiceUnavailable, a.Code)
		require.Equal(t, "log_unavailable", a.body["code"])
		require.Equal(t, "1", a.Header().Get("Retry-After"))
	}
}

// A fault of ours tells nothing of itself but the request, under which it is
// logged.
func TestAFault(t *testing.T) {
	w := newWorld(t)
	w.fails = errors.New("disk /secret/place")
	a := w.call(http.MethodPost, "/admin/abort", `{"match":"match-on","reason":"a"}`)
	require.Equal(t, http.StatusInternalServerError, a.Code)
	require.NotContains(t, a.Body.String(), "disk")
	require.Contains(t, w.lines.String(), "disk /secret/place")
	require.Contains(t, w.lines.String(), a.Header().Get("X-Request-Id"))
}
