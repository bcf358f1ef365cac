package bench

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// callsBench holds the arena to call, and the ids that the calls use.
type callsBench struct {
	flags   callsCmd
	arena   *arena
	report  *callsReport
	calls   []callRow
	callers int

	history *history
	running []*simulatedMatch
	ended   []string   // ids of matches that were played in full
	played  []string   // ids of their bots
	owned   []ownedBot // registered bots that played these matches
	paused  []ownedBot // paused bots, which may play a trial
}

// callRow is one kind of call.
type callRow struct {
	what   string // the method, the path in the OpenAPI document, and the variant of the call
	path   func(i int) string
	header http.Header
	body   string
	form   bool
	over   bool                 // whether one address makes all calls, after it has used up its limit
	most   int                  // maximum number of calls, if each call needs a new path or the caller is an owner; 0: any number
	bot    func(i int) ownedBot // if set, the owner of this bot signs call number i
}

func (r callRow) method() string { method, _, _ := strings.Cut(r.what, " "); return method }

func fixed(path string) func(int) string { return func(int) string { return path } }

// The method rows() lists the calls, in the order of callsReport.Rows. It returns an
// error if the OpenAPI document has an operation that no row measures.
func (b *callsBench) rows(ctx context.Context) ([]callRow, error) {
	operations, err := b.operations(ctx)
	if err != nil {
		return nil, err
	}
	var rows []callRow
	for _, r := range slices.Concat(b.publicCalls(), b.pages(), b.ownersCalls()) {
		if r.header == nil {
			r.header = http.Header{}
		}
		if r.header["Accept-Encoding"] == nil {
			r.header.Set("Accept-Encoding", "gzip")
		}
		rows = append(rows, r)
	}
	known := map[string]bool{}
	for _, r := range rows {
		operation, _, _ := strings.Cut(r.what, ",")
		known[operation] = known[operation] || r.bot == nil
	}
	for _, o := range operations {
		switch {
		case known[o.name]:
		case o.signed:
			rows = append(rows, b.unauthenticated(o.name))
		default:
			return nil, fmt.Errorf("no row measures %s; add one to publicCalls", o.name)
		}
	}
	return rows, nil
}

type operation struct {
	name   string // GET /matches/{id}
	signed bool   // it needs credentials
}

// The method operations() returns the operations in the OpenAPI document.
func (b *callsBench) operations(ctx context.Context) ([]operation, error) {
	caller := b.newCaller()
	defer caller.CloseIdleConnections()
	got, err := get(ctx, caller, b.arena.url+"/openapi.json", nil)
	if err != nil {
		return nil, err
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(got.body, &document); err != nil {
		return nil, err
	}
	var list []operation
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			var o struct{ Security []json.RawMessage }
			if err := json.Unmarshal(document.Paths[path][method], &o); err != nil {
				continue // parameters of all methods
			}
			list = append(list, operation{strings.ToUpper(method) + " " + path, len(o.Security) > 0})
		}
	}
	return list, nil
}

// The method unauthenticated() returns a call to an operation that needs credentials.
// The call names a registered key, but its signature is wrong.
func (b *callsBench) unauthenticated(name string) callRow {
	_, path, _ := strings.Cut(name, " ")
	path = strings.NewReplacer("{id}", b.history.bots[0].BotID, "{matchId}", b.ended[0]).Replace(path)
	return callRow{what: name + ", a wrong signature", path: fixed(path), header: http.Header{
		"X-Arena-Key": {keyOf(b.history.bots[0].OwnerID)}, "X-Arena-Signature": {base64.StdEncoding.EncodeToString(wrongSignature)},
		"Accept-Encoding": {"gzip"},
	}}
}

// publicCalls lists the operations that need no credentials. Expensive variants of
// an operation have their own rows.
func (b *callsBench) publicCalls() []callRow {
	bot, running := b.history.bots[0].BotID, b.running[0].id()
	n := len(b.ended) / 2 // the pages use the other half, so that their first calls also read a match for the first time
	ended := func(format string) func(int) string {
		return func(i int) string { return fmt.Sprintf(format, b.ended[i%n]) }
	}
	old := b.history.ids
	last := func(format string) string { return fmt.Sprintf(format, old[len(old)-1]) }
	identity := http.Header{"Accept-Encoding": {"identity"}}
	past := func(i int) string {
		return time.Now().Add(-time.Duration(1+i%historyDays) * 23 * time.Hour).UTC().Format(time.RFC3339Nano)
	}
	return []callRow{
		{what: "GET /health", path: fixed("/health")},
		{what: "GET /.well-known/arena.json", path: fixed("/.well-known/arena.json")},
		{what: "GET /.well-known/security.txt", path: fixed("/.well-known/security.txt")},
		{what: "GET /openapi.json", path: fixed("/openapi.json")},
		{what: "GET /openapi.json, without gzip", path: fixed("/openapi.json"), header: identity},
		{what: "GET /llms.txt", path: fixed("/llms.txt")},
		{what: "GET /changelog", path: fixed("/changelog"), header: http.Header{"Accept": {"application/json"}}},
		{what: "POST /sign-in", path: fixed("/sign-in"), body: `{"email":"bench-%d@example.org"}`},
		{what: "POST /sign-in/confirm", path: fixed("/sign-in/confirm"), body: `{"token":"no token"}`},
		{what: "GET /matches", path: fixed("/matches")},
		{what: "GET /matches, 200 matches", path: fixed("/matches?limit=200")},
		{what: "GET /matches, 200 of a bot", path: fixed("/matches?limit=200&status=completed&mode=standard&bot=" + bot)},
		{what: "GET /matches, 200 of a bot and a rival", path: fixed("/matches?limit=200&bot=" + bot + "&rival=" + b.history.bots[1].BotID)},
		{what: "GET /matches, 200 of a day", path: fixed("/matches?limit=200&from=" + dayAgo(3) + "&to=" + dayAgo(3))},
		{what: "GET /matches/{id}, running", path: fixed("/matches/" + running)},
		{what: "GET /matches/{id}, ended, first call", path: ended("/matches/%s"), most: n},
		{what: "GET /matches/{id}, ended", path: fixed("/matches/" + b.ended[0])},
		{what: "GET /matches/{id}/frames, running", path: fixed("/matches/" + running + "/frames")},
		{what: "GET /matches/{id}/frames, ended, first call", path: ended("/matches/%s/frames"), most: n},
		{what: "GET /matches/{id}/frames, all cards, first call", path: ended("/matches/%s/frames?seat=all"), most: n},
		{what: "GET /matches/{id}/frames, a different limit each time", path: func(i int) string { return fmt.Sprintf("/matches/%s/frames?seat=all&limit=%d", b.ended[0], 5000+i) }},
		{what: "GET /matches/{id}/frames, ended", path: fixed("/matches/" + b.ended[0] + "/frames?seat=all")},
		{what: "GET /matches/{id}/statistics, first call", path: ended("/matches/%s/statistics"), most: n},
		{what: "GET /matches/{id}/win-probability, first call", path: ended("/matches/%s/win-probability"), most: n},
		{what: "GET /live", path: fixed("/live")},
		{what: "GET /live/{id}, running", path: fixed("/live/" + running)},
		{what: "GET /live/{id}, ended, first call", path: ended("/live/%s"), most: n},
		{what: "GET /live/{id}, ended", path: fixed("/live/" + b.ended[0])},
		{what: "GET /live/stream, opening it", path: fixed("/live/stream")},
		{what: "GET /live/{id}/stream, opening it", path: fixed("/live/" + running + "/stream")},
		{what: "GET /live/{id}/stream, from the start", path: fixed("/live/" + running + "/stream"), header: http.Header{"Last-Event-Id": {"0"}}},
		{what: "GET /leaderboard", path: fixed("/leaderboard")},
		{what: "GET /leaderboard, without gzip", path: fixed("/leaderboard"), header: identity},
		{what: "GET /leaderboard, at a past time", path: func(i int) string { return "/leaderboard?at=" + past(i) }},
		{what: "GET /queue", path: fixed("/queue")},
		{what: "GET /bots/{id}/history, a long one", path: fixed("/bots/" + bot + "/history")},
		{what: "GET /bots/{id}/statistics", path: fixed("/bots/" + bot + "/statistics")},
		{what: "GET /ladder/{mode}/statistics", path: fixed("/ladder/standard/statistics")},
		{what: "GET /log/{mode}/head", path: fixed("/log/standard/head")},
		{what: "GET /log/{mode}/inclusion", path: func(i int) string { return "/log/standard/inclusion?match=" + old[i%len(old)] }},
		{what: "GET /log/{mode}/consistency", path: func(i int) string {
			return fmt.Sprintf("/log/standard/consistency?from=%d&to=%d", 1+i%len(old), len(old))
		}},
		{what: "GET /log/{mode}/vkey", path: fixed("/log/standard/vkey")},
		{what: "GET /log/keys", path: fixed("/log/keys")},
		{what: "GET /ladder/{mode}/checkpoint", path: fixed("/ladder/standard/checkpoint")},
		{what: "GET /ladder/{mode}/tile/{path}", path: fixed("/ladder/standard/tile/0/000")},
		{what: "GET /ladder/{mode}/tile/{path}, entries", path: fixed("/ladder/standard/tile/entries/000")},
		{what: "GET /ladder/{mode}/proof/{index}", path: func(i int) string { return "/ladder/standard/proof/" + strconv.Itoa(i%256) }},
		{what: "GET /ladder/{mode}/events", path: fixed("/ladder/standard/events")},
		{what: "GET /ladder/{mode}/events, 500 events", path: fixed("/ladder/standard/events?limit=500")},
		{what: "GET /health, over the limit", path: fixed("/health"), over: true},
		{what: "GET /matches/{id}, unknown", path: fixed("/matches/no-match")},
		{what: "GET /matches/{id}, not played", path: fixed(last("/matches/%s"))},
	}
}

// dayAgo returns the day a number of days before today.
func dayAgo(n int) string { return time.Now().UTC().AddDate(0, 0, -n).Format(time.DateOnly) }

// The method pages() lists the web pages, and other paths that are not in the OpenAPI
// document. Pages that need a session redirect these callers.
func (b *callsBench) pages() []callRow {
	bot, running := b.history.bots[0].BotID, b.running[0].id()
	half := len(b.ended) / 2
	ended, played := b.ended[half:], b.played[half:]
	n := len(ended)
	day := time.Now().UTC().Format(time.DateOnly)
	past := func(i int) string { return time.Now().AddDate(0, 0, -1-i%(historyDays-1)).UTC().Format(time.DateOnly) }
	return []callRow{
		{what: "GET / (page)", path: fixed("/")},
		{what: "GET /games (page)", path: fixed("/games")},
		{what: "GET /games (page), all filters", path: fixed("/games?mode=standard&status=completed&bot=" + bot + "&rival=" + b.history.bots[1].BotID + "&from=" + dayAgo(9) + "&to=" + dayAgo(3))},
		{what: "GET /games (page), a name", path: fixed("/games?bot=" + url.QueryEscape(b.history.bots[0].BotName))},
		{what: "GET /@{handle} (page)", path: fixed("/@owner-0")},
		{what: "GET /bot/{id}/against/{rival} (page)", path: fixed("/bot/" + bot + "/against/" + b.history.bots[1].BotID)},
		{what: "GET /bot/{id}/live (page)", path: fixed("/bot/" + bot + "/live")},
		{what: "GET /watch/top/{mode} (page)", path: fixed("/watch/top/standard")},
		{what: "GET /watch/{id}/next/{bot} (page)", path: fixed("/watch/" + b.history.ids[len(b.history.ids)/2] + "/next/" + bot)},
		{what: "GET /watch/{id}/previous/{bot} (page)", path: fixed("/watch/" + b.history.ids[len(b.history.ids)/2] + "/previous/" + bot)},
		{what: "POST /spoilers (page)", path: fixed("/spoilers"), body: "spoilers=hide", form: true},
		{what: "GET /ladder/{mode} (page)", path: fixed("/ladder/standard")},
		{what: "GET /ladder/{mode} (page), a filter", path: fixed("/ladder/standard?q=bot&page=50")},
		{what: "GET /ladder/{mode} (page), today", path: fixed("/ladder/standard?day=" + day)},
		{what: "GET /ladder/{mode} (page), past days", path: func(i int) string { return "/ladder/standard?day=" + past(i) }},
		{what: "GET /bot/{id} (page)", path: func(i int) string { return "/bot/" + played[i%n] }, most: n},
		{what: "GET /bot/{id} (page), a long history", path: fixed("/bot/" + bot)},
		{what: "GET /watch/{id} (page), running", path: fixed("/watch/" + running)},
		{what: "GET /watch/{id} (page), ended", path: func(i int) string { return "/watch/" + ended[i%n] }},
		{what: "GET /watch/{id}/statistics (page)", path: func(i int) string { return "/watch/" + ended[i%n] + "/statistics" }},
		{what: "GET /watch/{id}/preview.png, running", path: fixed("/watch/" + running + "/preview.png")},
		{what: "GET /watch/{id}/preview.png, drawn", path: func(i int) string { return "/watch/" + ended[i%n] + "/preview.png" }, most: n},
		{what: "GET /sign-in (page)", path: fixed("/sign-in")},
		{what: "GET /sign-in/confirm (page)", path: fixed("/sign-in/confirm?token=x")},
		{what: "GET /dashboard (page)", path: fixed("/dashboard"), header: http.Header{"Cookie": {"session=none"}}},
		{what: "POST /theme (page)", path: fixed("/theme"), body: "theme=dark", form: true},
		{what: "GET /docs/{name} (page)", path: fixed("/docs/operations")},
		{what: "GET /docs/{name}.md", path: fixed("/docs/operations.md")},
		{what: "GET /docs/api (page)", path: fixed("/docs/api")},
		{what: "GET /docs/audit/{file}", path: fixed("/docs/audit/vectors.json")},
		{what: "GET /docs/audit/{file}, without gzip", path: fixed("/docs/audit/vectors.json"), header: http.Header{"Accept-Encoding": {"identity"}}},
		{what: "GET /changelog (page)", path: fixed("/changelog"), header: http.Header{"Accept": {"text/html"}}},
		{what: "GET /assets/{version}/{name}", path: fixed("/assets/0/style.css")},
		{what: "GET /nothing, an unknown path", path: fixed("/nothing")},
		{what: "GET /nothing (page), an unknown path", path: fixed("/nothing"), header: http.Header{"Accept": {"text/html"}}},
	}
}

// call makes call number i of a row. It reads the whole response, or the first
// record of a stream.
func (b *callsBench) call(ctx context.Context, caller *http.Client, row callRow, i int) (status int, h http.Header, size int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body := row.body
	if strings.Contains(body, "%d") {
		body = fmt.Sprintf(body, i)
	}
	request, err := http.NewRequestWithContext(ctx, row.method(), b.arena.url+row.path(i), strings.NewReader(body))
	if err != nil {
		return 0, nil, 0, err
	}
	request.Header = row.header.Clone()
	switch {
	case row.form:
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case body != "":
		request.Header.Set("Content-Type", "application/json")
	}
	if request.Header.Get("X-Arena-Key") != "" {
		request.Header.Set("X-Arena-Timestamp", strconv.FormatInt(time.Now().UnixMilli(), 10))
	}
	if row.bot != nil {
		row.bot(i).sign(request, body)
	}
	response, err := caller.Transport.RoundTrip(request) // follows no redirects
	if err != nil {
		return 0, nil, 0, err
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		size, err = response.Body.Read(make([]byte, 1<<20))
		return response.StatusCode, response.Header, size, err
	}
	read, err := io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header, int(read), err
}

// newCaller returns a caller with its own address.
func (b *callsBench) newCaller() *http.Client {
	b.callers++
	return newCaller(byte(2+b.callers>>16), byte(b.callers>>8), byte(b.callers))
}
