package owner

import (
	"slices"
	"time"
)

// HandleReserved is how long a handle that was given up is kept for its last
// owner, ClaimGrace how long a claim stands that its owner's account does not
// name yet.
const (
	HandleReserved = 30 * 24 * time.Hour
	ClaimGrace     = time.Minute
)

// formerMax is how many handles that were given up an account remembers.
const formerMax = 32

// formerHandle is a handle that an account has given up.
type formerHandle struct {
	handle string
	at     time.Time
}

// ChooseHandle changes the handle, which the account must have claimed.
func (a Account) ChooseHandle(handle string) []Event {
	if a.Handle == handle {
		return nil
	}
	return []Event{HandleChosen{Handle: handle}}
}

// Keeps says whether a handle that the account has claimed is its own still: it
// is the account's handle, or was so within HandleReserved. Else the claim is
// abandoned: it was made, and the account never came to name it.
func (a Account) Keeps(handle string, now time.Time) bool {
	return a.Handle == handle || slices.ContainsFunc(a.former, func(f formerHandle) bool {
		return f.handle == handle && now.Sub(f.at) < HandleReserved
	})
}

// renamed returns the account with another handle.
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

// Name is a handle as its stream tells. The zero value is one that nobody has
// ever claimed.
type Name struct {
	OwnerID  string // who claimed it last; empty: nobody
	Since    time.Time
	Released time.Time // zero: not
}

// Contested says whether someone else's claim is old enough that it counts
// only if their account names the handle.
func (n Name) Contested(ownerID string, now time.Time) bool {
	return n.OwnerID != "" && n.OwnerID != ownerID && n.Released.IsZero() && now.Sub(n.Since) >= ClaimGrace
}

// Claim gives the handle to an account that does not name it yet. A claim of
// its own is claimed anew, so that its grace begins again. Abandoned says that
// the claim is contested and that its owner's account does not keep the handle.
// The refusal is ErrHandleTaken.
func (n Name) Claim(ownerID string, now time.Time, abandoned bool) ([]Event, error) {
	others := n.OwnerID != "" && n.OwnerID != ownerID
	switch held := n.Released.IsZero(); {
	case others && held && !abandoned:
		return nil, ErrHandleTaken
	case others && !held && now.Sub(n.Released) < HandleReserved:
		return nil, ErrHandleTaken
	}
	return []Event{NameClaimed{OwnerID: ownerID}}, nil
}

// Release gives the handle up, if the account holds it.
func (n Name) Release(ownerID string) []Event {
	if n.OwnerID != ownerID || !n.Released.IsZero() {
		return nil
	}
	return []Event{NameReleased{OwnerID: ownerID}}
}

// EvolveName returns n as it is after e, which occurred at a time. It never
// rejects.
func EvolveName(n Name, e Event, at time.Time) Name {
	switch e := e.(type) {
	case NameClaimed:
		return Name{OwnerID: e.OwnerID, Since: at}
	case NameReleased:
		n.Released = at
	}
	return n
}
