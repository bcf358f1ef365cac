package arena

import (
	"errors"
	"fmt"
	"time"
)

// The stream arena-player keeps its last event alone ($maxCount 1), so each
// event says everything that a fold of it must know.

// PlayerClaimed says that a process began to play: it seats tables and referees
// matches.
type PlayerClaimed struct {
	Holder     string `json:"holder"`     // the id of its data folder
	Generation uint64 `json:"generation"` // counts the claims, from 1
	Host       string `json:"host"`       // for people
}

// PlayerRenewed says that the player is alive.
type PlayerRenewed struct {
	Holder     string `json:"holder"`
	Generation uint64 `json:"generation"`
	Host       string `json:"host"`
}

// PlayerReleased says that the player stopped by itself.
type PlayerReleased struct {
	Holder     string `json:"holder"`
	Generation uint64 `json:"generation"`
	Host       string `json:"host"`
}

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
		return decode[PlayerClaimed](data)
	case "PlayerRenewed":
		return decode[PlayerRenewed](data)
	case "PlayerReleased":
		return decode[PlayerReleased](data)
	default:
		return nil, unknownType(eventType, PlayerStream)
	}
}

// Player is who plays on a log. The zero value is nobody, ever.
type Player struct {
	Holder     string
	Generation uint64
	Host       string
	Playing    bool
	At         time.Time // of the last event, by the holder's clock: for people only
}

// EvolvePlayer returns p as it is after e. It never rejects.
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

// HeldError refuses a second player.
type HeldError struct{ By Player }

func (e *HeldError) Error() string {
	return fmt.Sprintf("another arena plays on this log: %s on %s", e.By.Holder, e.By.Host)
}

// Claim makes holder the player. While another plays it fails with *HeldError,
// unless that lease has run out: ranOut says that the caller has seen no
// renewal for the lease's length of its own clock. A holder's own lease is its
// to take back at any time.
func (p Player) Claim(holder, host string, ranOut bool) ([]Event, error) {
	if p.Playing && p.Holder != holder && !ranOut {
		return nil, &HeldError{By: p}
	}
	return []Event{PlayerClaimed{Holder: holder, Generation: p.Generation + 1, Host: host}}, nil
}

// ErrNotPlaying says that the lease is no longer that of the claim at hand.
var ErrNotPlaying = errors.New("the lease was taken over")

// Renew keeps the lease of a claim alive. It fails with ErrNotPlaying once
// that claim is not the last.
func (p Player) Renew(holder string, generation uint64) ([]Event, error) {
	if !p.is(holder, generation) {
		return nil, ErrNotPlaying
	}
	return []Event{PlayerRenewed{Holder: p.Holder, Generation: p.Generation, Host: p.Host}}, nil
}

// Release ends the lease of a claim. Where that claim is not the last there is
// nothing to release.
func (p Player) Release(holder string, generation uint64) ([]Event, error) {
	if !p.is(holder, generation) {
		return nil, nil
	}
	return []Event{PlayerReleased{Holder: p.Holder, Generation: p.Generation, Host: p.Host}}, nil
}

func (p Player) is(holder string, generation uint64) bool {
	return p.Playing && p.Holder == holder && p.Generation == generation
}
