package ladder

import (
	"time"

	"hexarena/domain/rating"
)

// Evolve returns l after e, which occurred at the given time. It never rejects an
// event, because e already happened. It changes the maps of l in place, so callers
// must not use l afterwards. The exception is a value that New returned: it has no
// maps and stays unchanged.
func Evolve(l Ladder, e Event, at time.Time) Ladder {
	if l.version == 0 {
		l.bots, l.open, l.closed = map[string]*Bot{}, map[string]match{}, &recent{known: map[string]bool{}}
	}
	switch e := e.(type) {
	case TablesSeated:
		l.seated(e, at)
	case RatingsChanged:
		l.rated(e, at)
	case MatchVoided:
		l.voided(e, at)
	}
	l.version++
	return l
}

func (l Ladder) seated(e TablesSeated, at time.Time) {
	for index, table := range e.Tables {
		l.open[table.MatchID] = match{
			Bots: table.Bots, Revision: l.version, Index: index,
			SeedKey: e.SeedKey, Commitment: table.Commitment, Seated: at, Beacon: e.Beacon,
		}
		for _, id := range table.Bots {
			l.bot(id).Match = table.MatchID
		}
	}
}

func (l Ladder) rated(e RatingsChanged, at time.Time) {
	for _, seat := range e.Seats {
		b := l.bot(seat.BotID)
		b.leave(e.MatchID, at)
		b.Rating = seat.After
		b.Games++
		b.played(seat.Missed, at)
	}
	l.closeMatch(e.MatchID)
}

func (l Ladder) voided(e MatchVoided, at time.Time) {
	for _, id := range l.open[e.MatchID].Bots {
		b := l.bot(id)
		if e.Why == WhyBeacon && b.Match == e.MatchID {
			b.Match = "" // no rest, because the match never started
			continue
		}
		b.leave(e.MatchID, at)
	}
	l.closeMatch(e.MatchID)
}

// The method bot() returns a pointer to the ladder's state of a bot. If the bot has no
// state yet, the method adds one.
func (l Ladder) bot(id string) *Bot {
	b := l.bots[id]
	if b == nil {
		b = &Bot{Rating: rating.New()}
		l.bots[id] = b
	}
	return b
}

// The method leave() removes b from a match and begins b's rest.
func (b *Bot) leave(match string, at time.Time) {
	if b.Match == match {
		b.Match = ""
	}
	b.Ended = at
}

func (l Ladder) closeMatch(id string) {
	if _, ok := l.open[id]; ok {
		delete(l.open, id)
		l.closed.add(id)
	}
}
