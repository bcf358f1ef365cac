// Package leaderboard is the read model of the rankings: for each mode every
// bot with a completed match, its rating and how many it played. Names and
// owners are the directory's.
package leaderboard

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/eventstore"
)

// Row is one line of a ranking (specification, LeaderboardRow).
type Row struct {
	Rank        int     `json:"rank"` // position, from 1
	BotID       string  `json:"botId"`
	Name        string  `json:"name"`
	Owner       string  `json:"owner"` // the handle, without @; empty until chosen
	Rating      float64 `json:"rating"`
	GamesPlayed int     `json:"gamesPlayed"`
}

// Leaderboard is the model; Apply it through a projections.Runner.
type Leaderboard struct {
	mu    sync.RWMutex
	modes map[string]map[string]standing
}

type standing struct {
	rating rating.Rating
	games  int
	at     eventstore.Position // of the last match in it
}

// New returns an empty leaderboard.
func New() *Leaderboard { return &Leaderboard{modes: map[string]map[string]standing{}} }

// Name implements projections.Model.
func (l *Leaderboard) Name() string { return "leaderboard" }

// Filter implements projections.Model.
func (l *Leaderboard) Filter() eventstore.Filter {
	return eventstore.Filter{StreamPrefixes: []string{ladder.StreamPrefix}}
}

// Apply implements projections.Model.
func (l *Leaderboard) Apply(r eventstore.Recorded) error {
	mode, ok := ladder.ModeOf(string(r.Stream))
	if !ok {
		return nil
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	changed, ok := e.(ladder.RatingsChanged)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.modes[mode] == nil {
		l.modes[mode] = map[string]standing{}
	}
	for _, s := range changed.Seats {
		if was := l.modes[mode][s.BotID]; was.at < r.Position {
			l.modes[mode][s.BotID] = standing{s.After, was.games + 1, r.Position}
		}
	}
	return nil
}

// Names says what a bot is called and whose it is; ok is false for one that
// has been removed.
type Names func(botID string) (name, owner string, ok bool)

// Rows returns a mode's ranking: by displayed rating, then games played, then
// name, then id (docs/rules.md, "Leaderboard order").
func (l *Leaderboard) Rows(mode string, names Names) []Row {
	l.mu.RLock()
	standings := maps.Clone(l.modes[mode])
	l.mu.RUnlock()
	rows := make([]Row, 0, len(standings))
	for id, s := range standings {
		if name, owner, ok := names(id); ok {
			rows = append(rows, Row{BotID: id, Name: name, Owner: owner, Rating: s.rating.Displayed(), GamesPlayed: s.games})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Rating, a.Rating), cmp.Compare(b.GamesPlayed, a.GamesPlayed), cmp.Compare(a.Name, b.Name), cmp.Compare(a.BotID, b.BotID))
	})
	for i := range rows {
		rows[i].Rank = i + 1
	}
	return rows
}
