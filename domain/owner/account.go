package owner

import "time"

// Account is the state folded from an owner's stream. The zero value is an
// account that nobody has signed up for. Account is a value: Evolve returns a
// changed copy.
type Account struct {
	ID          string
	AddressHash string
	Handle      string // empty until chosen
	Keys        []Key  // in order of registration, including revoked ones
	Bots        []Bot  // in order of registration, without removed ones
	Sessions    []Session
	Suspended   bool
	Why         string // the operator's reason for the suspension; empty if not suspended
	Deleted     bool   // if true, only ID, AddressHash and Handle remain, until the address and the handle are released

	former      []formerHandle
	notices     []time.Time // sent within the last NoticeWindow
	mailsOff    []string    // the MailKinds that the owner has switched off
	trials      []time.Time // ordered within the last TrialWindow, oldest first
	refusedKeys []string    // key ids that can no longer be registered, because another account has claimed the public key
}

// Session is a sign-in that has not ended.
type Session struct {
	Hash  string // of the token
	Until time.Time
}

// SessionLength is how long a session lasts.
const SessionLength = 30 * 24 * time.Hour

// Exists reports whether someone has signed up for the account and has not deleted
// it.
func (a Account) Exists() bool { return a.ID != "" && !a.Deleted }

// SignIn describes a sign-in by someone who has proved that they own an address.
type SignIn struct {
	OwnerID     string // the claimant of the address
	AddressHash string
	Session     string // hash of the new session's token
	At          time.Time
}

// SignIn starts a session. It creates the account if it does not exist yet. If the
// account was deleted, SignIn fails with ErrOwnerGone, and the caller must claim the
// address again.
func (a Account) SignIn(s SignIn) ([]Event, error) {
	if a.Deleted {
		return nil, ErrOwnerGone
	}
	var events []Event
	if !a.Exists() {
		events = append(events, SignedUp{OwnerID: s.OwnerID, AddressHash: s.AddressHash})
	}
	return append(events, SessionStarted{Session: s.Session, Until: s.At.Add(SessionLength).UTC().Truncate(time.Millisecond)}), nil
}

// SignOut ends a session. It returns no event if the session has ended.
func (a Account) SignOut(session string) []Event {
	if _, ok := a.session(session); !ok {
		return nil
	}
	return []Event{SessionEnded{Session: session}}
}

// Delete ends the account permanently. It returns no event if the account does
// not exist.
func (a Account) Delete() []Event {
	if !a.Exists() {
		return nil
	}
	return []Event{Deleted{}}
}

// Admit checks a caller's credential. If the key is revoked or the session has ended,
// Admit returns ErrUnauthenticated. Before a write appends at a revision, it calls
// Admit on the account at that revision. So no write is accepted after a revocation.
func (a Account) Admit(c Caller, now time.Time) error {
	if c.KeyID != "" {
		if k, ok := a.Key(c.KeyID); ok && !k.Revoked() && a.ID == c.OwnerID {
			return nil
		}
		return ErrUnauthenticated
	}
	if s, ok := a.session(c.Session); ok && now.Before(s.Until) && a.ID == c.OwnerID {
		return nil
	}
	return ErrUnauthenticated
}

// AdmitWrite is like Admit, for a call that changes something. It also rejects a
// suspended account with ErrOwnerSuspended.
func (a Account) AdmitWrite(c Caller, now time.Time) error {
	if err := a.Admit(c, now); err != nil {
		return err
	}
	if a.Suspended {
		return ErrOwnerSuspended
	}
	return nil
}

func (a Account) session(hash string) (Session, bool) {
	return find(a.Sessions, func(s Session) bool { return s.Hash == hash })
}
