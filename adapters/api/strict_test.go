package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func withBody(r *http.Request, contentType, body string) {
	r.Header.Set("Content-Type", contentType)
	if contentType == "" {
		r.Header.Del("Content-Type")
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

func TestStrictness(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	id := ada.newBot("bot", "standard")
	const good = `{"name":"a","mode":"standard","url":"https://a.example"}`

	for name, c := range map[string]struct {
		method, target, contentType, body string
		status                            int
		code                              string
		fields                            []string
	}{
		"an unknown path":                    {"GET", "/nothing", "", "", 404, "not_found", nil},
		"an unknown path below a known":      {"GET", "/bots/x/y", "", "", 404, "not_found", nil},
		"a segment after the last parameter": {"DELETE", "/keys/a/b", "", "", 404, "not_found", nil},
		"the same, with another method":      {"GET", "/keys/a/b", "", "", 404, "not_found", nil},
		"a slash at the end":                 {"GET", "/bots/", "", "", 404, "not_found", nil},
		"the path in a different case":       {"GET", "/Bots", "", "", 404, "not_found", nil},
		"another method":                     {"PUT", "/bots", "", "", 405, "method_not_allowed", nil},
		"the method in lower case":           {"get", "/bots", "", "", 405, "method_not_allowed", nil},

		"an unknown query name":                {"GET", "/bots?mode=parley&modus=x", "", "", 422, "invalid", []string{"modus"}},
		"an unknown query name on POST":        {"POST", "/bots?a=1", "application/json", good, 422, "invalid", []string{"a"}},
		"a query on a path without parameters": {"GET", "/health?x", "", "", 422, "invalid", []string{"x"}},
		"a query value out of its set":         {"GET", "/bots?mode=blitz", "", "", 422, "invalid", []string{"mode"}},
		"a query name twice":                   {"GET", "/bots?mode=parley&mode=parley", "", "", 422, "invalid", []string{"mode"}},
		"an empty query value":                 {"GET", "/bots?mode=", "", "", 422, "invalid", []string{"mode"}},
		"a malformed query":                    {"GET", "/bots?mode=%zz", "", "", 422, "invalid", []string{""}},

		"a body on GET":                {"GET", "/bots", "application/json", "{}", 400, "unexpected_body", nil},
		"a body on DELETE":             {"DELETE", "/bots/" + id, "application/json", "{}", 400, "unexpected_body", nil},
		"no content type":              {"POST", "/bots", "", good, 415, "unsupported_media_type", nil},
		"text":                         {"POST", "/bots", "text/plain", good, 415, "unsupported_media_type", nil},
		"a form":                       {"POST", "/bots", "application/x-www-form-urlencoded", "name=a", 415, "unsupported_media_type", nil},
		"JSON with a suffix":           {"POST", "/bots", "application/vnd.x+json", good, 415, "unsupported_media_type", nil},
		"another character set":        {"POST", "/bots", "application/json; charset=latin1", good, 415, "unsupported_media_type", nil},
		"no body":                      {"POST", "/bots", "application/json", "", 400, "malformed", nil},
		"white space":                  {"POST", "/bots", "application/json", " \n", 400, "malformed", nil},
		"not JSON":                     {"POST", "/bots", "application/json", "name", 400, "malformed", nil},
		"JSON cut short":               {"POST", "/bots", "application/json", good[:20], 400, "malformed", nil},
		"text after JSON":              {"POST", "/bots", "application/json", good + "x", 400, "malformed", nil},
		"two values":                   {"POST", "/bots", "application/json", good + good, 400, "malformed", nil},
		"a key twice":                  {"POST", "/bots", "application/json", `{"name":"a","name":"a"}`, 400, "malformed", nil},
		"a key twice, once escaped":    {"POST", "/bots", "application/json", `{"name":"a","na\u006de":"a"}`, 400, "malformed", nil},
		"a key twice, deep down":       {"POST", "/bots", "application/json", `{"name":[{"x":1,"x":1}]}`, 400, "malformed", nil},
		"not UTF-8":                    {"POST", "/bots", "application/json", "{\"name\":\"\xff\"}", 400, "malformed", nil},
		"a byte order mark":            {"POST", "/bots", "application/json", "\ufeff" + good, 400, "malformed", nil},
		"nested deep":                  {"POST", "/bots", "application/json", strings.Repeat("[", 9000) + strings.Repeat("]", 9000), 400, "malformed", nil},
		"an array":                     {"POST", "/bots", "application/json", `[]`, 422, "invalid", []string{""}},
		"null":                         {"POST", "/bots", "application/json", `null`, 422, "invalid", []string{""}},
		"a string":                     {"POST", "/bots", "application/json", `"name"`, 422, "invalid", []string{""}},
		"unknown fields":               {"POST", "/bots", "application/json", `{"name":"a","mode":"standard","url":"https://a.example","Name":"b","x":1}`, 422, "invalid", []string{"Name", "x"}},
		"missing fields":               {"POST", "/bots", "application/json", `{"name":"a"}`, 422, "invalid", []string{"mode", "url"}},
		"fields of another type":       {"POST", "/bots", "application/json", `{"name":1,"mode":["standard"],"url":{}}`, 422, "invalid", []string{"name", "mode", "url"}},
		"null for a field":             {"POST", "/bots", "application/json", `{"name":null,"mode":"standard","url":"https://a.example"}`, 422, "invalid", []string{"name"}},
		"null for an optional field":   {"PATCH", "/bots/" + id, "application/json", `{"name":null}`, 422, "invalid", []string{"name"}},
		"every value wrong":            {"POST", "/bots", "application/json", `{"name":" ","mode":"x","url":"ws://a"}`, 422, "invalid", []string{"name", "mode", "url"}},
		"an unknown status":            {"PATCH", "/bots/" + id, "application/json", `{"status":"asleep"}`, 422, "invalid", []string{"status"}},
		"a field that cannot change":   {"PATCH", "/bots/" + id, "application/json", `{"mode":"parley"}`, 422, "invalid", []string{"mode"}},
		"a URL that is not allowed":    {"POST", "/bots", "application/json", `{"name":"a","mode":"standard","url":"http://u:p@a.example"}`, 422, "url_not_allowed", []string{"url"}},
		"scopes that are not an array": {"POST", "/keys", "application/json", `{"name":"a","publicKey":"x","scopes":"bots.read"}`, 422, "invalid", []string{"scopes"}},
		"every value of a key wrong":   {"POST", "/keys", "application/json", `{"name":"","publicKey":"x","scopes":["x"]}`, 422, "invalid", []string{"name", "publicKey", "scopes"}},
		"no scopes":                    {"POST", "/keys", "application/json", `{"name":"a","publicKey":"x","scopes":[]}`, 422, "invalid", []string{"publicKey", "scopes"}},
		"null among the scopes":        {"POST", "/keys", "application/json", `{"name":"a","publicKey":"x","scopes":[null]}`, 422, "invalid", []string{"publicKey", "scopes"}},
		"no address":                   {"POST", "/sign-in", "application/json", `{"email":"ada"}`, 422, "invalid", []string{"email"}},
		"CR LF in the address":         {"POST", "/sign-in", "application/json", `{"email":"a@example.org\r\nBcc: b@example.org"}`, 422, "invalid", []string{"email"}},
		"a form to sign in":            {"POST", "/sign-in", "application/x-www-form-urlencoded", "email=a%40b.c", 415, "unsupported_media_type", nil},
		"text to sign in":              {"POST", "/sign-in", "text/plain", "a@b.c", 415, "unsupported_media_type", nil},
		"a body of unknown fields":     {"POST", "/bots/" + id + "/check", "application/json", `{"force":true}`, 422, "invalid", []string{"force"}},

		// The order of errors.
		"404 of a path before 413":         {"POST", "/nothing", "application/json", strings.Repeat(" ", 70000), 404, "not_found", nil},
		"413 before 415":                   {"POST", "/bots", "text/plain", strings.Repeat(" ", 65537), 413, "body_too_large", nil},
		"415 before 400":                   {"POST", "/bots", "text/plain", "{", 415, "unsupported_media_type", nil},
		"415 before 404 of a resource":     {"PATCH", "/bots/none", "text/plain", "{}", 415, "unsupported_media_type", nil},
		"400 before 404 of a resource":     {"PATCH", "/bots/none", "application/json", "{", 400, "malformed", nil},
		"404 of a resource before 422":     {"PATCH", "/bots/none?x=1", "application/json", `{"x":1}`, 404, "not_found", nil},
		"404 before an unknown query name": {"GET", "/bots/none?x=1", "", "", 404, "not_found", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := ada.do(c.method, c.target, nil, func(r *http.Request) {
				if c.body != "" || c.contentType != "" {
					withBody(r, c.contentType, c.body)
				}
			})
			got.is(c.status, c.code)
			if c.fields != nil {
				got.names(c.fields...)
			}
		})
	}
	ada.do(http.MethodGet, "/bots/"+id, nil).is(http.StatusOK)
}

func TestBodiesUpToTheLimit(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	padded := func(n int) string { return "{}" + strings.Repeat(" ", n-2) }
	ada.do(http.MethodPatch, "/me", padded(65536)).is(http.StatusOK)
	ada.do(http.MethodPatch, "/me", padded(65537)).is(http.StatusRequestEntityTooLarge, "body_too_large")
	unannounced := func(r *http.Request) { r.ContentLength = -1 }
	ada.do(http.MethodPatch, "/me", padded(65536), unannounced).is(http.StatusOK)
	ada.do(http.MethodPatch, "/me", padded(65537), unannounced).is(http.StatusRequestEntityTooLarge, "body_too_large")
	a.anyone().do(http.MethodPatch, "/me", padded(65537)).is(http.StatusRequestEntityTooLarge, "body_too_large")
	ada.do(http.MethodPatch, "/me", "{}", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }).is(http.StatusUnsupportedMediaType, "unsupported_media_type")
	ada.do(http.MethodPatch, "/me", "{}", func(r *http.Request) { r.Header.Set("Content-Type", "Application/JSON; charset=UTF-8") }).is(http.StatusOK)
}

func TestAllowHeader(t *testing.T) {
	a := newArena(t)
	for target, methods := range map[string][]string{
		"/bots": {"GET", "HEAD", "POST"}, "/bots/x": {"GET", "HEAD", "PATCH", "DELETE"}, "/health": {"GET", "HEAD"}, "/sign-out": {"POST"},
	} {
		for _, method := range []string{http.MethodPut, http.MethodOptions, "BREW"} {
			got := a.anyone().do(method, target, nil).is(http.StatusMethodNotAllowed, "method_not_allowed")
			require.ElementsMatch(t, methods, strings.Split(got.header.Get("Allow"), ", "), "%s %s", method, target)
		}
	}
	a.anyone().do(http.MethodOptions, "/nowhere", nil).is(http.StatusNotFound, "not_found")
}

func TestCrossSite(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	for name, c := range map[string]struct {
		edit   func(*http.Request)
		status int
	}{
		"another site":                    {header("Sec-Fetch-Site", "cross-site"), 403},
		"a sister site":                   {header("Sec-Fetch-Site", "same-site"), 403},
		"its own page":                    {header("Sec-Fetch-Site", "same-origin"), 200},
		"a person who typed the address":  {header("Sec-Fetch-Site", "none"), 200},
		"no browser":                      {header(), 200},
		"an old browser, another site":    {header("Origin", "https://evil.example"), 403},
		"an old browser, no origin":       {header("Origin", "null"), 403},
		"through a proxy, the base URL":   {header("Origin", "https://arena.example"), 200},
		"another site, as plain text":     {header("Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"), 403},
		"another site, without a session": {header("Sec-Fetch-Site", "cross-site", "Cookie", ""), 403},
	} {
		t.Run(name, func(t *testing.T) {
			got := ada.do(http.MethodPatch, "/me", "{}", c.edit)
			require.Equal(t, c.status, got.status)
			if c.status == 403 {
				got.is(403, "cross_site")
			}
		})
	}
	ada.do(http.MethodGet, "/me", nil, header("Sec-Fetch-Site", "cross-site")).is(http.StatusOK)
	ada.do(http.MethodPost, "/nothing", nil, header("Sec-Fetch-Site", "cross-site")).is(http.StatusNotFound, "not_found")
	ada.do(http.MethodPatch, "/me", strings.Repeat(" ", 70000), header("Sec-Fetch-Site", "cross-site")).is(http.StatusForbidden, "cross_site")
}
