package arena

import (
	"cmp"
	"slices"
	"time"

	"hexarena/domain/event"
)

// AssignmentsStream says which member plays which match. The stream keeps only its last
// event ($maxCount 1), so each event contains the whole state.
const AssignmentsStream = "arena-assignments"

// MatchesAssigned divides the unfinished matches among the members.
type MatchesAssigned struct {
	Generation uint64  `json:"generation"` // the lease under which it was decided
	Shares     []Share `json:"shares"`     // sorted by member
}

// Share lists the matches of one member.
type Share struct {
	Member  string   `json:"member"`
	Matches []string `json:"matches"` // in the order of their seating
}

// EventType implements Event.
func (MatchesAssigned) EventType() string { return "MatchesAssigned" }

// DecodeAssignments reads a stored event of arena-assignments. An unknown type is an
// error.
func DecodeAssignments(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "MatchesAssigned":
		return event.Decode[MatchesAssigned](data)
	default:
		return nil, event.UnknownType(eventType, AssignmentsStream)
	}
}

// Assignments says which member plays which match. It may still contain matches that
// have ended. The zero value contains no match.
type Assignments struct {
	Generation uint64
	members    map[string]string // by match; never changed, because copies share it
}

// EvolveAssignments returns a after e. It never rejects an event.
func EvolveAssignments(a Assignments, e Event, _ time.Time) Assignments {
	assigned, ok := e.(MatchesAssigned)
	if !ok {
		return a
	}
	members := map[string]string{}
	for _, share := range assigned.Shares {
		for _, match := range share.Matches {
			members[match] = share.Member
		}
	}
	return Assignments{assigned.Generation, members}
}

// MemberOf returns the member that plays a match, or an empty string if the match is
// not assigned.
func (a Assignments) MemberOf(match string) string { return a.members[match] }

// Matches returns the matches of a member, in no particular order.
func (a Assignments) Matches(member string) (ids []string) {
	for match, of := range a.members {
		if of == member {
			ids = append(ids, match)
		}
	}
	return ids
}

// Members returns the ids of all members that have matches, sorted.
func (a Assignments) Members() (ids []string) {
	for _, id := range a.members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Unfinished is a match that a member must play.
type Unfinished struct {
	ID      string
	SeedKey string // id of the seed key that the match needs
}

// Assign divides the unfinished matches among the members that are alive. It returns an
// event only if a match gets another member.
//
//   - A match stays with its member while that member is alive and has the match's seed
//     key.
//   - Each other match goes to the member with the most free capacity that has the
//     match's seed key. If several have the same free capacity, the match goes to the
//     one with the lowest id. If all are full, the match goes to the one that exceeds
//     its capacity the least.
//   - If no member that is alive has the key, nothing changes for that match.
//
// generation is the lease of the caller. If an assignment of a later lease is stored,
// Assign fails with ErrNotSeating.
func (a Assignments) Assign(generation uint64, alive []MemberSeen, unfinished []Unfinished) ([]Event, error) {
	if a.Generation > generation {
		return nil, ErrNotSeating
	}
	free := a.free(alive, unfinished)
	shares := map[string][]string{}
	changed := false
	for _, m := range unfinished {
		to := a.members[m.ID]
		if !mayPlay(alive, to, m.SeedKey) {
			if next := roomiest(alive, free, m.SeedKey); next != "" {
				to, changed = next, true
				free[to]--
			}
		}
		if to != "" {
			shares[to] = append(shares[to], m.ID)
		}
	}
	if !changed {
		return nil, nil
	}
	e := MatchesAssigned{Generation: generation}
	for member, matches := range shares {
		e.Shares = append(e.Shares, Share{member, matches})
	}
	slices.SortFunc(e.Shares, func(a, b Share) int { return cmp.Compare(a.Member, b.Member) })
	return []Event{e}, nil
}

// Free returns how many more matches with a certain seed key the members that are alive
// can take.
func (a Assignments) Free(alive []MemberSeen, unfinished []Unfinished, seedKey string) (n int) {
	free := a.free(alive, unfinished)
	for _, m := range alive {
		if slices.Contains(m.SeedKeys, seedKey) {
			n += max(0, free[m.Member])
		}
	}
	return n
}

// The method free() returns the free capacity of each member that is alive. It is
// negative for a member that has more matches than its capacity.
func (a Assignments) free(alive []MemberSeen, unfinished []Unfinished) map[string]int {
	free := map[string]int{}
	for _, m := range alive {
		free[m.Member] = m.MaxMatches
	}
	for _, m := range unfinished {
		if member := a.members[m.ID]; member != "" {
			if _, ok := free[member]; ok {
				free[member]--
			}
		}
	}
	return free
}

// mayPlay reports whether a member is alive and has a seed key.
func mayPlay(alive []MemberSeen, member, seedKey string) bool {
	return slices.ContainsFunc(alive, func(m MemberSeen) bool {
		return m.Member == member && slices.Contains(m.SeedKeys, seedKey)
	})
}

// roomiest returns the member with the most free capacity that has a seed key, or an
// empty string.
func roomiest(alive []MemberSeen, free map[string]int, seedKey string) (best string) {
	for _, m := range alive {
		if !slices.Contains(m.SeedKeys, seedKey) {
			continue
		}
		if best == "" || free[m.Member] > free[best] || free[m.Member] == free[best] && m.Member < best {
			best = m.Member
		}
	}
	return best
}
