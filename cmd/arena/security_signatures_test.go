package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A signature is valid for five minutes, only once, and only for the exact request
// that was signed.
func TestSecuritySignatures(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t)
	f.each(t, map[string]func(*testing.T){
		"five minutes of skew":                       f.fiveMinutesOfSkew,
		"one spelling of a timestamp":                f.oneSpellingOfATimestamp,
		"a signed write runs once":                   f.aSignedWriteRunsOnce,
		"the signature covers the bytes as received": f.theBytesAsReceived,
		"dots split a message in one way":            f.dotsSplitInOneWay,
		"one credential at a time":                   f.oneCredentialAtATime,
		"one spelling of a signature":                f.oneSpellingOfASignature,
		"refusals give no reason":                    f.aRefusalTellsNotWhy,
	})
}

// The timing of this test is coarse. The tests of adapters/auth control the clock and
// check the exact limit.
func (f *securityArena) fiveMinutesOfSkew(t *testing.T) {
	key := f.member(t).newKey("account.read")
	for _, c := range []struct {
		skew   time.Duration
		status int
	}{{-290 * time.Second, 200}, {-301 * time.Second, 401}, {290 * time.Second, 200}, {330 * time.Second, 401}} {
		answer, took := (*reply)(nil), time.Hour
		for tries := 0; took > 5*time.Second; tries++ { // after a slow call, the skew was different
			require.Less(t, tries, 10, "the machine is too slow for this test")
			begun := time.Now()
			answer = key.do("GET", "/me", nil, key.resigned(stampIn(c.skew), "GET", "/me", ""))
			took = time.Since(begun)
		}
		answer.is(c.status)
	}
}

func (f *securityArena) oneSpellingOfATimestamp(t *testing.T) {
	key := f.member(t).newKey("account.read")
	now := time.Now().UnixMilli()
	ms := strconv.FormatInt(now, 10)
	key.do("GET", "/me", nil, key.resigned(ms, "GET", "/me", "")).is(200)
	for _, wrong := range []string{
		strconv.FormatInt(now/1000, 10), ms + ".0", ms + ".", "1e12", "+" + ms, "-" + ms, "0" + ms, "0x" + strconv.FormatInt(now, 16),
		"18446744073709551616", "9223372036854775808", "0", "", ms + "ms", strings.ReplaceAll(ms, "1", "１"), ms + "," + ms,
	} {
		key.do("GET", "/me", nil, key.resigned(wrong, "GET", "/me", "")).is(401, "unauthenticated")
	}
	// White space around a header's value is not part of the value, so the signature
	// does not cover it.
	key.do("GET", "/me", nil, key.resigned(" "+ms, "GET", "/me", "")).is(401, "unauthenticated")
}

func (f *securityArena) aSignedWriteRunsOnce(t *testing.T) {
	ada := f.member(t)
	key := ada.newKey(everyScope()...)
	stamp := fresh()
	again := func() *reply {
		return key.do("PATCH", "/me", `{"name":"once-`+last(stamp, 6)+`"}`,
			key.resigned(stamp, "PATCH", "/me", `{"name":"once-`+last(stamp, 6)+`"}`))
	}
	again().is(200)
	ada.do("PATCH", "/me", `{"name":"then-`+last(stamp, 6)+`"}`).is(200)
	again().is(401, "unauthenticated")
	require.Equal(t, "then-"+last(stamp, 6), ada.do("GET", "/me", nil).is(200).json["name"], "no effect")
	t.Run("raced", func(t *testing.T) {
		stamp := fresh()
		statuses := race(t, 20, func() (*reply, error) {
			return key.try(t.Context(), "PATCH", "/me", "{}", key.resigned(stamp, "PATCH", "/me", "{}"))
		})
		require.Equal(t, map[int]int{200: 1, 401: 19}, statuses)
	})
}

// race makes n calls at the same time, and counts the responses by status.
func race(t *testing.T, n int, call func() (*reply, error)) map[int]int {
	t.Helper()
	type outcome struct {
		*reply
		err error
	}
	done := make(chan outcome)
	start := make(chan struct{})
	for range n {
		go func() {
			<-start
			r, err := call()
			done <- outcome{r, err}
		}()
	}
	close(start)
	statuses := map[int]int{}
	for range n {
		o := <-done
		if o.err != nil {
			t.Error(o.err)
			continue
		}
		statuses[o.status]++
	}
	return statuses
}

// The method raw() sends the exact bytes of a request, and returns the response's
// status.
func (c *caller) raw(request string) int {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.at)
	require.NoError(c.t, err)
	defer conn.Close()
	require.NoError(c.t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, request)
	require.NoError(c.t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(c.t, err)
	defer res.Body.Close()
	return res.StatusCode
}

func (f *securityArena) theBytesAsReceived(t *testing.T) {
	key := f.member(t).newKey(everyScope()...)
	const body = `{"name":"x"}`
	// send signs POST /bots?mode=standard with a body, but then sends a different
	// request.
	send := func(method, target, sent string) int {
		h := http.Header{}
		key.sign(h, fresh(), "POST", "/bots?mode=standard&a=1", []byte(body))
		var head strings.Builder
		require.NoError(t, h.Write(&head))
		return key.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: arena\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
			method, target, len(sent), head.String(), sent))
	}
	require.Equal(t, 422, send("POST", "/bots?mode=standard&a=1", body), "sent as it was signed")
	for _, c := range []struct {
		what, method, target, body string
		status                     int
	}{
		{"another body", "POST", "/bots?mode=standard&a=1", `{"name":"y"}`, 401},
		{"the same body in another spelling", "POST", "/bots?mode=standard&a=1", `{"name": "x"}`, 401},
		{"no body", "POST", "/bots?mode=standard&a=1", "", 401},
		{"the query in a different order", "POST", "/bots?a=1&mode=standard", body, 401},
		{"the query escaped", "POST", "/bots?mode=%73tandard&a=1", body, 401},
		{"no query", "POST", "/bots", body, 401},
		{"the path escaped", "POST", "/%62ots?mode=standard&a=1", body, 404},
		{"capitals in the path", "POST", "/Bots?mode=standard&a=1", body, 404},
		{"an extra slash", "POST", "/bots/?mode=standard&a=1", body, 404},
		{"two slashes", "POST", "//bots?mode=standard&a=1", body, 404},
		{"a dot segment", "POST", "/x/../bots?mode=standard&a=1", body, 404},
		{"the whole URL", "POST", "http://arena/bots?mode=standard&a=1", body, 401},
		{"another method", "PATCH", "/bots?mode=standard&a=1", body, 405},
		{"the method in lower case", "post", "/bots?mode=standard&a=1", body, 405},
	} {
		require.Equal(t, c.status, send(c.method, c.target, c.body), c.what)
	}
	h := http.Header{}
	key.sign(h, fresh(), "get", "/me", nil)
	require.Equal(t, 401, key.do("GET", "/me", nil, func(r *http.Request) { r.Header = h }).status, "a method that was signed in lower case")
	require.Empty(t, key.do("GET", "/bots", nil).is(200).json["bots"])
}

// The signed message `t.POST./bots?a=1.x.y` can be read as POST /bots?a=1 with the
// body x.y, as POST /bots?a=1.x with the body y, and so on. The first call uses up
// the signature, so the arena rejects the others.
func (f *securityArena) dotsSplitInOneWay(t *testing.T) {
	key := f.member(t).newKey(everyScope()...)
	stamp := fresh()
	split := func(method, target, body string) *reply {
		return key.do(method, target, nil, func(r *http.Request) {
			key.sign(r.Header, stamp, "POST", "/bots?a=1", []byte("x.y"))
			r.Header.Set("Content-Type", "application/json")
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		})
	}
	split("POST", "/bots?a=1", "x.y").is(400, "malformed")
	split("POST", "/bots?a=1.x", "y").is(401) // the same message, whose signature was already used
	split("POST", "/bots?a=1.x.y", "").is(401)

	stamp = fresh()
	key.do("GET", "/bots?a=1.x", nil).is(422, "invalid").names("a")
	key.do("GET", "/bots?mode=standard.x", nil).is(422, "invalid").names("mode")
	for _, method := range []string{"GET", "DELETE"} {
		key.do(method, "/bots/none", "x", func(r *http.Request) { r.Header.Del("Content-Type") }).is(400, "unexpected_body")
	}
}

func (f *securityArena) oneCredentialAtATime(t *testing.T) {
	ada := f.member(t)
	key := ada.newKey(everyScope()...)
	for _, name := range []string{"X-Arena-Key", "X-Arena-Timestamp", "X-Arena-Signature"} {
		key.do("GET", "/me", nil, func(r *http.Request) { r.Header[name] = slices.Repeat(r.Header[name], 2) }).is(401, "unauthenticated")
		key.do("GET", "/me", nil, func(r *http.Request) { r.Header.Del(name) }).is(401, "unauthenticated")
		ada.do("GET", "/me", nil, func(r *http.Request) { r.Header.Set(name, "x") }).is(401, "unauthenticated")
	}
	key.do("GET", "/me", nil, func(r *http.Request) { r.AddCookie(ada.cookie) }).is(401, "unauthenticated")
	ada.do("GET", "/me", nil, func(r *http.Request) { r.AddCookie(ada.cookie) }).is(401, "unauthenticated")
	key.do("GET", "/me", nil).is(200)
	ada.do("GET", "/me", nil).is(200)
}

func (f *securityArena) oneSpellingOfASignature(t *testing.T) {
	key := f.member(t).newKey("account.read")
	with := func(respell func(signature []byte) string) *reply {
		return key.do("GET", "/me", nil, func(r *http.Request) {
			signature, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Arena-Signature"))
			require.NoError(t, err)
			r.Header.Set("X-Arena-Signature", respell(signature))
		})
	}
	standard := base64.StdEncoding.EncodeToString
	with(standard).is(200)
	for what, respell := range map[string]func([]byte) string{
		"without padding":         base64.RawStdEncoding.EncodeToString,
		"of URLs":                 func(b []byte) string { b[0] |= 0xff; return base64.URLEncoding.EncodeToString(b) },
		"hexadecimal":             func(b []byte) string { return fmt.Sprintf("%x", b) },
		"bits left over":          func(b []byte) string { return leftOver(standard(b)) },
		"folded":                  func(b []byte) string { return standard(b)[:44] + "\t" + standard(b)[44:] },
		"63 bytes":                func(b []byte) string { return standard(b[:63]) },
		"65 bytes":                func(b []byte) string { return standard(append(b, 0)) },
		"S that is not the least": func(b []byte) string { return standard(plusOrder(b)) },
		"nothing":                 func([]byte) string { return "" },
		"zeros":                   func([]byte) string { return standard(make([]byte, ed25519.SignatureSize)) },
	} {
		require.Equal(t, 401, with(respell).status, what)
	}
}

// leftOver sets unused bits in the last character of the base64 encoding of 64 bytes.
// Most decoders ignore these bits and still return the original bytes.
func leftOver(encoded string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := len(encoded) - 3
	return encoded[:at] + string(alphabet[strings.IndexByte(alphabet, encoded[at])|1]) + encoded[at+1:]
}

// plusOrder adds the group's order to the number S of an Ed25519 signature. The
// result is another encoding of the same signature.
func plusOrder(signature []byte) []byte {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := slices.Clone(signature[32:])
	slices.Reverse(s)
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	return append(bytes.Clone(signature[:32]), sum...)
}

func (f *securityArena) aRefusalTellsNotWhy(t *testing.T) {
	ada := f.member(t)
	key, revoked := ada.newKey("account.read"), ada.newKey("account.read")
	ada.do("DELETE", "/keys/"+revoked.keyID, nil).is(204)
	anonymous := f.anonymous(t)
	unknown := key.elsewhere(key.at)
	unknown.keyID = "0b1c8a3e-1111-4222-8333-444455556666"
	wrong := key.elsewhere(key.at)
	wrong.key = revoked.key
	late := func(r *http.Request) { key.sign(r.Header, stampIn(-time.Hour), "GET", "/me", nil) }
	want := anonymous.do("GET", "/me", nil).is(401, "unauthenticated").seen()
	for what, got := range map[string]*reply{
		"a revoked key": revoked.do("GET", "/me", nil), "an unknown key": unknown.do("GET", "/me", nil),
		"a wrong signature": wrong.do("GET", "/me", nil), "a signature that is too old": key.elsewhere(key.at).do("GET", "/me", nil, late),
		"a wrong cookie": anonymous.do("GET", "/me", nil, func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "session", Value: "x.y"}) }),
	} {
		require.Equal(t, want, got.seen(), what)
	}
	key.do("GET", "/bots", nil).is(403, "scope_missing")
}
