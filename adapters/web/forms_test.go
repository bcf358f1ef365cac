package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
)

// The variable forms maps each form to its call to the API, and to the page that shows
// the result.
var forms = map[string]struct {
	path, form         string
	method, call, body string
	leads              string // the path of the page that shows the result
}{
	"sign in":       {"/sign-in", "email=ada%40example.org", "POST", "/sign-in", `{"email":"ada@example.org"}`, "/sign-in?sent=1"},
	"confirm":       {"/sign-in/confirm", "token=abc", "POST", "/sign-in/confirm", `{"token":"abc"}`, "/dashboard"},
	"register":      {"/dashboard/bots", values("name", "Ada", "mode", "parley", "url", "https://a.example"), "POST", "/bots", `{"name":"Ada","mode":"parley","url":"https://a.example"}`, "/dashboard/bots/new?done=registered"},
	"add paused":    {"/dashboard/bots", values("name", "Ada", "mode", "parley", "url", "https://a.example", "paused", "yes"), "POST", "/bots", `{"name":"Ada","mode":"parley","url":"https://a.example","status":"paused"}`, "/dashboard/bots/new?done=registered"},
	"try":           {"/dashboard/bots/" + botID, "do=trial", "POST", "/bots/" + botID + "/trial", "", "/dashboard/bots/" + botID + "/trials/new"},
	"pause":         {"/dashboard/bots/" + botID, "do=pause", "PATCH", "/bots/" + botID, `{"status":"paused"}`, "/dashboard/bots/" + botID + "?done=pause"},
	"unpause":       {"/dashboard/bots/" + botID, "do=unpause", "PATCH", "/bots/" + botID, `{"status":"active"}`, "/dashboard/bots/" + botID + "?done=unpause"},
	"rename":        {"/dashboard/bots/" + botID, "do=rename&name=Bea", "PATCH", "/bots/" + botID, `{"name":"Bea"}`, "/dashboard/bots/" + botID + "?done=rename"},
	"move":          {"/dashboard/bots/" + botID, values("do", "move", "url", "https://b.example"), "PATCH", "/bots/" + botID, `{"url":"https://b.example"}`, "/dashboard/bots/" + botID + "?done=move"},
	"remove":        {"/dashboard/bots/" + botID, "do=remove&sure=yes", "DELETE", "/bots/" + botID, "", "/dashboard?done=remove"},
	"register key":  {"/dashboard/keys", values("name", "laptop", "publicKey", "ssh-ed25519 AAAA", "scopes", "bots.read", "scopes", "keys.read"), "POST", "/keys", `{"name":"laptop","publicKey":"ssh-ed25519 AAAA","scopes":["bots.read","keys.read"]}`, "/dashboard/keys?new=new"},
	"without scope": {"/dashboard/keys", values("name", "laptop", "publicKey", "x"), "POST", "/keys", `{"name":"laptop","publicKey":"x","scopes":[]}`, "/dashboard/keys?new=new"},
	"revoke":        {"/dashboard/keys/" + keyID, "sure=yes", "DELETE", "/keys/" + keyID, "", "/dashboard/keys?revoked=" + keyID},
	"handle":        {"/dashboard/account", "do=handle&name=bea", "PATCH", "/me", `{"name":"bea"}`, "/dashboard/account?done=handle"},
	"mails":         {"/dashboard/account", "do=mails&unreachable=yes", "PATCH", "/me", `{"mails":{"failing":false,"unreachable":true,"recovered":false}}`, "/dashboard/account?done=mails#mails"},
	"sign out":      {"/dashboard/account", "do=sign-out", "POST", "/sign-out", "", "/"},
	"delete":        {"/dashboard/account", "do=delete&sure=yes", "DELETE", "/me", "", "/"},
}

func TestFormsBecomeAPICalls(t *testing.T) {
	for name, f := range forms {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.say(f.method+" "+f.call, `{"id":"new"}`)
			s.leads(s.post(f.path, f.form), f.leads)
			writes := s.writes()
			require.Len(t, writes, 1)
			require.Equal(t, []string{f.method, f.call}, []string{writes[0].Method, writes[0].Target})
			require.True(t, writes[0].Counted)
			if f.body == "" {
				require.Empty(t, writes[0].Body)
			} else {
				require.JSONEq(t, f.body, writes[0].Body)
			}
		})
	}
}

// The server rejects a form from a page of another site before it calls the API.
func TestCrossSiteFormsAreRejected(t *testing.T) {
	s := newSite(t)
	for name, f := range forms {
		for way, foreign := range map[string]func(*http.Request){
			"marked": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"same site": func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", "same-site")
				r.Header.Set("Origin", "https://evil.arena.example")
			},
			"by origin": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "https://evil.example") },
		} {
			if way != "by origin" {
				inner := foreign
				foreign = func(r *http.Request) { inner(r); r.Header.Set("Origin", "https://evil.arena.example") }
			}
			s.is(s.post(f.path, f.form, foreign), http.StatusForbidden, "Another site")
			require.Empty(t, s.calls, "%s, %s", name, way)
		}
	}
	s.is(s.post("/theme", "theme=dark", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site"); r.Header.Set("Origin", "null") }), http.StatusForbidden)
}

// The page of a rejected form has the API's status. It shows each error next to the
// field, and keeps the typed values.
func TestFieldErrorsAreShownAtTheirFields(t *testing.T) {
	for name, c := range map[string]struct{ form, field, typed string }{
		"sign in":      {"sign in", "email", `value="ada@example.org"`},
		"register":     {"register", "url", `value="https://a.example"`},
		"move":         {"move", "url", `value="https://b.example"`},
		"rename":       {"rename", "name", `value="Bea"`},
		"register key": {"register key", "publicKey", "ssh-ed25519 AAAA"},
		"scopes":       {"without scope", "scopes", `value="laptop"`},
		"handle":       {"handle", "name", `value="bea"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := newSite(t), forms[c.form]
			s.refuse(f.method+" "+f.call, http.StatusUnprocessableEntity, "invalid", refusal{"errors": []map[string]any{{"in": "body", "field": c.field, "message": "is not what it should be"}}})
			s.is(s.post(f.path, f.form), http.StatusUnprocessableEntity, `class="fault"`, "is not what it should be", c.typed)
		})
	}
}

// If the detail only repeats the messages at the fields, the page shows each message
// once.
func TestMessagesAtFieldsAreShownOnce(t *testing.T) {
	const url, name = "must begin with http:// or https://", "must not be empty"
	for summary, faults := range map[string][]map[string]any{
		"Correct the marked field.":  {{"in": "body", "field": "url", "message": url}},
		"Correct the marked fields.": {{"in": "body", "field": "url", "message": url}, {"in": "body", "field": "name", "message": name}},
	} {
		s := newSite(t)
		s.refuse("POST /bots", http.StatusUnprocessableEntity, "invalid", refusal{"detail": "url " + url + "; name " + name, "errors": faults})
		page := s.post("/dashboard/bots", forms["register"].form)
		s.is(page, http.StatusUnprocessableEntity, "<p>"+summary+"</p>")
		require.Equal(t, 1, strings.Count(page.text, url))
	}
}

func TestRejectedFormsShowTheReason(t *testing.T) {
	for _, name := range []string{"register", "unpause", "try", "handle", "register key", "sign out", "delete"} {
		s, f := newSite(t), forms[name]
		s.refuse(f.method+" "+f.call, http.StatusConflict, "a_limit", nil)
		s.is(s.post(f.path, f.form), http.StatusConflict, `role="alert"`, "A sentence about a_limit.")
	}
	s := newSite(t)
	s.refuse("POST /sign-in/confirm", http.StatusUnauthorized, "link_invalid", nil)
	page := s.post("/sign-in/confirm", "token=old")
	s.is(page, http.StatusUnauthorized, "<h1>This link no longer works</h1>", `action="/sign-in"`, `name="email"`, "Send me a new link")
}

func TestDeployCheckStepsAreShown(t *testing.T) {
	s := newSite(t)
	steps := []map[string]any{{"name": "resolve", "ok": true, "detail": "", "elapsedMs": 3}, {"name": "ping", "ok": false, "detail": "the answer is not pong", "elapsedMs": 41}}
	const cause = "the bot did not pass the deploy check at the step ping: the answer is not pong"
	s.refuse("POST /bots", http.StatusUnprocessableEntity, "deploy_check_failed", refusal{
		"detail": cause, "errors": []map[string]any{{"in": "body", "field": "url", "message": cause}}, "steps": steps,
	})
	page := s.post("/dashboard/bots", forms["register"].form)
	s.is(page, http.StatusUnprocessableEntity, `<li class="ok"><strong>resolve</strong>`, `<li class="failed"><strong>ping</strong>`, "The bot does not pass the deploy check.", "41 ms")
	require.Equal(t, 1, strings.Count(page.text, "the answer is not pong"), "the page names the cause once")

	s.say("POST /bots/"+botID+"/check", `{"ok":false,"steps":[{"name":"resolve","ok":false,"detail":"no address","elapsedMs":7}]}`)
	s.is(s.post("/dashboard/bots/"+botID, "do=check"), http.StatusOK, "does not pass", "no address")
}

// A page's module receives each step as soon as the step is done, and finally the
// path of the next page.
func TestDeployCheckStepsAreStreamed(t *testing.T) {
	follow := func(r *http.Request) { r.Header.Set("Accept", "application/x-ndjson") }
	s := newSite(t)
	s.steps = []rest.Step{{Name: "resolve", OK: true, ElapsedMs: 3}, {Name: "ping", Detail: "the answer is not pong", ElapsedMs: 41}}
	steps := `{"step":{"name":"resolve","ok":true,"detail":"","elapsedMs":3}}` + "\n" +
		`{"step":{"name":"ping","ok":false,"detail":"the answer is not pong","elapsedMs":41}}` + "\n"

	s.say("POST /bots", `{"id":"new"}`)
	s.say("POST /bots/"+botID+"/check", `{"ok":true}`)
	s.say("PATCH /bots/"+botID, `{}`)
	for name, last := range map[string]string{"register": `{"location":"/dashboard/bots/new?done=registered"}`, "move": `{"location":"/dashboard/bots/` + botID + `?done=move"}`} {
		page := s.post(forms[name].path, forms[name].form, follow)
		require.Equal(t, "application/x-ndjson", page.Header().Get("Content-Type"))
		require.Equal(t, steps+last+"\n", page.text)
		require.True(t, page.Flushed)
	}
	require.Equal(t, steps+"{}\n", s.post("/dashboard/bots/"+botID, "do=check", follow).text)

	s.refuse("POST /bots", http.StatusConflict, "bot_limit", nil)
	refused := s.post("/dashboard/bots", forms["register"].form, follow).text
	require.Contains(t, refused, `{"refusal":{"title":"Conflict","status":409,"code":"bot_limit"`)
	s.is(s.post("/dashboard/bots", forms["register"].form, follow, func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Origin", "https://evil.example")
	}), http.StatusForbidden)
}

func TestDeletionsNeedConfirmation(t *testing.T) {
	s := newSite(t)
	s.is(s.post("/dashboard/bots/"+botID, "do=remove"), http.StatusOK, "Remove the bot <bdi>Lovelace</bdi>?",
		`action="/dashboard/bots/`+botID+`"><input type="hidden" name="sure" value="yes"><button name="do" value="remove"`, `href="/dashboard/bots/`+botID+`">Cancel`)
	s.is(s.post("/dashboard/keys/"+keyID, ""), http.StatusOK, "Revoke the key <bdi>laptop</bdi>?",
		`action="/dashboard/keys/`+keyID+`"><input type="hidden" name="sure" value="yes">`, `href="/dashboard/keys">Cancel`)
	s.is(s.get("/dashboard/keys/"+keyID), http.StatusOK, "Revoke the key <bdi>laptop</bdi>?")
	s.is(s.post("/dashboard/keys/55555555-5555-4555-8555-555555555555", ""), http.StatusNotFound, "already revoked")
	s.is(s.post("/dashboard/account", "do=delete"), http.StatusUnprocessableEntity, "must be ticked")
	s.is(s.post("/dashboard/account", "do=nothing"), http.StatusUnprocessableEntity)
	require.Empty(t, s.writes())

	s.is(s.get("/dashboard?done=remove"), http.StatusOK, "The bot is removed.", `<a href="/dashboard" aria-current="page">`)
	s.is(s.get("/dashboard/keys?revoked=55555555-5555-4555-8555-555555555555"), http.StatusOK, "The key <bdi>old</bdi> is revoked.")
}

func TestPrivateKeyIsNotSentBack(t *testing.T) {
	s := newSite(t)
	s.refuse("POST /keys", http.StatusUnprocessableEntity, "invalid", refusal{"errors": []map[string]any{{"field": "publicKey", "message": "is a private key"}}})
	page := s.post("/dashboard/keys", values("name", "laptop", "publicKey", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"))
	s.is(page, http.StatusUnprocessableEntity, "is a private key", `value="laptop"`)
	require.NotContains(t, page.text, "c2VjcmV0")
}

func TestFormsAfterSessionEndLeadToSignIn(t *testing.T) {
	for _, name := range []string{"register", "pause", "register key", "revoke", "handle", "delete"} {
		s, f := newSite(t), forms[name]
		s.refuse(f.method+" "+f.call, http.StatusUnauthorized, "unauthenticated", nil)
		s.leads(s.post(f.path, f.form), "/sign-in")
	}
}

// The server rejects malformed and huge forms. Each form must arrive before a
// deadline.
func TestInvalidFormsAreRejected(t *testing.T) {
	s := newSite(t)
	s.is(s.post("/dashboard/keys", "name="+strings.Repeat("x", 70000)), http.StatusBadRequest, "invalid or incomplete")
	s.is(s.post("/dashboard/keys", "name=%zz"), http.StatusBadRequest, "invalid or incomplete")
	s.is(s.post("/dashboard/keys", `{"name":"a"}`, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }), http.StatusBadRequest)
	require.Empty(t, s.writes())

	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "/theme", strings.NewReader("theme=dark"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	s.web.ServeHTTP(w, r)
	require.Len(t, w.read, 2)
	require.False(t, w.read[0].IsZero(), "a form has a read deadline")
	require.True(t, w.read[1].IsZero(), "the deadline ends with the form")
}

// deadlines records the read deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	read []time.Time
}

// SetReadDeadline records a deadline that http.ResponseController sets.
func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, t)
	return nil
}
