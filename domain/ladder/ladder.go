// Package ladder is one mode's ladder, the stream ladder-<mode>: who is seated
// with whom, which matches are unfinished, and what every bot is rated. That a
// bot is in one match at a time and that each match is rated once are decided
// here, on this stream alone, by appends at exact revisions. It knows no play,
// no owner and no clock: which bots are active, how a match ended and what
// time it is come from its callers.
package ladder

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hexarena/domain/rating"
	"hexarena/domain/seed"
)

// The modes (docs/rules.md). Each has its own ladder.
const (
	Standard = "standard"
	Parley   = "parley"
)

// Modes lists every mode. Stored tables index this list, so a new mode goes to
// the end. Callers must not change it.
var Modes = []string{Standard, Parley}

// IsMode reports whether mode is one of Modes.
func IsMode(mode string) bool { return slices.Contains(Modes, mode) }

// StreamPrefix begins the name of every ladder's stream.
const StreamPrefix = "ladder-"

// Stream names the stream of a mode's ladder.
func Stream(mode string) string { return StreamPrefix + mode }

// ModeOf is the mode whose ladder a stream is, if it is one.
func ModeOf(stream string) (mode string, ok bool) {
	mode, ok = strings.CutPrefix(stream, StreamPrefix)
	return mode, ok && mode != ""
}

// Ladder is the state of one ladder. Its zero, made by New, holds no map, so
// that many folds may begin from one zero; after that, copies share what they
// hold. Reading is safe for many at once, but not beside an Evolve.
type Ladder struct {
	mode    string
	version uint64 // events folded
	bots    map[string]Bot
	open    map[string]match // unfinished, by match id
	closed  recent
}

// New is a mode's ladder before its first event.
func New(mode string) Ladder { return Ladder{mode: mode} }

// Bot is what the ladder knows of one bot.
type Bot struct {
	Rating rating.Rating
	Games  int       // completed, that is rated, matches
	Match  string    // the unfinished match that it is in, or empty
	Ended  time.Time // end of its latest match, aborted ones too: rest runs from here

	Misses      int       // consecutive matches missed, up to the latest that was rated
	MissedSince time.Time // end of the first of them

	missed []time.Time // ends of the latest of them, keptMisses at most
}

// match is an unfinished match: what it was seated as.
type match struct {
	bots       []string // in ladder order
	revision   uint64
	index      int
	seedKey    string
	commitment seed.Seed
	seated     time.Time
}

// Seating is an unfinished match with all that it takes to start it.
type Seating struct {
	MatchID    string
	Mode       string
	Bots       []Entrant // in ladder order
	Revision   uint64    // of its TablesSeated
	Index      int       // of its table there
	SeedKey    string    // id of the seed key
	Commitment seed.Seed
	SeatedAt   time.Time
}

// Entrant is a bot of a table, rated as it was when it was seated.
type Entrant struct {
	BotID string
	rating.Rating
}

// Mode is the ladder's mode.
func (l Ladder) Mode() string { return l.mode }

// Version is how many events were folded: one more than the revision of the
// last, and the revision of the next.
func (l Ladder) Version() uint64 { return l.version }

// Bot is what is known of a bot; of one that was never seated, a new rating.
func (l Ladder) Bot(id string) Bot {
	if b, ok := l.bots[id]; ok {
		return b
	}
	return Bot{Rating: rating.New()}
}

// Seating is the unfinished match of an id, if it is one.
func (l Ladder) Seating(matchID string) (Seating, bool) {
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

// seating reads the ratings of today: they are those of the seating, since no
// other match can have changed them meanwhile.
func (l Ladder) seating(id string, m match) Seating {
	s := Seating{
		MatchID: id, Mode: l.mode,
		Revision: m.revision, Index: m.index,
		SeedKey: m.seedKey, Commitment: m.commitment, SeatedAt: m.seated,
	}
	for _, bot := range m.bots {
		s.Bots = append(s.Bots, Entrant{BotID: bot, Rating: l.Bot(bot).Rating})
	}
	return s
}
