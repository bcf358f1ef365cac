package owner

import (
	"slices"
	"time"
)

// HandleReserved is how long a released handle stays reserved for its last owner.
// ClaimGrace is how long a claim is valid before the claimant must use the handle.
const (
	HandleReserved = 30 * 24 * time.Hour
	ClaimGrace     = time.Minute
)

// House is the handle of the house, which is the account of the arena's own bots. The
// pages and the command "arena verify" do not count the nonces of these bots, because
// the arena may know their secrets.
const House = "house"

// formerMax is how many former handles an account remembers.
const formerMax = 32

// formerHandle is a handle that an account had before.
type formerHandle struct {
	handle string
	at     time.Time
}

// ChooseHandle changes the account's handle. The account must already have
// claimed the new handle.
func (a Account) ChooseHandle(handle string) []Event {
	if a.Handle == handle {
		return nil
	}
	return []Event{HandleChosen{Handle: handle}}
}

// Keeps reports whether a handle that the account has claimed still belongs to the
// account. The account keeps its current handle, and it keeps each former handle for
// HandleReserved. Its claims to all other handles count as abandoned.
func (a Account) Keeps(handle string, now time.Time) bool {
	return a.Handle == handle || slices.ContainsFunc(a.former, func(f formerHandle) bool {
		return f.handle == handle && now.Sub(f.at) < HandleReserved
	})
}

// The method renamed() returns the account with a new handle.
func (a Account) renamed(handle string, at time.Time) Account {
	a.former = without(a.former, func(f formerHandle) bool {
		return f.handle == handle || at.Sub(f.at) >= HandleReserved
	})
	if a.Handle != "" && a.Handle != handle {
		a.former = append(a.former, formerHandle{a.Handle, at})
	}
	if n := len(a.former) - formerMax; n > 0 {
		a.former = a.former[n:]
	}
	a.Handle = handle
	return a
}

// Name is the state folded from a handle's stream. The zero value is a handle
// that nobody has claimed.
type Name struct {
	OwnerID  string // the last claimant; empty if nobody claimed it
	Since    time.Time
	Released time.Time // zero if not released
}

// Contested reports whether another owner has claimed the handle but may have lost it.
// This is so if the claim was released at least HandleReserved ago, or if it was not
// released and its grace period is over. Only the other owner's account then shows
// whether the handle is free (see Abandoned). A release alone does not prove it: if
// several calls change the account at the same time, one call may release a handle that
// another call has just given back to the account.
func (n Name) Contested(ownerID string, now time.Time) bool {
	switch {
	case n.OwnerID == "" || n.OwnerID == ownerID:
		return false
	case !n.Released.IsZero():
		return now.Sub(n.Released) >= HandleReserved
	}
	return now.Sub(n.Since) >= ClaimGrace
}

// Abandoned reports whether a contested handle is free. The parameter claimant is the
// account that claimed the handle last. A deleted account keeps its handle until the
// handle is released.
func (n Name) Abandoned(handle string, claimant Account, now time.Time) bool {
	if n.Released.IsZero() {
		return !claimant.Keeps(handle, now)
	}
	return claimant.Deleted || claimant.Handle != handle
}

// Claim gives the handle to an account that does not use it yet. If the account has
// claimed the handle before, its grace period starts again. The parameter abandoned is
// the result of the method Abandoned. It matters only if the existing claim is
// contested. Claim may fail with ErrHandleTaken.
func (n Name) Claim(ownerID string, now time.Time, abandoned bool) ([]Event, error) {
	others := n.OwnerID != "" && n.OwnerID != ownerID
	if others && (!abandoned || !n.Contested(ownerID, now)) {
		return nil, ErrHandleTaken
	}
	return []Event{NameClaimed{OwnerID: ownerID}}, nil
}

// Release releases the handle if the account has claimed it.
func (n Name) Release(ownerID string) []Event {
	if n.OwnerID != ownerID || !n.Released.IsZero() {
		return nil
	}
	return []Event{NameReleased{OwnerID: ownerID}}
}

// EvolveName returns n after e, which occurred at the given time. It never
// rejects an event.
func EvolveName(n Name, e Event, at time.Time) Name {
	switch e := e.(type) {
	case NameClaimed:
		return Name{OwnerID: e.OwnerID, Since: at}
	case NameReleased:
		n.Released = at
	}
	return n
}
