package auth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

func TestFirstSignInMakesTheAccount(t *testing.T) {
	f := newFixture(t)
	account, cookie := f.signIn(t, "Ada@Example.org", 0)
	require.True(t, account.Exists())
	require.Equal(t, "Ada@Example.org", f.sent[0].to)
	require.True(t, strings.HasPrefix(f.sent[0].link, "https://arena.example/sign-in/confirm?token="))

	again, other := f.signIn(t, "ada@example.ORG", time.Minute)
	require.Equal(t, account.ID, again.ID, "addresses are compared without case")
	require.NotEqual(t, cookie.Value, other.Value, "each sign-in has a session of its own")
	require.Len(t, again.Sessions, 2)
}

func TestSignInStoresAddressBeforeAccount(t *testing.T) {
	f := newFixture(t)
	account, _ := f.signIn(t, "ada@example.org", 0)
	var order []string
	for r, err := range f.log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		order = append(order, r.Type)
	}
	require.Equal(t, []string{"SignInLinkUsed", "NameClaimed", "AddressSet", "OwnerSignedUp", "SessionStarted"}, order)

	for r, err := range f.log.Read(t.Context(), eventstore.StreamID(owner.AddressStream(account.ID)), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		require.JSONEq(t, `{"address":"ada@example.org"}`, string(r.Data))
	}
}

func TestLogHoldsNoTokenAndTheAddressOnce(t *testing.T) {
	f := newFixture(t)
	token := f.link(t, "ada@example.org", 0)
	_, cookies, err := f.Confirm(t.Context(), program, token, now(0))
	require.NoError(t, err)
	log := f.logText(t)
	_, session, _ := strings.Cut(cookies[0].Value, ".")
	require.NotContains(t, log, token)
	require.NotContains(t, log, session)
	require.Equal(t, 1, strings.Count(log, "ada@example.org"))
}

func TestLinkWorksAfterRestart(t *testing.T) {
	before := newFixture(t)
	token := before.link(t, "ada@example.org", 0)
	after := fixtureOn(t, before.log, false)
	account, _, err := after.Confirm(t.Context(), program, token, now(time.Minute))
	require.NoError(t, err)
	require.True(t, account.Exists())
}

func TestConfirmRejectsInvalidLinks(t *testing.T) {
	f := newFixture(t)
	used, old := f.link(t, "used@example.org", 0), f.link(t, "old@example.org", 0)
	_, _, err := f.Confirm(t.Context(), program, used, now(0))
	require.NoError(t, err)
	other, err := newVault(make([]byte, 32))
	require.NoError(t, err)
	foreign := other.newToken("foreign@example.org", noon.Add(time.Hour))

	for name, token := range map[string]string{
		"used": used, "older than 15 minutes": old, "sealed under another key": foreign,
		"empty": "", "invalid base64": "!!", "cut": used[:len(used)-1], "longer": used + "A", "with a line break": used + "\n",
		"changed": "A" + used[1:], "padded": used + "=", "huge": strings.Repeat("A", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := f.Confirm(t.Context(), program, token, now(owner.LinkLength))
			require.ErrorIs(t, err, owner.ErrLinkInvalid)
			require.Equal(t, owner.ErrLinkInvalid.Error(), err.Error(), "every invalid link gets the same error")
		})
	}
	_, _, err = f.Confirm(t.Context(), program, old, now(owner.LinkLength-time.Millisecond))
	require.NoError(t, err, "one millisecond before it expires")
}

func TestConcurrentConfirmsStartOneSession(t *testing.T) {
	f := newFixture(t)
	token := f.link(t, "ada@example.org", 0)
	var wg sync.WaitGroup
	results := make(chan error, 50)
	for range 50 {
		wg.Go(func() {
			_, _, err := f.Confirm(t.Context(), program, token, now(0))
			results <- err
		})
	}
	wg.Wait()
	close(results)
	in := 0
	for err := range results {
		if err == nil {
			in++
			continue
		}
		require.ErrorIs(t, err, owner.ErrLinkInvalid)
	}
	require.Equal(t, 1, in)
}

// brokenMailer is a Mailer that always fails.
type brokenMailer struct{}

func (brokenMailer) SendSignInLink(context.Context, string, string, time.Time) error {
	return errors.New("mail server unavailable")
}

func TestSendLinkHidesMailFailures(t *testing.T) {
	f := newFixture(t)
	f.options.Mailer = brokenMailer{}
	require.NoError(t, f.ask(t, "ada@example.org", "network", 0))
}

// After a crash, an address may be claimed for an account that does not exist yet. The
// next sign-in creates the account.
func TestSignInMakesAClaimedAccount(t *testing.T) {
	f := newFixture(t)
	_, _, err := mailboxes.Handle(t.Context(), f.log, f.mailbox("ada@example.org"), owner.Mailbox{}, now(0),
		func(owner.Mailbox) ([]owner.Event, error) {
			return []owner.Event{owner.NameClaimed{OwnerID: "o1"}}, nil
		})
	require.NoError(t, err)
	require.NoError(t, f.setAddress(t.Context(), "o1", "ada@example.org", now(0)))

	account, _ := f.signIn(t, "ada@example.org", time.Minute)
	require.Equal(t, "o1", account.ID)
	require.Equal(t, 1, strings.Count(f.logText(t), "AddressSet"))
}

func TestSignOut(t *testing.T) {
	f := newFixture(t)
	account, cookie := f.signIn(t, "ada@example.org", 0)
	caller, err := f.Verify(t.Context(), withCookies(cookie), nil, now(0))
	require.NoError(t, err)
	require.Equal(t, account.ID, caller.OwnerID)

	ended, err := f.SignOut(t.Context(), caller, now(0))
	require.NoError(t, err)
	require.Equal(t, -1, ended.MaxAge)
	require.Equal(t, cookie.Name, ended.Name)
	_, err = f.Verify(t.Context(), withCookies(cookie), nil, now(0))
	require.ErrorIs(t, err, owner.ErrUnauthenticated)
	_, err = f.SignOut(t.Context(), caller, now(0))
	require.NoError(t, err, "the second sign-out")
}

func TestParseAddress(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string // want is empty if the address is invalid
	}{
		"plain":                  {"ada@example.org", "ada@example.org"},
		"trimmed":                {" ada@example.org\n", "ada@example.org"},
		"with a tag":             {"ada+arena@example.org", "ada+arena@example.org"},
		"a host without a dot":   {"ada@localhost", "ada@localhost"},
		"of the maximum length":  {strings.Repeat("a", 242) + "@example.org", strings.Repeat("a", 242) + "@example.org"},
		"longer":                 {strings.Repeat("a", 243) + "@example.org", ""},
		"empty":                  {"", ""},
		"no @":                   {"ada", ""},
		"no host":                {"ada@", ""},
		"with a name":            {"Ada <ada@example.org>", ""},
		"in brackets":            {"<ada@example.org>", ""},
		"two":                    {"ada@example.org, bob@example.org", ""},
		"CR LF and a header":     {"ada@example.org\r\nBcc: eve@example.org", ""},
		"a line break in quotes": {"\"a\r\n\"@example.org", ""},
		"NUL":                    {"a\x00@example.org", ""},
		"a bidi control":         {"a\u202e@example.org", ""},
		"invalid UTF-8":          {"\xff@example.org", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseAddress(c.text)
			require.Equal(t, c.want, got)
			if c.want == "" {
				var invalid *owner.InvalidError
				require.ErrorAs(t, err, &invalid)
			}
		})
	}
}

func TestAddressHash(t *testing.T) {
	v := newFixture(t).vault
	require.Equal(t, v.addressHash("ada@example.org"), v.addressHash("ADA@EXAMPLE.ORG"))
	require.NotEqual(t, v.addressHash("ada@example.org"), v.addressHash("bob@example.org"))
	require.NotEqual(t, v.addressHash("mike@example.org"), v.addressHash("mi\u212ae@example.org"), "the Kelvin sign is not a k")
	require.Regexp(t, `^[0-9a-f]{64}$`, v.addressHash("ada@example.org"))
}
