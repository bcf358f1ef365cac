package arena

import (
	"time"

	"hexarena/domain/event"
)

// MemberPrefix begins the name of each member's stream. A member is a process that
// plays matches. Its stream keeps only its last event ($maxCount 1), so each event
// contains the whole state.
const MemberPrefix = "arena-member-"

// MemberStream names the stream of the member with this id.
func MemberStream(id string) string { return MemberPrefix + id }

// MemberSeen is a heartbeat of a member.
type MemberSeen struct {
	Member     string   `json:"member"`     // the id of the process's data folder
	Start      string   `json:"start"`      // the id of this start of the process
	Host       string   `json:"host"`       // for display only
	MaxMatches int      `json:"maxMatches"` // how many matches it takes
	Running    int      `json:"running"`    // how many matches it is playing
	SeedKeys   []string `json:"seedKeys"`   // ids of the unpublished seed keys that it has
}

// MemberLeft records that a member has stopped its matches and shuts down.
type MemberLeft struct {
	Member string `json:"member"`
	Start  string `json:"start"`
}

// EventType implements Event.
func (MemberSeen) EventType() string { return "MemberSeen" }

// EventType implements Event.
func (MemberLeft) EventType() string { return "MemberLeft" }

// DecodeMember reads a stored event of a member's stream. An unknown type is an error.
func DecodeMember(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "MemberSeen":
		return event.Decode[MemberSeen](data)
	case "MemberLeft":
		return event.Decode[MemberLeft](data)
	default:
		return nil, event.UnknownType(eventType, MemberPrefix)
	}
}

// Member is the state of one member, as its last event shows it. The zero value means
// that no process has used the stream.
type Member struct {
	MemberSeen
	Left bool
	At   time.Time // the time of the last event, by the member's clock; for display only
}

// EvolveMember returns m after e. It never rejects an event.
func EvolveMember(m Member, e Event, at time.Time) Member {
	switch e := e.(type) {
	case MemberSeen:
		return Member{MemberSeen: e, At: at}
	case MemberLeft:
		return Member{MemberSeen: MemberSeen{Member: e.Member, Start: e.Start}, Left: true, At: at}
	}
	return m
}
