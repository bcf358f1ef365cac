package owner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUseLink(t *testing.T) {
	until := noon.Add(LinkLength)
	used := func(link string) Event { return SignInLinkUsed{Link: link, Until: until} }
	claimed := NameClaimed{OwnerID: "new"}
	for name, c := range map[string]struct {
		given   []happened
		after   time.Duration
		then    []Event
		refusal error
	}{
		"a new address":                {nil, 0, []Event{used("1"), claimed}, nil},
		"an address that someone has":  {given(NameClaimed{OwnerID: "o1"}), 0, []Event{used("1")}, nil},
		"an address that was given up": {given(NameClaimed{OwnerID: "o1"}, NameReleased{OwnerID: "o1"}), 0, []Event{used("1"), claimed}, nil},
		"just in time":                 {nil, LinkLength - 1, []Event{used("1"), claimed}, nil},
		"too late":                     {nil, LinkLength, nil, ErrLinkInvalid},
		"twice":                        {given(used("1")), 0, nil, ErrLinkInvalid},
		"another one was used":         {given(used("0")), 0, []Event{used("1"), claimed}, nil},
		"a log with old links":         {given(SignInLinkIssued{Link: "1", Until: noon}, SignInLinkUsed{Link: "0"}), 0, []Event{used("1"), claimed}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := fold(EvolveMailbox, c.given).UseLink(Link{Hash: "1", Until: until}, "new", noon.Add(c.after))
			then(t, c.then, c.refusal, events, err)
		})
	}
}

// A used link stays invalid, no matter how many links are used after it, and even if
// the clock is set back. New links work, even if an earlier link was issued while the
// clock was fast.
func TestUsedLinksStayInvalid(t *testing.T) {
	var links []Link
	var history []happened
	for i := range 3 * usedMax {
		after := time.Duration(i) * time.Minute
		if i == 10 {
			after += 24 * time.Hour // the clock was fast
		}
		l := Link{Hash: fmt.Sprint(i), Until: noon.Add(after + LinkLength)}
		links = append(links, l)
		history = append(history, at(after, SignInLinkUsed{Link: l.Hash, Until: l.Until})...)
	}
	m := fold(EvolveMailbox, history)
	require.Len(t, m.used, usedMax)
	for _, l := range links {
		_, err := m.UseLink(l, "new", noon)
		require.ErrorIs(t, err, ErrLinkInvalid, l.Hash)
	}
	now := noon.Add(3 * usedMax * time.Minute)
	_, err := m.UseLink(Link{Hash: "new", Until: now.Add(LinkLength)}, "new", now)
	require.NoError(t, err)
}

func TestEvolveMailboxLeavesTheOldState(t *testing.T) {
	use := func(m Mailbox, link string) Mailbox {
		return EvolveMailbox(m, SignInLinkUsed{Link: link, Until: noon}, noon)
	}
	before := use(use(use(Mailbox{}, "1"), "2"), "3")
	first := use(before, "4")
	use(before, "5")
	require.Len(t, before.used, 3)
	require.Equal(t, "4", first.used[3].Hash)
}

func TestClaimHandle(t *testing.T) {
	claimed, released := NameClaimed{OwnerID: "o1"}, NameReleased{OwnerID: "o1"}
	mine := func(id string) []Event { return []Event{NameClaimed{OwnerID: id}} }
	for name, c := range map[string]struct {
		given     []happened
		owner     string
		after     time.Duration
		abandoned bool
		then      []Event
		refusal   error
	}{
		"free":                               {nil, "o2", 0, false, mine("o2"), nil},
		"taken":                              {given(claimed), "o2", time.Hour, false, nil, ErrHandleTaken},
		"abandoned":                          {given(claimed), "o2", time.Hour, true, mine("o2"), nil},
		"an owner's own claim, made again":   {given(claimed), "o1", time.Hour, false, mine("o1"), nil},
		"given up by another":                {given(claimed, released), "o2", HandleReserved - 1, true, nil, ErrHandleTaken},
		"given up by another, 30 days later": {given(claimed, released), "o2", HandleReserved, true, mine("o2"), nil},
		"released, but still used":           {given(claimed, released), "o2", HandleReserved, false, nil, ErrHandleTaken},
		"given up by oneself":                {given(claimed, released), "o1", 0, false, mine("o1"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := fold(EvolveName, c.given).Claim(c.owner, noon.Add(c.after), c.abandoned)
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestContested(t *testing.T) {
	claimed := fold(EvolveName, given(NameClaimed{OwnerID: "o1"}))
	require.False(t, claimed.Contested("o2", noon.Add(ClaimGrace-1)), "the claim is valid within the grace")
	require.True(t, claimed.Contested("o2", noon.Add(ClaimGrace)))
	require.False(t, claimed.Contested("o1", noon.Add(ClaimGrace)), "the owner's own claim")
	require.False(t, Name{}.Contested("o2", noon), "a handle that nobody claimed")
	released := EvolveName(claimed, NameReleased{OwnerID: "o1"}, noon)
	require.False(t, released.Contested("o2", noon.Add(HandleReserved-1)), "reserved")
	require.True(t, released.Contested("o2", noon.Add(HandleReserved)), "released long ago")
}

func TestAbandoned(t *testing.T) {
	held := fold(EvolveName, given(NameClaimed{OwnerID: "o1"}))
	released := EvolveName(held, NameReleased{OwnerID: "o1"}, noon)
	later := noon.Add(HandleReserved)
	ada := Account{ID: "o1", Handle: "ada"}
	deleted := Account{ID: "o1", Handle: "ada", Deleted: true}
	require.False(t, held.Abandoned("ada", ada, later))
	require.False(t, held.Abandoned("ada", deleted, later), "not released yet")
	require.True(t, held.Abandoned("ada", Account{ID: "o1", Handle: "bob"}, later))
	require.False(t, released.Abandoned("ada", ada, later), "the account has it again")
	require.True(t, released.Abandoned("ada", deleted, later))
	require.True(t, released.Abandoned("ada", Account{ID: "o1", Handle: "bob"}, later))
}

func TestReleaseHandle(t *testing.T) {
	held := fold(EvolveName, given(NameClaimed{OwnerID: "o1"}))
	require.Equal(t, []Event{NameReleased{OwnerID: "o1"}}, held.Release("o1"))
	require.Empty(t, held.Release("o2"), "another's")
	require.Empty(t, EvolveName(held, NameReleased{OwnerID: "o1"}, noon).Release("o1"), "given up")
	require.Empty(t, Name{}.Release("o1"), "a handle that nobody claimed")
}

func TestChooseHandle(t *testing.T) {
	a := account(given(HandleChosen{Handle: "ada"}))
	require.Empty(t, a.ChooseHandle("ada"))
	require.Equal(t, []Event{HandleChosen{Handle: "bob"}}, a.ChooseHandle("bob"))
	require.Equal(t, "ada", a.Handle)
}

// A former handle of an account stays reserved, even if the arena crashed after it
// changed the account and before it released the handle.
func TestKeeps(t *testing.T) {
	a := account(given(HandleChosen{Handle: "ada"}, HandleChosen{Handle: "bob"}), at(time.Hour, HandleChosen{Handle: "eve"}))
	for name, c := range map[string]struct {
		handle string
		after  time.Duration
		keeps  bool
	}{
		"its own":                     {"eve", 100 * HandleReserved, true},
		"given up lately":             {"bob", time.Hour + HandleReserved - 1, true},
		"given up 30 days ago":        {"bob", time.Hour + HandleReserved, false},
		"the one before":              {"ada", HandleReserved - 1, true},
		"the one before, 30 days ago": {"ada", HandleReserved, false},
		"never named":                 {"mia", 0, false},
		"none":                        {"", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.keeps, a.Keeps(c.handle, noon.Add(c.after)))
		})
	}
	require.True(t, Evolve(a, Deleted{}, noon).Keeps("eve", noon.Add(time.Hour)), "until the deletion releases it")
}

func TestAnAccountForgetsOldHandles(t *testing.T) {
	var history []happened
	for i := range 10 * formerMax {
		history = append(history, at(time.Duration(i)*time.Second, HandleChosen{Handle: fmt.Sprint("h", i)})...)
	}
	a := account(history)
	require.Len(t, a.former, formerMax)
	require.True(t, a.Keeps(fmt.Sprint("h", 10*formerMax-2), noon.Add(time.Hour)))
	back := account(given(HandleChosen{Handle: "ada"}, HandleChosen{Handle: "bob"}, HandleChosen{Handle: "ada"}))
	require.Equal(t, []formerHandle{{"bob", noon}}, back.former, "a handle that the account has taken back is not a former one")
}

func TestClaimAndReleaseAddress(t *testing.T) {
	claimed, released := NameClaimed{OwnerID: "o1"}, NameReleased{OwnerID: "o1"}
	held := fold(EvolveMailbox, given(claimed))
	require.Equal(t, []Event{claimed}, Mailbox{}.Claim("o1"))
	require.Empty(t, held.Claim("o2"), "another's")
	require.Equal(t, []Event{released}, held.Release("o1"))
	require.Empty(t, held.Release("o2"), "another's")
	require.Empty(t, Mailbox{}.Release(""), "an address that nobody claimed")
	require.Empty(t, EvolveMailbox(held, released, noon).Release("o1"), "given up")
}

func TestTogether(t *testing.T) {
	require.NoError(t, Together(nil, nil))
	require.Equal(t, Invalid("a", "b"), Together(nil, Invalid("a", "b")))
	require.Equal(t,
		&InvalidError{Code: CodeInvalid, Faults: []Fault{{"a", "b"}, {"url", "c"}}},
		Together(Invalid("a", "b"), InvalidURL("c")))
	require.ErrorIs(t, Together(Invalid("a", "b"), ErrBotLimit), ErrBotLimit, "an error that is not about a field takes precedence")
	require.Equal(t, "invalid: a b; url c", Together(Invalid("a", "b"), InvalidURL("c")).Error())
}

func TestStreams(t *testing.T) {
	id, ok := ParseAccountStream(AccountStream("6f1c1c62-0e63-5ac3"))
	require.True(t, ok)
	require.Equal(t, "6f1c1c62-0e63-5ac3", id)
	_, ok = ParseAccountStream(AddressStream("6f1c1c62"))
	require.False(t, ok)
	require.Equal(t, "signatures-6f1c1c62", SignaturesStream("6f1c1c62"))
	require.Equal(t, "email-ab12", MailboxStream("ab12"))
	require.Equal(t, "handle-ada", HandleStream("ada"))
}
