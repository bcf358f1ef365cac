package arena

import (
	"errors"
	"fmt"
	"time"

	"hexarena/domain/event"
)

// The stream arena-player keeps only its last event ($maxCount 1), so each
// event contains the whole state.

// PlayerClaimed records that a process has become the player: the process that seats
// tables and referees matches.
type PlayerClaimed struct {
	Holder     string `json:"holder"`     // the id of the process's data folder
	Generation uint64 `json:"generation"` // counts the claims, from 1
	Host       string `json:"host"`       // for display only
}

// PlayerRenewed records that the player is alive.
type PlayerRenewed PlayerClaimed

// PlayerReleased records that the player shut down cleanly.
type PlayerReleased PlayerClaimed

// EventType implements Event.
func (PlayerClaimed) EventType() string { return "PlayerClaimed" }

// EventType implements Event.
func (PlayerRenewed) EventType() string { return "PlayerRenewed" }

// EventType implements Event.
func (PlayerReleased) EventType() string { return "PlayerReleased" }

// DecodePlayer reads a stored event of arena-player. An unknown type is an
// error.
func DecodePlayer(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "PlayerClaimed":
		return event.Decode[PlayerClaimed](data)
	case "PlayerRenewed":
		return event.Decode[PlayerRenewed](data)
	case "PlayerReleased":
		return event.Decode[PlayerReleased](data)
	default:
		return nil, event.UnknownType(eventType, PlayerStream)
	}
}

// Player is the process that plays on a log. The zero value means that no
// process has played on it yet.
type Player struct {
	Holder     string
	Generation uint64
	Host       string
	Playing    bool
	At         time.Time // the time of the last event, by the holder's clock; for display only
}

// EvolvePlayer returns p after e. It never rejects an event.
func EvolvePlayer(p Player, e Event, at time.Time) Player {
	switch e := e.(type) {
	case PlayerClaimed:
		return Player{Holder: e.Holder, Generation: e.Generation, Host: e.Host, Playing: true, At: at}
	case PlayerRenewed:
		return Player{Holder: e.Holder, Generation: e.Generation, Host: e.Host, Playing: true, At: at}
	case PlayerReleased:
		return Player{Holder: e.Holder, Generation: e.Generation, Host: e.Host, Playing: false, At: at}
	}
	return p
}

// HeldError rejects a claim because another process is playing.
type HeldError struct{ By Player }

func (e *HeldError) Error() string {
	return fmt.Sprintf("another arena is already playing on this log: %s on %s", e.By.Holder, e.By.Host)
}

// Claim makes holder the player. If another process is playing, Claim fails with
// *HeldError unless ranOut is true. The caller sets ranOut after it has seen no
// renewal for the length of the lease, measured by its own clock. A holder may claim
// its own lease again at any time, for example after a restart.
func (p Player) Claim(holder, host string, ranOut bool) ([]Event, error) {
	if p.Playing && p.Holder != holder && !ranOut {
		return nil, &HeldError{By: p}
	}
	return []Event{PlayerClaimed{Holder: holder, Generation: p.Generation + 1, Host: host}}, nil
}

// ErrNotSeating means that a later claim has replaced the caller's claim.
var ErrNotSeating = errors.New("the lease was taken over")

// Renew extends the lease of a claim. It fails with ErrNotSeating if a later claim
// has replaced that claim.
func (p Player) Renew(holder string, generation uint64) ([]Event, error) {
	if !p.is(holder, generation) {
		return nil, ErrNotSeating
	}
	return []Event{PlayerRenewed{Holder: p.Holder, Generation: p.Generation, Host: p.Host}}, nil
}

// Release ends the lease of a claim. It returns no event if a later claim has
// replaced that claim.
func (p Player) Release(holder string, generation uint64) ([]Event, error) {
	if !p.is(holder, generation) {
		return nil, nil
	}
	return []Event{PlayerReleased{Holder: p.Holder, Generation: p.Generation, Host: p.Host}}, nil
}

func (p Player) is(holder string, generation uint64) bool {
	return p.Playing && p.Holder == holder && p.Generation == generation
}
