package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	"hexarena/projections/directory"
)

func withCookies(cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/me", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

const botsTarget = "/bots?mode=standard&x=%2f"

// signedRequest returns a signed POST of body.
func signedRequest(key ed25519.PrivateKey, keyID, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, botsTarget, strings.NewReader(body))
	sign(r.Header, keyID, key, noon, http.MethodPost, botsTarget, []byte(body))
	return r
}

func TestVerifySignature(t *testing.T) {
	f := newFixture(t)
	account, cookie := f.signIn(t, "ada@example.org", 0)
	key := f.addKey(t, account.ID, "k1", owner.BotsRead)
	other := f.addKey(t, account.ID, "k2", owner.BotsRead)
	revoked := f.addKey(t, account.ID, "revoked", owner.BotsRead)
	f.store(t, account.ID, owner.APIKeyRevoked{KeyID: "revoked"})
	f.keys["only-in-directory"] = directory.Key{OwnerID: account.ID, PublicKey: f.keys["k1"].PublicKey} // the directory knows this key, but the account does not

	const body = `{"a":1}`
	resign := func(r *http.Request, timestamp, method, target, body string) {
		signature := ed25519.Sign(key, signedMessage(timestamp, method, target, []byte(body)))
		r.Header.Set(headerTimestamp, timestamp)
		r.Header.Set(headerSignature, encodeBase64(signature))
	}
	millis := func(d time.Duration) string { return strconv.FormatInt(noon.Add(d).UnixMilli(), 10) }
	timestamped := func(timestamp string) func(*http.Request) {
		return func(r *http.Request) { resign(r, timestamp, http.MethodPost, botsTarget, body) }
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	signature := signedRequest(key, "k1", body).Header.Get(headerSignature)
	raw, err := base64.StdEncoding.DecodeString(signature)
	require.NoError(t, err)
	nonCanonical := append([]byte(nil), raw...)
	addOrder(nonCanonical[32:])

	for name, c := range map[string]struct {
		change func(*http.Request)
		body   string
		ok     bool
	}{
		"as signed":                        {nil, body, true},
		"5 min 0.000 s late":               {timestamped(millis(-maxSkew)), body, true},
		"5 min 0.001 s late":               {timestamped(millis(-maxSkew - time.Millisecond)), body, false},
		"5 min 0.000 s early":              {timestamped(millis(maxSkew)), body, true},
		"5 min 0.001 s early":              {timestamped(millis(maxSkew + time.Millisecond)), body, false},
		"seconds":                          {timestamped(strconv.FormatInt(noon.Unix(), 10)), body, false},
		"a float":                          {timestamped(millis(0) + ".0"), body, false},
		"a space before":                   {timestamped(" " + millis(0)), body, false},
		"a plus":                           {timestamped("+" + millis(0)), body, false},
		"a leading zero":                   {timestamped("0" + millis(0)), body, false},
		"a minus":                          {timestamped("-" + millis(0)), body, false},
		"2^64":                             {timestamped("18446744073709551616"), body, false},
		"the smallest":                     {timestamped("-9223372036854775808"), body, false},
		"the largest":                      {timestamped("9223372036854775807"), body, false},
		"an exponent":                      {timestamped("1e12"), body, false},
		"underscores":                      {timestamped("1_788_696_000_000"), body, false},
		"no timestamp":                     {timestamped(""), body, false},
		"another body":                     {nil, `{"a":2}`, false},
		"white space in the body":          {nil, body + " ", false},
		"no body":                          {nil, "", false},
		"a different method signed":        {func(r *http.Request) { resign(r, millis(0), "PUT", botsTarget, body) }, body, false},
		"the method in lower case":         {func(r *http.Request) { resign(r, millis(0), "post", botsTarget, body) }, body, false},
		"the query in a different order":   {func(r *http.Request) { resign(r, millis(0), "POST", "/bots?x=%2f&mode=standard", body) }, body, false},
		"no query signed":                  {func(r *http.Request) { resign(r, millis(0), "POST", "/bots", body) }, body, false},
		"another encoding of the query":    {func(r *http.Request) { resign(r, millis(0), "POST", "/bots?mode=standard&x=%2F", body) }, body, false},
		"the path in a different case":     {func(r *http.Request) { resign(r, millis(0), "POST", "/Bots?mode=standard&x=%2f", body) }, body, false},
		"a base URL signed":                {func(r *http.Request) { resign(r, millis(0), "POST", "https://arena.example"+botsTarget, body) }, body, false},
		"a timestamp that was not signed":  {header(headerTimestamp, millis(time.Millisecond)), body, false},
		"another key":                      {header(headerKey, "k2"), body, false},
		"an unknown key":                   {header(headerKey, "k3"), body, false},
		"a key that the account lacks":     {header(headerKey, "only-in-directory"), body, false},
		"an empty key id":                  {header(headerKey, ""), body, false},
		"a huge key id":                    {header(headerKey, strings.Repeat("k", 1<<16)), body, false},
		"no key id":                        {func(r *http.Request) { r.Header.Del(headerKey) }, body, false},
		"no signature":                     {func(r *http.Request) { r.Header.Del(headerSignature) }, body, false},
		"an empty signature":               {header(headerSignature, ""), body, false},
		"two keys":                         {func(r *http.Request) { r.Header.Add(headerKey, "k1") }, body, false},
		"two timestamps":                   {func(r *http.Request) { r.Header.Add(headerTimestamp, millis(0)) }, body, false},
		"two signatures":                   {func(r *http.Request) { r.Header.Add(headerSignature, signature) }, body, false},
		"a signature and a session":        {func(r *http.Request) { r.AddCookie(cookie) }, body, false},
		"base64 without padding":           {header(headerSignature, strings.TrimRight(signature, "=")), body, false},
		"base64 for URLs":                  {header(headerSignature, base64.URLEncoding.EncodeToString(append([]byte{0xff, 0xff}, raw[2:]...))), body, false},
		"base64 with white space":          {header(headerSignature, signature[:40]+"\n"+signature[40:]), body, false},
		"base64 with unused bits set":      {header(headerSignature, setUnusedBits(signature)), body, false},
		"hex":                              {header(headerSignature, strings.Repeat("0", 128)), body, false},
		"63 bytes":                         {header(headerSignature, encodeBase64(raw[:63])), body, false},
		"65 bytes":                         {header(headerSignature, encodeBase64(append(raw[:64:64], 0))), body, false},
		"an S that is not canonical":       {header(headerSignature, encodeBase64(nonCanonical)), body, false},
		"64 zero bytes":                    {header(headerSignature, encodeBase64(make([]byte, 64))), body, false},
		"the dot moved from body to query": {func(r *http.Request) { resign(r, millis(0), "POST", botsTarget+".{", `"a":1}`) }, body, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := signedRequest(key, "k1", body)
			if c.change != nil {
				c.change(r)
			}
			caller, err := f.Verify(t.Context(), r, []byte(c.body), now(0))
			if c.ok {
				require.NoError(t, err)
				require.Equal(t, owner.Caller{OwnerID: account.ID, KeyID: "k1", Scopes: []owner.Scope{owner.BotsRead}}, caller)
				return
			}
			require.ErrorIs(t, err, owner.ErrUnauthenticated)
			require.Equal(t, owner.ErrUnauthenticated.Error(), err.Error(), "every rejection has the same error")
		})
	}

	_, err = f.Verify(t.Context(), signedRequest(other, "k2", body), []byte(body), now(0))
	require.NoError(t, err)
	_, err = f.Verify(t.Context(), signedRequest(revoked, "revoked", body), []byte(body), now(0))
	require.ErrorIs(t, err, owner.ErrUnauthenticated)
}

// While the directory may lack keys, an unknown id does not show that a key does not exist.
// So the caller learns that it must try again. The error does not reveal which ids the
// directory has.
func TestVerifySignatureWhileTheDirectoryLacksKeys(t *testing.T) {
	f := newFixture(t)
	account, _ := f.signIn(t, "ada@example.org", 0)
	key := f.addKey(t, account.ID, "k1", owner.BotsRead)
	f.lack = errors.New("the directory is folding the log")
	verify := func(key ed25519.PrivateKey, id, signed, body string) error {
		_, err := f.Verify(t.Context(), signedRequest(key, id, signed), []byte(body), now(0))
		return err
	}
	require.NoError(t, verify(key, "k1", "{}", "{}"), "a key that the directory has")
	require.Equal(t, f.lack, verify(key, "k2", "{}", "{}"), "an unknown key")
	require.Equal(t, f.lack, verify(key, "k1", "{}", "[]"), "a wrong signature")
	f.lack = nil
	require.ErrorIs(t, verify(key, "k2", "{}", "{}"), owner.ErrUnauthenticated)
}

// addOrder adds the order of the Ed25519 group to a little-endian scalar. A
// verifier that accepts non-canonical scalars would accept the changed
// signature too.
func addOrder(s []byte) {
	order := []byte{
		0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
	}
	carry := 0
	for i := range s {
		sum := int(s[i]) + int(order[i]) + carry
		s[i], carry = byte(sum), sum>>8
	}
}

// setUnusedBits sets the lowest bit of the last base64 character before the
// padding. The result is not canonical, but a lenient decoder accepts it.
func setUnusedBits(encoded string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	text := strings.TrimRight(encoded, "=")
	end := len(text) - 1
	last := strings.IndexByte(alphabet, text[end])
	return text[:end] + string(alphabet[last+1]) + encoded[len(text):]
}

func TestVerifySession(t *testing.T) {
	f := newFixture(t)
	account, cookie := f.signIn(t, "ada@example.org", 0)
	ended := *cookie
	_, token, _ := strings.Cut(cookie.Value, ".")
	value := func(v string) *http.Request { return withCookies(&http.Cookie{Name: "session", Value: v}) }

	for name, c := range map[string]struct {
		request *http.Request
		after   time.Duration
		ok      bool
	}{
		"a session":                          {withCookies(cookie), 0, true},
		"just before it expires":             {withCookies(cookie), owner.SessionLength - time.Millisecond, true},
		"expired":                            {withCookies(cookie), owner.SessionLength, false},
		"nothing":                            {withCookies(), 0, false},
		"the cookie name used in production": {withCookies(&http.Cookie{Name: "__Host-session", Value: cookie.Value}), 0, false},
		"twice":                              {withCookies(cookie, &ended), 0, false},
		"another token":                      {value(account.ID + "." + strings.Repeat("A", 43)), 0, false},
		"another owner's id":                 {value("o2." + token), 0, false},
		"no id":                              {value("." + token), 0, false},
		"no dot":                             {value(token), 0, false},
		"invalid base64":                     {value(account.ID + ".!!!"), 0, false},
		"a token that is too short":          {value(account.ID + "." + token[:42]), 0, false},
		"text after the token":               {value(account.ID + "." + token + "A"), 0, false},
		"a huge id":                          {value(strings.Repeat("o", 1<<12) + "." + token), 0, false},
		"empty":                              {value(""), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := f.Verify(t.Context(), c.request, nil, now(c.after))
			if c.ok {
				require.NoError(t, err)
				require.Equal(t, account.ID, caller.OwnerID)
				require.Equal(t, owner.AllScopes(), caller.Scopes)
				return
			}
			require.ErrorIs(t, err, owner.ErrUnauthenticated)
		})
	}
}

func TestCookies(t *testing.T) {
	_, plain := newFixture(t).signIn(t, "ada@example.org", 0)
	require.Equal(t, "session", plain.Name)
	require.False(t, plain.Secure)

	f := fixtureOn(t, newFixture(t).log, true)
	_, secure := f.signIn(t, "ada@example.org", 0)
	require.Equal(t, "__Host-session", secure.Name)
	require.True(t, secure.Secure)
	for _, c := range []*http.Cookie{plain, secure} {
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		require.NoError(t, c.Valid())
	}
	_, err := f.Verify(t.Context(), withCookies(secure), nil, now(0))
	require.NoError(t, err)
	_, err = f.Verify(t.Context(), withCookies(&http.Cookie{Name: "session", Value: secure.Value}), nil, now(0))
	require.ErrorIs(t, err, owner.ErrUnauthenticated, "production accepts only the __Host- cookie")
}

func TestKeyUseIsStoredOnceAnHour(t *testing.T) {
	f := newFixture(t)
	account, _ := f.signIn(t, "ada@example.org", 0)
	key := f.addKey(t, account.ID, "k1", owner.BotsRead)
	verify := func(after time.Duration) {
		r := httptest.NewRequest(http.MethodGet, "/bots", nil)
		sign(r.Header, "k1", key, noon.Add(after), http.MethodGet, "/bots", nil)
		_, err := f.Verify(t.Context(), r, nil, now(after))
		require.NoError(t, err)
	}
	for _, after := range []time.Duration{0, time.Minute, time.Hour - 1, time.Hour, time.Hour + time.Minute} {
		verify(after)
	}
	require.Equal(t, 2, strings.Count(f.logText(t), "ApiKeyUsed"))

	r := httptest.NewRequest(http.MethodGet, "/bots", nil)
	sign(r.Header, "k1", key, noon.Add(3*time.Hour), http.MethodGet, "/keys", nil)
	_, err := f.Verify(t.Context(), r, nil, now(3*time.Hour))
	require.Error(t, err)
	require.Equal(t, 2, strings.Count(f.logText(t), "ApiKeyUsed"), "a rejected call is not a use")
}

func FuzzParseSignature(f *testing.F) {
	f.Add("k1", "1788696000000", encodeBase64(make([]byte, 64)))
	f.Add("", "+1", "")
	f.Add("k1", "18446744073709551616", strings.Repeat("A", 88))
	f.Fuzz(func(t *testing.T, keyID, timestamp, signature string) {
		h := http.Header{headerKey: {keyID}, headerTimestamp: {timestamp}, headerSignature: {signature}}
		sig, err := parseSignature(h, noon)
		if err != nil {
			require.ErrorIs(t, err, owner.ErrUnauthenticated)
			return
		}
		require.Equal(t, signature, encodeBase64(sig.signature), "the encoding must be canonical")
		ms, err := strconv.ParseInt(timestamp, 10, 64)
		require.NoError(t, err)
		require.LessOrEqual(t, noon.Sub(time.UnixMilli(ms)).Abs(), maxSkew)
		require.Equal(t, strconv.FormatInt(ms, 10), timestamp, "the encoding must be canonical")
	})
}

func FuzzParseSession(f *testing.F) {
	f.Add("o1." + strings.Repeat("A", 43))
	f.Add(".")
	f.Add("o1.AAA=")
	f.Fuzz(func(t *testing.T, value string) {
		ownerID, hash, err := parseSession(value)
		if err != nil {
			require.ErrorIs(t, err, owner.ErrUnauthenticated)
			return
		}
		require.NotEmpty(t, ownerID)
		require.Len(t, hash, 64)
	})
}

// A wrong signature under a known key id costs as much as a wrong signature under an
// unknown id: one verification, and no access to an account.
func TestKeyIDsCostTheSame(t *testing.T) {
	f := newFixture(t)
	account, _ := f.signIn(t, "ada@example.org", 0)
	f.addKey(t, account.ID, "k1", owner.BotsRead)
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	f.stranger = public
	f.options.Accounts = nil // a call would panic
	for _, id := range []string{"k1", "unknown"} {
		r := signedRequest(private, id, "{}")
		_, err := f.Verify(t.Context(), r, []byte("{}"), now(0))
		require.ErrorIs(t, err, owner.ErrUnauthenticated, id)
		sig, err := parseSignature(r.Header, noon)
		require.NoError(t, err)
		_, known, valid, _ := f.signer(sig, r, []byte("{}"))
		require.Equal(t, id == "k1", known)
		require.Equal(t, id != "k1", valid, "the signature is compared with the stranger's key if the id is unknown")
	}
}

func FuzzOpenToken(f *testing.F) {
	v, err := newVault(make([]byte, 32))
	require.NoError(f, err)
	good := v.newToken("ada@example.org", noon)
	f.Add(good)
	f.Add(good[1:])
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		address, link, err := v.openToken(token)
		if err != nil {
			require.ErrorIs(t, err, owner.ErrLinkInvalid)
			return
		}
		require.Equal(t, "ada@example.org", address, "no other address was sealed")
		require.Len(t, link.Hash, 64)
		require.True(t, link.Until.Equal(noon))
	})
}
