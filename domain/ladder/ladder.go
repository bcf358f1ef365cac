// Package ladder implements the state and the rules of one mode's ladder: the tables
// that were seated, the unfinished matches, and the rating of every bot. The ladder's
// stream is ladder-<mode>. Writers append at exact revisions, so a bot is never in
// two matches at the same time, and each match is rated only once. The package knows
// nothing about play, owners or the clock. Callers tell it which bots are active, how
// a match ended and what time it is.
package ladder

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
)

// The modes (docs/rules.md). Each has its own ladder.
const (
	Standard = "standard"
	Parley   = "parley"
)

// Modes lists every mode. Read models store the index of a mode in this list,
// so add a new mode at the end. Callers must not change it.
var Modes = []string{Standard, Parley}

// IsMode reports whether mode is one of Modes.
func IsMode(mode string) bool { return slices.Contains(Modes, mode) }

// Clocks returns the time limit for one decision in a mode, and the playing time after
// which a match is aborted (docs/rules.md, "The clocks"). An arena may have other limits.
func Clocks(mode string) (decision, wall time.Duration) {
	if mode == Parley {
		return time.Minute, 3 * time.Hour
	}
	return 5 * time.Second, 10 * time.Minute
}

// StreamPrefix begins the name of every ladder's stream.
const StreamPrefix = "ladder-"

// Stream names the stream of a mode's ladder.
func Stream(mode string) string { return StreamPrefix + mode }

// ModeOf returns the mode of a ladder's stream. ok is false for other streams.
func ModeOf(stream string) (mode string, ok bool) {
	mode, ok = strings.CutPrefix(stream, StreamPrefix)
	return mode, ok && mode != ""
}

// Ladder is the state of one ladder. A value that New returns can start any number of
// folds. After the first event, all copies of a value share its maps. They are safe
// for concurrent reads, but not during a call to Evolve.
type Ladder struct {
	mode    string
	version uint64 // events folded
	bots    map[string]*Bot
	open    map[string]match // unfinished matches, by match id
	closed  *recent
}

// New returns a mode's ladder before its first event.
func New(mode string) Ladder { return Ladder{mode: mode} }

// Bot is the ladder's state of one bot. Snapshots store this shape.
type Bot struct {
	Rating rating.Rating `json:"rating"`
	Games  int           `json:"games,omitempty"` // completed matches; only these are rated
	Match  string        `json:"match,omitempty"` // its unfinished match, or empty
	Ended  time.Time     `json:"ended,omitzero"`  // end of its latest match, completed or aborted, which is when its rest begins

	Misses      int         `json:"misses,omitempty"`     // consecutive missed matches, up to the latest rated match
	MissedSince time.Time   `json:"missedSince,omitzero"` // when the first of these matches ended
	MissedAt    []time.Time `json:"missed,omitempty"`     // when these matches ended; only the latest keptMisses
}

// match is an unfinished match as it was seated. Snapshots store this shape.
type match struct {
	Bots       []string  `json:"bots"` // in ladder order
	Revision   uint64    `json:"revision"`
	Index      int       `json:"index"`
	SeedKey    string    `json:"seedKey"`
	Commitment seed.Seed `json:"commitment"`
	Seated     time.Time `json:"seated"`

	Beacon *beacon.Named `json:"beacon,omitempty"`
}

// Seating is an unfinished match with everything that is needed to start it.
type Seating struct {
	MatchID    string
	Mode       string
	Bots       []Entrant // in ladder order
	Revision   uint64    // the revision of its TablesSeated
	Index      int       // the index of its table in that event
	SeedKey    string    // id of the seed key
	Commitment seed.Seed
	SeatedAt   time.Time
	Beacon     *beacon.Named // the round that the seed uses; nil without a beacon
}

// Entrant is a bot at a table, with its rating when the table was seated.
type Entrant struct {
	BotID string
	rating.Rating
}

// Mode returns the ladder's mode.
func (l Ladder) Mode() string { return l.mode }

// Version returns the number of folded events, which is the revision of the next
// event.
func (l Ladder) Version() uint64 { return l.version }

// Bots returns how many bots have ever been seated.
func (l Ladder) Bots() int { return len(l.bots) }

// Bot returns the state of a bot. A bot that was never seated has the initial
// rating.
func (l Ladder) Bot(id string) Bot {
	if b := l.bots[id]; b != nil {
		return *b
	}
	return Bot{Rating: rating.New()}
}

// Seating returns the unfinished match with the given id. ok is false if there
// is no such match.
func (l Ladder) Seating(matchID string) (s Seating, ok bool) {
	m, ok := l.open[matchID]
	if !ok {
		return Seating{}, false
	}
	return l.seating(matchID, m), true
}

// Unfinished lists the unfinished matches in the order of their seating.
func (l Ladder) Unfinished() []Seating {
	all := make([]Seating, 0, len(l.open))
	for id, m := range l.open {
		all = append(all, l.seating(id, m))
	}
	slices.SortFunc(all, func(a, b Seating) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Index, b.Index))
	})
	return all
}

// seating reads the current ratings. They have not changed since the table was
// seated, because no other match can change them while this one is unfinished.
func (l Ladder) seating(id string, m match) Seating {
	s := Seating{
		MatchID: id, Mode: l.mode, Bots: make([]Entrant, 0, len(m.Bots)),
		Revision: m.Revision, Index: m.Index,
		SeedKey: m.SeedKey, Commitment: m.Commitment, SeatedAt: m.Seated, Beacon: m.Beacon,
	}
	for _, bot := range m.Bots {
		s.Bots = append(s.Bots, Entrant{BotID: bot, Rating: l.Bot(bot).Rating})
	}
	return s
}
