package audit

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// The method seat() checks a seating. Every table must have four bots, but the last one
// may have three. No bot may be in another match, and the bots must be in descending
// order of rating. If the event lists its candidates, the method also repeats the
// arena's decision.
func (l *Ladder) seat(e ladder.TablesSeated, at time.Time) *LadderDifference {
	if d := l.tables(e); d != nil {
		return d
	}
	for _, check := range []func(ladder.TablesSeated) *LadderDifference{l.repeat, l.round, l.commitments} {
		if d := check(e); d != nil {
			return d
		}
	}
	l.Totals.Seatings++
	l.warnings(e, at)
	l.Totals.Tables += len(e.Tables)
	if e.Beacon != nil {
		l.Totals.Beacon += len(e.Tables)
	}
	return nil
}

func (l *Ladder) tables(e ladder.TablesSeated) *LadderDifference {
	least, matchOf := math.Inf(1), make(map[string]string, 4*len(e.Tables))
	for i, t := range e.Tables {
		if n := len(t.Bots); n != 4 && (n != 3 || i < len(e.Tables)-1) {
			return differ(t.MatchID, fmt.Sprintf("a table of %d", n), "tables of 4, the last of 3 or 4")
		}
		if id := ladder.MatchID(l.platformKey, l.state.Mode(), l.state.Version(), i); l.platformKey != "" && id != t.MatchID {
			return differ(t.MatchID, "the id "+t.MatchID, "the id "+id)
		}
		same := func(other ladder.Table) bool { return other.MatchID == t.MatchID }
		if _, open := l.state.Seating(t.MatchID); open || l.platformKey == "" && slices.ContainsFunc(e.Tables[:i], same) {
			return differ(t.MatchID, "a match that is seated twice", "one seating")
		}
		for _, bot := range t.Bots {
			b := l.state.Bot(bot)
			if in := cmp.Or(b.Match, matchOf[bot]); in != "" {
				return differ(t.MatchID, fmt.Sprintf("bot %s seated", bot), "a free bot: this one is in match "+in)
			}
			if o := b.Rating.Ordinal(); o > least {
				return differ(t.MatchID, fmt.Sprintf("bot %s after a bot with a lower rating", bot), "bots in descending order of rating")
			}
			least = b.Rating.Ordinal()
			matchOf[bot] = t.MatchID
		}
		if _, watch := l.watched[t.MatchID]; watch {
			l.watched[t.MatchID] = &entry{Seating: seatingOf(e, l.state.Version(), i), status: running}
		}
	}
	return nil
}

// The method repeat() seats the listed candidates again, with the event's tick and
// rest time. The result must be the same tables as in the event. The list of
// candidates must be in ladder order, and must not contain a bot that is resting or
// in a match. Events from older arenas list no candidates.
func (l *Ladder) repeat(e ladder.TablesSeated) *LadderDifference {
	if e.Candidates == nil {
		if l.Totals.Repeated > 0 {
			return differ("", "a seating without candidates", "its candidates: earlier seatings list theirs")
		}
		return nil
	}
	const unused = "unused" // repeat does not compare ids and commitments
	tick := ladder.Tick{
		Now: e.Tick, Rest: time.Duration(e.RestMs) * time.Millisecond,
		PlatformKey: unused, SeedKeyID: unused, SeedKey: []byte(unused), Beacon: e.Beacon,
	}
	again, err := l.state.Seat(e.Candidates, tick)
	if err != nil {
		return differ("", "candidates that cannot be seated: "+err.Error(), "candidates of a tick")
	}
	var want ladder.TablesSeated
	if len(again) > 0 {
		want = again[0].(ladder.TablesSeated)
	}
	if d := l.candidates(e, want, tick); d != nil {
		return d
	}
	if len(again) > 1 {
		return differ("", fmt.Sprintf("%d candidates in one event", len(e.Candidates)), fmt.Sprintf("at most %d tables in one event", ladder.MaxTables))
	}
	for i := range max(len(e.Tables), len(want.Tables)) {
		if got, expected := botsAt(e, i), botsAt(want, i); got != expected {
			return differ(idAt(e, i), fmt.Sprintf("table %d with %s", i, got), expected+", from the listed candidates")
		}
	}
	l.Totals.Repeated++
	if !slices.Contains(l.Totals.Rests, e.RestMs) {
		l.Totals.Rests = append(l.Totals.Rests, e.RestMs)
	}
	return nil
}

// The method candidates() requires that every listed candidate is free and rested. The
// candidates must be in the same order as in the parameter want.
func (l *Ladder) candidates(e, want ladder.TablesSeated, t ladder.Tick) *LadderDifference {
	if e.RestMs < 0 {
		return differ("", fmt.Sprintf("a rest of %d ms", e.RestMs), "a rest of 0 ms or more")
	}
	seen := map[string]bool{}
	for _, c := range e.Candidates {
		listed := "bot " + c.BotID + " among the candidates"
		b := l.state.Bot(c.BotID)
		switch {
		case b.Match != "":
			return differ("", listed, "only free bots: it is in match "+b.Match)
		case seen[c.BotID]:
			return differ("", listed+" twice", "each bot once")
		case !l.state.MaySeat(c, t):
			return differ("", listed, fmt.Sprintf("only rested bots: its last match ended at %s, and the tick is at %s", clock(b.Ended), clock(e.Tick)))
		}
		seen[c.BotID] = true
	}
	for i, c := range want.Candidates {
		if i < len(e.Candidates) && e.Candidates[i].BotID != c.BotID {
			return differ("", fmt.Sprintf("bot %s as candidate %d", e.Candidates[i].BotID, i), "bot "+c.BotID+": candidates are in the order of rating, registration and id")
		}
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format(match.TimeFormat) }

func botsAt(e ladder.TablesSeated, i int) string {
	if i >= len(e.Tables) {
		return "no bots"
	}
	return "the bots " + strings.Join(e.Tables[i].Bots, ", ")
}

func idAt(e ladder.TablesSeated, i int) string {
	if i >= len(e.Tables) {
		return ""
	}
	return e.Tables[i].MatchID
}

// The method round() checks the beacon round that a seating names. The round must
// belong to a trusted chain, and must not have existed at the tick.
func (l *Ladder) round(e ladder.TablesSeated) *LadderDifference {
	if e.Beacon == nil || len(l.Beacons) == 0 {
		return nil
	}
	b, d := trusted(l.Beacons, *e.Beacon)
	if d == nil && b.Period == 0 {
		return nil
	}
	if d == nil {
		d = early(b.Chain, e.Beacon.Round, e.Tick)
	}
	if d != nil {
		return differ("", d.Log, d.Follows)
	}
	l.Totals.Rounds++
	return nil
}

// The method warnings() counts the suspicious properties of a seating that follows the
// rules.
func (l *Ladder) warnings(e ladder.TablesSeated, at time.Time) {
	if e.Tick.Before(l.tick) {
		l.warn(Backdated)
	}
	l.tick = e.Tick
	if e.Beacon == nil {
		if l.Totals.Beacon > 0 {
			l.warn(WithoutBeacon)
		}
		return
	}
	b, d := trusted(l.Beacons, *e.Beacon)
	if len(l.Beacons) > 0 && d == nil && b.Period > 0 && !at.Before(b.Time(e.Beacon.Round)) {
		l.warn(Late)
	}
}

func (l *Ladder) warn(kind string) {
	w := l.Totals.Warnings[kind]
	if w.Count == 0 {
		w.First = l.state.Version()
	}
	w.Count++
	l.Totals.Warnings[kind] = w
}

// The method commitments() recomputes the commitments of tables whose seed key is
// published. A voided match has no record, so this is the only check of its commitment.
func (l *Ladder) commitments(e ladder.TablesSeated) *LadderDifference {
	if l.SeedKeys == nil {
		return nil
	}
	key, known := l.SeedKeys[e.SeedKey]
	switch {
	case !known:
		return differ("", fmt.Sprintf("the seed key %q", e.SeedKey), "a seed key that the arena lists")
	case key.Key == nil:
		return nil
	case sha256.Sum256(key.Key) != key.Hash:
		return differ("", fmt.Sprintf("the seed key %q with the hash %s", e.SeedKey, key.Hash), "the hash "+seed.Seed(sha256.Sum256(key.Key)).String()+" of the published key")
	}
	for _, t := range e.Tables {
		if want := seed.Commitment(seed.Server(key.Key, t.MatchID)); want != t.Commitment {
			return differ(t.MatchID, "the commitment "+t.Commitment.String(), want.String()+", from the published seed key")
		}
	}
	l.Totals.Commitments += len(e.Tables)
	return nil
}
