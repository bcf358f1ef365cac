package owner

import (
	"slices"
	"time"
)

// LinkLength is how long a sign-in link is valid.
const LinkLength = 15 * time.Minute

// Mailbox is the state folded from the stream of an email address: the account
// that claimed it, and the used sign-in links. The zero value is an address that
// nobody has used.
type Mailbox struct {
	OwnerID string // empty if unclaimed

	used  []Link    // at most usedMax used links: those that expire last
	floor time.Time // links that expire at or before this time may have been used
}

// usedMax is how many used links a mailbox remembers. Far fewer links are valid at
// the same time.
const usedMax = 100

// Link is a sign-in link for an address. Its token proves that the arena issued it,
// so the log needs no event about an unused link.
type Link struct {
	Hash  string // of the token
	Until time.Time
}

// UseLink marks a link as used. If nobody has claimed the address, UseLink also
// claims it for newOwner. It may fail with ErrLinkInvalid.
func (m Mailbox) UseLink(l Link, newOwner string, now time.Time) ([]Event, error) {
	used := slices.ContainsFunc(m.used, func(u Link) bool { return u.Hash == l.Hash })
	if used || !l.Until.After(m.floor) || !now.Before(l.Until) {
		return nil, ErrLinkInvalid
	}
	return append([]Event{SignInLinkUsed{Link: l.Hash, Until: l.Until.UTC()}}, m.Claim(newOwner)...), nil
}

// Claim gives the address to an account, unless an account already has it.
func (m Mailbox) Claim(ownerID string) []Event {
	if m.OwnerID != "" {
		return nil
	}
	return []Event{NameClaimed{OwnerID: ownerID}}
}

// Release releases the address if the account has it.
func (m Mailbox) Release(ownerID string) []Event {
	if ownerID == "" || m.OwnerID != ownerID {
		return nil
	}
	return []Event{NameReleased{OwnerID: ownerID}}
}

// EvolveMailbox returns m after e. It never rejects an event, and does not change
// anything that m points to.
func EvolveMailbox(m Mailbox, e Event, _ time.Time) Mailbox {
	switch e := e.(type) {
	case SignInLinkUsed:
		m = m.remember(Link{Hash: e.Link, Until: e.Until})
	case NameClaimed:
		m.OwnerID = e.OwnerID
	case NameReleased:
		m.OwnerID = ""
	}
	return m
}

// remember returns m with one more used link. If there are now too many, m forgets the
// link that expires first, and raises the field floor. The method uses no clock, so a
// used link stays invalid even if a clock is set back.
func (m Mailbox) remember(l Link) Mailbox {
	if l.Until.IsZero() {
		return m // a link from an old log; its token is invalid today
	}
	m.used = append(slices.Clone(m.used), l)
	if len(m.used) > usedMax {
		first := slices.MinFunc(m.used, func(a, b Link) int { return a.Until.Compare(b.Until) })
		m.used = without(m.used, func(u Link) bool { return u == first })
		m.floor = first.Until
	}
	return m
}
