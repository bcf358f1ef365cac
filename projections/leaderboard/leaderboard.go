// Package leaderboard is the read model of what rated matches did: for each
// mode the ranking, as it is and as it was at any time, and for each bot the
// curve of its rating, its placements by seat, and how it did against others.
// Names and owners are the directory's.
package leaderboard

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/projections"
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

// Leaderboard is the model; follow it through a projections.Runner. Rankings of
// today are answered from memory, all else from rows.
type Leaderboard struct {
	rows *sql.DB

	mu      sync.RWMutex // guards what follows, which Apply alone changes
	bots    map[string]bot
	closed  map[string]time.Time // when the ladder of a mode last closed a match
	matches int64                // closed ones, which is the id of the latest
	playing map[string]*playing

	past past
}

// bot is one that has begun a match at least.
type bot struct {
	id   int64 // in the rows
	mode string
	standing
}

type standing struct {
	rating rating.Rating
	games  int
}

// playing is a match that has started and that its ladder has not closed.
type playing struct {
	seats  []string  // ids of the bots
	ended  time.Time // by its own stream
	stored bool      // there is a row
	dirty  bool      // which is to be written
}

// New returns an empty leaderboard.
func New() *Leaderboard { return &Leaderboard{} }

// Name implements projections.Model.
func (l *Leaderboard) Name() string { return "leaderboard" }

// Schema implements projections.Model. Matches are numbered as their ladders
// closed them, and a match's closed never falls within its mode, whatever the
// writers' clocks did: so a time is a number. Times are unix milliseconds. A
// seat's placement, mu, sigma and games (played by then) are null where the
// match was aborted.
func (l *Leaderboard) Schema() projections.Schema {
	return projections.Schema{Version: 1, Tables: `
		CREATE TABLE bots (id INTEGER PRIMARY KEY, bot TEXT NOT NULL, mode TEXT NOT NULL) STRICT;
		CREATE TABLE matches (
			id INTEGER PRIMARY KEY, match TEXT NOT NULL, mode TEXT NOT NULL, closed INTEGER NOT NULL, ended INTEGER NOT NULL
		) STRICT;
		CREATE INDEX matches_by_time ON matches (mode, closed);
		CREATE TABLE seats (
			bot INTEGER NOT NULL, match INTEGER NOT NULL, seat INTEGER NOT NULL,
			placement INTEGER, mu REAL, sigma REAL, games INTEGER, PRIMARY KEY (bot, match)
		) STRICT, WITHOUT ROWID;
		CREATE INDEX seats_by_match ON seats (match, placement);
		CREATE TABLE playing (match TEXT PRIMARY KEY, seats TEXT NOT NULL, ended INTEGER) STRICT, WITHOUT ROWID;
	`}
}

// Filter implements projections.Model.
func (l *Leaderboard) Filter() eventstore.Filter {
	return eventstore.Filter{
		StreamPrefixes: []string{ladder.StreamPrefix, match.StreamPrefix},
		Types: []string{
			match.Started{}.EventType(), match.GameEnded{}.EventType(), match.Aborted{}.EventType(),
			ladder.RatingsChanged{}.EventType(), ladder.MatchVoided{}.EventType(),
		},
	}
}

// Load implements projections.Model.
func (l *Leaderboard) Load(rows *sql.DB) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = rows
	l.past.forget()
	l.bots, l.closed, l.matches, l.playing = map[string]bot{}, map[string]time.Time{}, 0, map[string]*playing{}
	err := projections.Each(rows, func(scan projections.Scan) error {
		var b bot
		var id string
		var mu, sigma sql.Null[float64]
		var games sql.Null[int]
		err := scan(&id, &b.id, &b.mode, &mu, &sigma, &games)
		b.standing = standing{rating.Rating{Mu: mu.V, Sigma: sigma.V}, games.V}
		l.bots[id] = b
		return err
	}, `SELECT b.bot, b.id, b.mode, s.mu, s.sigma, s.games FROM bots b LEFT JOIN seats s ON s.bot = b.id AND s.match = (
		SELECT max(match) FROM seats WHERE bot = b.id AND placement IS NOT NULL)`)
	if err != nil {
		return err
	}
	err = projections.Each(rows, func(scan projections.Scan) error {
		var mode string
		var closed, last int64
		err := scan(&mode, &closed, &last)
		l.closed[mode], l.matches = time.UnixMilli(closed), max(l.matches, last)
		return err
	}, "SELECT mode, max(closed), max(id) FROM matches GROUP BY mode")
	if err != nil {
		return err
	}
	return projections.Each(rows, func(scan projections.Scan) error {
		var id string
		var seats []byte
		var ended sql.Null[int64]
		if err := scan(&id, &seats, &ended); err != nil {
			return err
		}
		p := &playing{stored: true}
		if ended.Valid {
			p.ended = time.UnixMilli(ended.V)
		}
		l.playing[id] = p
		return json.Unmarshal(seats, &p.seats)
	}, "SELECT match, seats, ended FROM playing")
}

// Names says what a bot is called and whose it is; ok is false for one that
// has been removed.
type Names func(botID string) (name, owner string, ok bool)

// Rows returns a mode's ranking as it is: every bot with a completed match.
func (l *Leaderboard) Rows(mode string, names Names) []Row { return rank(l.standings(mode), names) }

// standings are those of the bots of a mode that have completed a match.
func (l *Leaderboard) standings(mode string) map[string]standing {
	standings := map[string]standing{}
	l.mu.RLock()
	defer l.mu.RUnlock()
	for id, b := range l.bots {
		if b.mode == mode && b.games > 0 {
			standings[id] = b.standing
		}
	}
	return standings
}

// rank orders by displayed rating, then games played, then name, then id
// (docs/rules.md, "Leaderboard").
func rank(standings map[string]standing, names Names) []Row {
	rows := make([]Row, 0, len(standings))
	for id, s := range standings {
		if name, owner, ok := names(id); ok {
			rows = append(rows, Row{BotID: id, Name: name, Owner: owner, Rating: s.rating.Displayed(), GamesPlayed: s.games})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		if by := cmp.Compare(b.Rating, a.Rating); by != 0 {
			return by // few ratings tie: names are rarely compared
		}
		return cmp.Or(cmp.Compare(b.GamesPlayed, a.GamesPlayed), cmp.Compare(a.Name, b.Name), cmp.Compare(a.BotID, b.BotID))
	})
	for i := range rows {
		rows[i].Rank = i + 1
	}
	return rows
}
