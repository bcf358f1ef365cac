package owner

import "time"

// LinkLength is how long a sign-in link is valid. LinkLimit is how many links
// an address can get within LinkWindow.
const (
	LinkLength = 15 * time.Minute
	LinkLimit  = 5
	LinkWindow = time.Hour
)

// Mailbox is the state folded from the stream of an email address: the account
// that claimed it, and the recent sign-in links. The zero value is an address
// that nobody has used.
type Mailbox struct {
	OwnerID string // empty if unclaimed
	Links   []Link // issued within LinkWindow, or not expired yet
}

// Link is a sign-in link.
type Link struct {
	Hash   string // of the token
	Issued time.Time
	Until  time.Time
	Used   bool
}

// IssueLink issues a link. It may fail with ErrLinkLimit.
func (m Mailbox) IssueLink(hash string, now time.Time) ([]Event, error) {
	if count(m.Links, func(l Link) bool { return now.Sub(l.Issued) < LinkWindow }) >= LinkLimit {
		return nil, ErrLinkLimit
	}
	return []Event{SignInLinkIssued{Link: hash, Until: now.Add(LinkLength).UTC().Truncate(time.Millisecond)}}, nil
}

// UseLink marks a link as used. If nobody has claimed the address, UseLink also
// claims it for newOwner. It may fail with ErrLinkInvalid.
func (m Mailbox) UseLink(hash, newOwner string, now time.Time) ([]Event, error) {
	l, ok := find(m.Links, func(l Link) bool { return l.Hash == hash })
	if !ok || l.Used || !now.Before(l.Until) {
		return nil, ErrLinkInvalid
	}
	return append([]Event{SignInLinkUsed{Link: hash}}, m.Claim(newOwner)...), nil
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

// EvolveMailbox returns m after e, which occurred at the given time. It never
// rejects an event, and does not change anything that m points to.
func EvolveMailbox(m Mailbox, e Event, at time.Time) Mailbox {
	switch e := e.(type) {
	case SignInLinkIssued:
		m.Links = append(without(m.Links, func(l Link) bool {
			return at.Sub(l.Issued) >= LinkWindow && !at.Before(l.Until)
		}), Link{Hash: e.Link, Issued: at, Until: e.Until})
	case SignInLinkUsed:
		m.Links = changed(m.Links, func(l Link) bool { return l.Hash == e.Link }, func(l *Link) { l.Used = true })
	case NameClaimed:
		m.OwnerID = e.OwnerID
	case NameReleased:
		m.OwnerID = ""
	}
	return m
}
