package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sentBy makes a number of requests and returns how many mails were sent.
func (f *fixture) sentBy(t *testing.T, requests int, address, network string, after time.Duration, cookies ...*http.Cookie) int {
	t.Helper()
	before := len(f.sent)
	for range requests {
		require.NoError(t, f.ask(t, address, network, after, cookies...), "the caller does not see the limit")
	}
	return len(f.sent) - before
}

func TestStrangersLinksAreLimitedByNetworkAndAddress(t *testing.T) {
	f := newFixture(t)
	require.Equal(t, 5, f.sentBy(t, 9, "ada@example.org", "net-1", 0))
	require.Zero(t, f.sentBy(t, 1, "ADA@example.org", "net-1", 0), "the limit ignores case")
	require.Equal(t, 5, f.sentBy(t, 9, "bob@example.org", "net-1", 0), "each address has its own limit")
	for n := range 3 {
		require.Equal(t, 5, f.sentBy(t, 9, "ada@example.org", fmt.Sprint("net-", n+2), 30*time.Minute))
	}
	require.Zero(t, f.sentBy(t, 9, "ada@example.org", "net-9", time.Hour-1), "20 links in total")
	require.Equal(t, 5, f.sentBy(t, 9, "ada@example.org", "net-9", time.Hour), "the first five no longer count")
	require.Zero(t, f.sentBy(t, 9, "ada@example.org", "net-8", time.Hour))
}

// browser signs in, and returns the cookie by which the arena recognizes the browser.
func (f *fixture) browser(t *testing.T, address string, after time.Duration) *http.Cookie {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/sign-in/confirm", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	_, cookies, err := f.Confirm(t.Context(), r, f.link(t, address, after), now(after))
	require.NoError(t, err)
	require.Len(t, cookies, 2)
	require.Equal(t, "browser", cookies[1].Name)
	require.True(t, cookies[1].HttpOnly)
	return cookies[1]
}

func TestKnownBrowsersHaveTheirOwnAllowance(t *testing.T) {
	f := newFixture(t)
	laptop := f.browser(t, "ada@example.org", 0)
	for n := range 10 {
		f.sentBy(t, 9, "ada@example.org", fmt.Sprint("net-", n), 0)
	}
	require.Zero(t, f.sentBy(t, 1, "ada@example.org", "net-11", 0), "strangers used up their allowance")
	require.Equal(t, 5, f.sentBy(t, 9, "Ada@example.org", "net-0", 0, laptop))
	require.Zero(t, f.sentBy(t, 9, "ada@example.org", "net-12", 0, laptop), "a browser has one allowance, wherever it is")

	later := 2 * time.Hour
	for range 4 {
		require.Equal(t, 5, f.sentBy(t, 9, "ada@example.org", "net-0", later, f.browser(t, "ada@example.org", later)))
	}
	require.Zero(t, f.sentBy(t, 9, "ada@example.org", "net-0", later, laptop), "20 links in total for all browsers")
}

func TestProgramsGetOnlyASessionCookie(t *testing.T) {
	f := newFixture(t)
	_, cookies, err := f.Confirm(t.Context(), program, f.link(t, "ada@example.org", 0), now(0))
	require.NoError(t, err)
	require.Len(t, cookies, 1)
	require.Equal(t, "session", cookies[0].Name)
}

func TestUnknownBrowsersAreStrangers(t *testing.T) {
	f := newFixture(t)
	eve, old := f.browser(t, "eve@example.org", 0), f.browser(t, "ada@example.org", -browserLength)
	for n := range 4 {
		f.sentBy(t, 5, "ada@example.org", fmt.Sprint("net-", n), 0)
	}
	ada := f.browser(t, "ada@example.org", 2*time.Hour)
	for n := range 4 {
		f.sentBy(t, 5, "ada@example.org", fmt.Sprint("net-", n), 2*time.Hour)
	}
	forged := *ada
	forged.Value = strings.Repeat("A", len(ada.Value))
	changed := *ada
	changed.Value = "A" + ada.Value[1:]
	if changed.Value == ada.Value {
		changed.Value = "B" + ada.Value[1:]
	}
	for name, cookie := range map[string]*http.Cookie{
		"another address": eve, "too old": old, "forged": &forged, "changed": &changed,
		"empty": {Name: "browser"}, "not base64": {Name: "browser", Value: "!!"}, "another name": {Name: "session", Value: ada.Value},
	} {
		require.Zero(t, f.sentBy(t, 1, "ada@example.org", "net-9", 2*time.Hour, cookie), name)
	}
	require.Equal(t, 1, f.sentBy(t, 1, "ada@example.org", "net-9", 2*time.Hour, ada))
}

// Requests for links append nothing to the log, no matter how many requests arrive and
// which addresses they name.
func TestRequestsForLinksAppendNothing(t *testing.T) {
	f := newFixture(t)
	f.signIn(t, "ada@example.org", 0)
	before := f.logText(t)
	for n := range 1000 {
		require.NoError(t, f.ask(t, fmt.Sprintf("made-up-%d@example.org", n), "net-1", 0))
		require.NoError(t, f.ask(t, "ada@example.org", fmt.Sprint("net-", n), 0))
	}
	require.Equal(t, before, f.logText(t))
}

// The memory of a tally is bounded. It stores at most one list of times for each
// bucket, and no list is longer than the limit.
func TestLinkLimitsHaveABoundedMemory(t *testing.T) {
	l := newLinkLimits()
	for n := range 3 * tallyBuckets {
		l.take(fmt.Sprint("address-", n), "strangers", "net", noon)
	}
	for _, tallied := range []struct {
		*tally
		limit int
	}{{l.requesters, linksPerRequester}, {l.addresses, linksPerAddress}} {
		require.Len(t, tallied.buckets, tallyBuckets)
		used := 0
		for _, b := range tallied.buckets {
			require.LessOrEqual(t, len(b), tallied.limit)
			used += min(len(b), 1)
		}
		require.Greater(t, used, tallyBuckets/2, "the hash spreads the keys")
	}
}
