package ladder

import "time"

// Evolve returns l after e, which occurred at the given time. It never rejects
// an event, because e already happened. It changes the maps of l in place, so
// afterwards callers must use only the result. A value that New returned has no
// maps and does not change.
func Evolve(l Ladder, e Event, at time.Time) Ladder {
	if l.version == 0 {
		l.bots, l.open, l.closed = map[string]Bot{}, map[string]match{}, &recent{known: map[string]bool{}}
	}
	switch e := e.(type) {
	case TablesSeated:
		l.seated(e, at)
	case RatingsChanged:
		l.rated(e, at)
	case MatchVoided:
		l.closeMatch(e.MatchID, at)
	}
	l.version++
	return l
}

func (l Ladder) seated(e TablesSeated, at time.Time) {
	for index, table := range e.Tables {
		l.open[table.MatchID] = match{
			Bots: table.Bots, Revision: l.version, Index: index,
			SeedKey: e.SeedKey, Commitment: table.Commitment, Seated: at,
		}
		for _, id := range table.Bots {
			b := l.Bot(id)
			b.Match = table.MatchID
			l.bots[id] = b
		}
	}
}

func (l Ladder) rated(e RatingsChanged, at time.Time) {
	l.closeMatch(e.MatchID, at)
	for _, seat := range e.Seats {
		b := l.Bot(seat.BotID)
		b.Rating = seat.After
		b.Games++
		l.bots[seat.BotID] = b.played(seat.Missed, at)
	}
}

// closeMatch frees the bots of a match and begins their rest.
func (l Ladder) closeMatch(id string, at time.Time) {
	m, ok := l.open[id]
	if !ok {
		return
	}
	for _, botID := range m.Bots {
		b := l.Bot(botID)
		if b.Match == id {
			b.Match = ""
		}
		b.Ended = at
		l.bots[botID] = b
	}
	delete(l.open, id)
	l.closed.add(id)
}
