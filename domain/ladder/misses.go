package ladder

import (
	"slices"
	"time"
)

// The effects of misses (docs/rules.md).
const (
	manyMisses   = 10                 // the rest gets longer after this many misses in a row
	missedRest   = 3 * time.Hour      // the longer rest
	missedTooOld = 7 * 24 * time.Hour // the arena pauses a bot whose streak of misses is this old
)

// keptMisses is how many misses of each streak a ladder remembers. That is enough:
// the arena pauses a bot after a week of misses, and no bot can miss even 70 matches
// in a week.
const keptMisses = 128

// Streak describes a bot's misses in a row.
type Streak struct {
	Misses int
	Since  time.Time // end of the first missed match; zero if the bot missed no match
}

// The method played() updates b's streak after a rated match. A voided match neither
// extends nor ends a streak.
func (b *Bot) played(missed bool, at time.Time) {
	if !missed {
		b.Misses, b.MissedSince, b.MissedAt = 0, time.Time{}, nil
		return
	}
	if b.Misses == 0 {
		b.MissedSince = at
	}
	b.Misses++
	b.MissedAt = append(slices.Clone(b.MissedAt), at) // cloned, because a State may share the old list
	if n := len(b.MissedAt) - keptMisses; n > 0 {
		b.MissedAt = b.MissedAt[n:]
	}
}

// Streak returns b's consecutive misses since the bot's latest change of
// status. A match counts only if it was rated after the change.
func (b Bot) Streak(statusChanged time.Time) Streak {
	switch {
	case b.Misses == 0:
		return Streak{}
	case statusChanged.Before(b.MissedSince):
		return Streak{Misses: b.Misses, Since: b.MissedSince}
	}
	first := slices.IndexFunc(b.MissedAt, statusChanged.Before)
	if first < 0 {
		return Streak{}
	}
	return Streak{Misses: len(b.MissedAt) - first, Since: b.MissedAt[first]}
}

// rest returns how long a bot rests after a match. The parameter usual is the mode's
// normal rest.
func (s Streak) rest(usual time.Duration) time.Duration {
	if s.Misses >= manyMisses {
		return max(usual, missedRest)
	}
	return usual
}

// Absentee is a bot that has missed its matches for a week.
type Absentee struct {
	BotID string
	Since time.Time // end of the first match that it missed
}

// Absentees returns the candidates that the arena should pause because their streak of
// misses is a week old. They are in the order of the parameter candidates. Absentees
// leaves out bots that are in a match, because they may still answer.
func (l Ladder) Absentees(candidates []Candidate, now time.Time) []Absentee {
	var absent []Absentee
	for _, c := range candidates {
		b := l.Bot(c.BotID)
		s := b.Streak(c.StatusChanged)
		if b.Match == "" && s.Misses > 0 && now.Sub(s.Since) >= missedTooOld {
			absent = append(absent, Absentee{BotID: c.BotID, Since: s.Since})
		}
	}
	return absent
}
