package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests check sign-in by email, and what a link and a session allow.
func TestSecuritySignIn(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t)
	f.each(t, map[string]func(*testing.T){
		"twenty mails an hour":                   twentyMailsAnHour,
		"strangers cannot keep an owner out":     strangersKeepNobodyOut,
		"a known and an unknown address":         f.knownAndUnknown,
		"a scanner consumes nothing":             f.aScannerConsumesNothing,
		"a link is used once, raced by 50":       f.aLinkIsUsedOnce,
		"invalid links":                          f.linksThatAreNone,
		"the token is in no log and no store":    f.theTokenIsNowhere,
		"a Host header does not poison the link": f.aHostHeader,
		"callers cannot choose a session id":     f.aSessionIsOurChoice,
		"a cookie after the sign-out":            f.aCookieAfterTheSignOut,
	})
	t.Run("a hanging mail server delays nobody", newSecurityArena(t).aMailServerThatHangs)
	t.Run("requests for links append nothing", newSecurityArena(t).requestsAppendNothing)
}

func signInTo(address string) map[string]string { return map[string]string{"email": address} }

// askForLinks makes strangers request links for an address. Each stranger makes n
// requests, from their own network.
func (f *securityArena) askForLinks(t *testing.T, strangers, n int, address string) {
	var calls sync.WaitGroup
	for range strangers {
		calls.Go(func() {
			who := f.anonymous(t)
			for range n {
				r, err := who.try(t.Context(), "POST", "/sign-in", signInTo(address))
				if err != nil {
					t.Error(err)
				} else if r.status != 202 {
					t.Errorf("%d %s", r.status, r.body)
				}
			}
		})
	}
	calls.Wait()
}

// This test has its own arena. Otherwise, an address of another test could share its bucket
// and use up its limit.
func twentyMailsAnHour(t *testing.T) {
	f := newSecurityArena(t)
	const victim = "victim@example.org"
	f.askForLinks(t, 1, 20, victim)
	f.mails.await(t, victim, 5)
	f.member(t) // if there were more emails, they would arrive with this member's
	require.Len(t, f.mails.to(victim), 5, "from one network")
	f.askForLinks(t, 38, 25, victim)
	f.askForLinks(t, 5, 10, "Victim@Example.ORG")
	received := func() int { return len(f.mails.to(victim)) + len(f.mails.to("Victim@Example.ORG")) }
	eventually(t, "20 emails arrive", func() bool { return received() >= 20 })
	f.member(t)
	require.Equal(t, 20, received())
}

// This test has its own arena. Otherwise, an address of another test could share its bucket
// and use up its limit.
func strangersKeepNobodyOut(t *testing.T) {
	f := newSecurityArena(t)
	const known, newcomer = "owner@example.org", "newcomer@example.org"
	laptop := f.anonymous(t)
	browser := laptop.pressButton(laptop.token(f.mails, known))

	f.askForLinks(t, 1, 25, newcomer)
	f.mails.await(t, newcomer, 5)
	f.member(t)
	before := len(f.mails.to(newcomer))
	f.anonymous(t).do("POST", "/sign-in", signInTo(newcomer)).is(202)
	f.mails.await(t, newcomer, before+1)

	f.askForLinks(t, 20, 10, known)
	f.mails.await(t, known, 20)
	f.member(t)
	sent := len(f.mails.to(known))
	f.anonymous(t).do("POST", "/sign-in", signInTo(known)).is(202)
	forged := *browser
	forged.Value = strings.ToUpper(browser.Value)
	withCookie := func(c *http.Cookie) func(*http.Request) { return func(r *http.Request) { r.AddCookie(c) } }
	f.anonymous(t).do("POST", "/sign-in", signInTo(known), withCookie(&forged)).is(202)
	f.member(t)
	require.Len(t, f.mails.to(known), sent, "strangers used up their allowance")

	laptop = f.anonymous(t) // another network
	laptop.do("POST", "/sign-in", signInTo(known), withCookie(browser)).is(202)
	token := f.mails.await(t, known, sent+1).link(t).Query().Get("token")
	laptop.do("POST", "/sign-in/confirm", map[string]string{"token": token}).is(200)
}

// pressButton presses the button on the page that confirms a sign-in. It returns the
// cookie by which the arena recognizes the browser.
func (c *caller) pressButton(token string) *http.Cookie {
	c.t.Helper()
	r, err := c.request(c.t.Context(), "POST", "/sign-in/confirm", url.Values{"token": {token}}.Encode())
	require.NoError(c.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := c.client.Do(r)
	require.NoError(c.t, err)
	require.NoError(c.t, answer.Body.Close())
	require.Equal(c.t, 303, answer.StatusCode)
	require.Len(c.t, answer.Cookies(), 2)
	browser := answer.Cookies()[1]
	require.Equal(c.t, "browser", browser.Name)
	require.True(c.t, browser.HttpOnly)
	require.Equal(c.t, http.SameSiteLaxMode, browser.SameSite)
	return browser
}

// No matter how many strangers request links, and which addresses they invent, the
// log does not grow.
func (f *securityArena) requestsAppendNothing(t *testing.T) {
	f.member(t)
	before := f.ownersEvents(t)
	for n := range 10 {
		who := f.anonymous(t)
		for i := range 30 {
			who.do("POST", "/sign-in", signInTo(fmt.Sprintf("made-up-%d-%d@example.org", n, i))).is(202)
		}
		who.do("POST", "/sign-in", signInTo("one-more@example.org")).is(429, "rate_limited")
	}
	for range 30 {
		f.anonymous(t).do("POST", "/sign-in", signInTo("made-up-0-0@example.org")).is(202)
		f.anonymous(t).do("POST", "/sign-in/confirm", map[string]string{"token": "made-up"}).is(401, "link_invalid")
	}
	require.Equal(t, before, f.ownersEvents(t))
	f.anonymous(t).signIn(f.mails, "late@example.org")
	require.NotEqual(t, before, f.ownersEvents(t), "a used link is stored")
}

// ownersEvents returns the events that were appended because of calls by owners and
// strangers.
func (f *securityArena) ownersEvents(t *testing.T) string {
	t.Helper()
	var kept strings.Builder
	for line := range strings.Lines(f.events(t)) {
		if !strings.HasPrefix(line, "arena-") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// The response does not wait for the mail server, so its duration does not reveal
// whether an address has an account.
func (f *securityArena) aMailServerThatHangs(t *testing.T) {
	const known, unknown = "known@example.org", "unknown@example.org"
	who := f.anonymous(t)
	who.signIn(f.mails, known)
	release := f.mails.hold()
	defer release()
	for i := range 12 { // more emails than the arena can deliver at the same time
		who.do("POST", "/sign-in", signInTo(fmt.Sprintf("crowd-%d@example.org", i))).is(202)
	}
	require.Equal(t, who.do("POST", "/sign-in", signInTo(known)).is(202).seen(), who.do("POST", "/sign-in", signInTo(unknown)).is(202).seen())
	require.Len(t, f.mails.to(known), 1)
}

func (f *securityArena) knownAndUnknown(t *testing.T) {
	const known, unknown = "ada@example.org", "nobody@example.org"
	f.anonymous(t).signIn(f.mails, known)
	first := f.anonymous(t).do("POST", "/sign-in", signInTo(known)).is(202)
	require.Empty(t, first.body)
	require.Equal(t, first.seen(), f.anonymous(t).do("POST", "/sign-in", signInTo(unknown)).is(202).seen())
	require.Equal(t, f.mails.await(t, known, 2).header.Get("Subject"), f.mails.await(t, unknown, 1).header.Get("Subject"))
}

func (f *securityArena) aScannerConsumesNothing(t *testing.T) {
	who, scanner := f.anonymous(t), f.anonymous(t)
	token := who.token(f.mails, "scanned@example.org")
	target := "/sign-in/confirm?token=" + url.QueryEscape(token)
	for range 3 {
		page := scanner.do("GET", target, nil).is(200)
		require.Contains(t, string(page.body), `<form method="post" action="/sign-in/confirm">`)
		require.Empty(t, page.cookies())
		require.Equal(t, "no-referrer", page.header.Get("Referrer-Policy"))
		require.Equal(t, "no-store", page.header.Get("Cache-Control"))
	}
	scanner.do("HEAD", target, nil).is(200)
	who.do("POST", "/sign-in/confirm", map[string]string{"token": token}).is(200)
}

func (f *securityArena) aLinkIsUsedOnce(t *testing.T) {
	token := f.anonymous(t).token(f.mails, "raced@example.org")
	confirm := func() (*reply, error) {
		return f.anonymous(t).try(t.Context(), "POST", "/sign-in/confirm", map[string]string{"token": token})
	}
	require.Equal(t, map[int]int{200: 1, 401: 49}, race(t, 50, confirm))
	f.anonymous(t).do("POST", "/sign-in/confirm", map[string]string{"token": token}).is(401, "link_invalid")
}

// Used, unknown and invented links all get the same response. The tests of
// adapters/auth control the clock, and show the same for links that are older than 15
// minutes.
func (f *securityArena) linksThatAreNone(t *testing.T) {
	used := f.anonymous(t).token(f.mails, "used@example.org")
	confirm := func(token string) *reply {
		return f.anonymous(t).do("POST", "/sign-in/confirm", map[string]string{"token": token})
	}
	confirm(used).is(200)
	want := confirm(used).is(401, "link_invalid").seen()
	another := f.anonymous(t).token(f.mails, "another@example.org")
	flipped := []byte(another)
	flipped[len(flipped)/2] ^= 1
	for _, token := range []string{"", "x", used + "=", string(flipped), another + "\n", strings.Repeat("A", 2000)} {
		require.Equal(t, want, confirm(token).seen(), token)
	}
	confirm(another).is(200)
}

func (f *securityArena) theTokenIsNowhere(t *testing.T) {
	who := f.anonymous(t)
	token := who.token(f.mails, "secret@example.org")
	confirmed := who.do("POST", "/sign-in/confirm", map[string]string{"token": token}).is(200)
	session := confirmed.cookies()[0].Value
	_, random, _ := strings.Cut(session, ".")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	require.NoError(t, err)
	stored, logged := f.events(t), f.arena.err.String()+f.arena.out.String()
	for _, secret := range []string{token, hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw), random} {
		require.NotContains(t, stored, secret)
		require.NotContains(t, logged, secret)
		require.NotContains(t, string(confirmed.body), secret)
	}
	hash := sha256.Sum256(raw)
	require.Contains(t, stored, hex.EncodeToString(hash[:]), "the log holds its hash")
	require.NotContains(t, logged, "secret@example.org")
	require.Equal(t, 1, strings.Count(stored, "secret@example.org"), "only its own stream holds the address")
}

func (f *securityArena) aHostHeader(t *testing.T) {
	f.anonymous(t).do("POST", "/sign-in", signInTo("host@example.org"), func(r *http.Request) {
		r.Host = "evil.example"
		r.Header.Set("X-Forwarded-Host", "evil.example")
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("Forwarded", "host=evil.example")
	}).is(202)
	mail := f.mails.await(t, "host@example.org", 1)
	require.True(t, strings.HasPrefix(mail.link(t).String(), f.base()+"/"), mail.text)
	require.NotContains(t, mail.text, "evil")
}

func (f *securityArena) aSessionIsOurChoice(t *testing.T) {
	eve := f.anonymous(t)
	eve.signIn(f.mails, "eve@example.org")
	// Someone else has set a cookie in the victim's browser. Then the victim signs in.
	victim := f.anonymous(t)
	token := victim.token(f.mails, "victim-too@example.org")
	confirmed := victim.do("POST", "/sign-in/confirm", map[string]string{"token": token}, func(r *http.Request) { r.AddCookie(eve.cookie) }).is(200)
	victim.cookie = confirmed.cookies()[0]
	require.NotEqual(t, eve.cookie.Value, victim.cookie.Value)
	require.Equal(t, "victim-too@example.org", victim.do("GET", "/me", nil).is(200).json["email"])
	require.Equal(t, "eve@example.org", eve.do("GET", "/me", nil).is(200).json["email"])
	again := victim.elsewhere(victim.at)
	again.signIn(f.mails, "victim-too@example.org")
	require.NotEqual(t, victim.cookie.Value, again.cookie.Value, "each sign-in starts a new session")
	require.True(t, again.cookie.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, again.cookie.SameSite)
	// A cookie with one owner's id and another owner's token is invalid.
	mine, _, _ := strings.Cut(victim.cookie.Value, ".")
	_, hers, _ := strings.Cut(eve.cookie.Value, ".")
	eve.cookie.Value = mine + "." + hers
	eve.do("GET", "/me", nil).is(401, "unauthenticated")
}

func (f *securityArena) aCookieAfterTheSignOut(t *testing.T) {
	who := f.member(t)
	out := who.do("POST", "/sign-out", nil).is(204)
	require.Negative(t, out.cookies()[0].MaxAge)
	who.do("GET", "/me", nil).is(401, "unauthenticated")
	who.do("POST", "/sign-out", nil).is(401, "unauthenticated")
}
