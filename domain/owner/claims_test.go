package owner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func issued(hash string) Event { return SignInLinkIssued{Link: hash, Until: noon.Add(LinkLength)} }

func TestIssueLink(t *testing.T) {
	five := given(issued("1"), issued("2"), issued("3"), issued("4"), issued("5"))
	for name, c := range map[string]struct {
		given   []happened
		after   time.Duration
		refusal error
	}{
		"the first":                           {nil, 0, nil},
		"the fifth":                           {five[:4], 0, nil},
		"the sixth":                           {five, 0, ErrLinkLimit},
		"the sixth, just within the hour":     {five, time.Hour - 1, ErrLinkLimit},
		"the sixth, an hour later":            {five, time.Hour, nil},
		"used ones count as well":             {append(five, given(SignInLinkUsed{Link: "1"})...), 0, ErrLinkLimit},
		"the window slides as each link ages": {append(five[:4:4], at(30*time.Minute, issued("5"))...), time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon.Add(c.after)
			events, err := fold(EvolveMailbox, c.given).IssueLink("new", now)
			then(t, []Event{SignInLinkIssued{Link: "new", Until: now.Add(LinkLength)}}, c.refusal, events, err)
		})
	}
}

func TestUseLink(t *testing.T) {
	used, claimed := SignInLinkUsed{Link: "1"}, NameClaimed{OwnerID: "new"}
	for name, c := range map[string]struct {
		given   []happened
		link    string
		after   time.Duration
		then    []Event
		refusal error
	}{
		"a new address":                {given(issued("1")), "1", 0, []Event{used, claimed}, nil},
		"an address that someone has":  {given(issued("1"), NameClaimed{OwnerID: "o1"}), "1", 0, []Event{used}, nil},
		"an address that was given up": {given(NameClaimed{OwnerID: "o1"}, NameReleased{OwnerID: "o1"}, issued("1")), "1", 0, []Event{used, claimed}, nil},
		"just in time":                 {given(issued("1")), "1", LinkLength - 1, []Event{used, claimed}, nil},
		"too late":                     {given(issued("1")), "1", LinkLength, nil, ErrLinkInvalid},
		"twice":                        {given(issued("1"), used), "1", 0, nil, ErrLinkInvalid},
		"unknown":                      {given(issued("1")), "2", 0, nil, ErrLinkInvalid},
		"never issued":                 {nil, "1", 0, nil, ErrLinkInvalid},
		"one of several":               {given(issued("0"), issued("1"), issued("2"), SignInLinkUsed{Link: "0"}), "1", 0, []Event{used, claimed}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := fold(EvolveMailbox, c.given).UseLink(c.link, "new", noon.Add(c.after))
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestMailboxForgetsOldLinks(t *testing.T) {
	var history []happened
	for i := range 100 {
		after := time.Duration(i) * time.Hour
		history = append(history, at(after, SignInLinkIssued{Link: "x", Until: noon.Add(after + LinkLength)})...)
	}
	require.Len(t, fold(EvolveMailbox, history).Links, 1)
}

func TestEvolveMailboxLeavesTheOldState(t *testing.T) {
	before := fold(EvolveMailbox, given(issued("1")))
	EvolveMailbox(before, SignInLinkUsed{Link: "1"}, noon)
	require.False(t, before.Links[0].Used)
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
		"given up by another":                {given(claimed, released), "o2", HandleReserved - 1, false, nil, ErrHandleTaken},
		"given up by another, 30 days later": {given(claimed, released), "o2", HandleReserved, false, mine("o2"), nil},
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
	require.False(t, released.Contested("o2", noon.Add(ClaimGrace)), "given up")
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

// A former handle of an account stays reserved. This is true even if a crash
// came between the change of the account and the release of the handle.
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
