package leaderboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/seats"
)

// Apply implements projections.Model.
func (l *Leaderboard) Apply(tx *projections.Tx, r eventstore.Recorded) error {
	meta, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	if mode, ok := ladder.ModeOf(string(r.Stream)); ok {
		e, err := ladder.Decode(r.Type, r.Data)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.applyLadder(tx, mode, e, meta.At)
	}
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applyMatch(tx, strings.TrimPrefix(string(r.Stream), match.StreamPrefix), e, meta)
}

func (l *Leaderboard) applyMatch(tx *projections.Tx, id string, e match.Event, meta eventstore.Metadata) error {
	if e, ok := e.(match.Started); ok {
		return l.start(tx, id, e)
	}
	p := l.playing[id]
	if p == nil {
		return fmt.Errorf("match %s never started", id)
	}
	if err := seats.Fold(p.played, e, meta.UsedMs); err != nil {
		return fmt.Errorf("match %s: %w", id, err)
	}
	switch e.(type) {
	case match.GameEnded, match.Aborted:
		p.ended, p.facts = meta.At, facts{meta.Turns, meta.OpeningPips}
	}
	p.dirty = true
	return nil
}

func (l *Leaderboard) start(tx *projections.Tx, id string, e match.Started) error {
	p := &playing{dirty: true, played: seats.Begin(e)}
	for _, s := range e.Seats {
		p.seats = append(p.seats, s.BotID)
		if _, known := l.bots[s.BotID]; known {
			continue
		}
		b := bot{id: int64(len(l.bots) + 1), mode: e.Mode}
		if err := tx.Exec("INSERT INTO bots (id, bot, mode) VALUES (?, ?, ?)", b.id, s.BotID, b.mode); err != nil {
			return err
		}
		l.bots[s.BotID] = b
	}
	l.playing[id] = p
	return nil
}

func (l *Leaderboard) applyLadder(tx *projections.Tx, mode string, e ladder.Event, at time.Time) error {
	switch e := e.(type) {
	case ladder.RatingsChanged:
		return l.rate(tx, mode, e, at)
	case ladder.MatchVoided:
		return l.void(tx, mode, e, at)
	}
	return nil
}

// rate completes a match. It takes the seats from the match's MatchStarted
// event.
func (l *Leaderboard) rate(tx *projections.Tx, mode string, e ladder.RatingsChanged, at time.Time) error {
	p := l.playing[e.MatchID]
	if p == nil {
		return fmt.Errorf("match %s is rated, but never started", e.MatchID)
	}
	for _, s := range e.Seats {
		if !slices.Contains(p.seats, s.BotID) {
			return fmt.Errorf("match %s: bot %s is rated, but did not play", e.MatchID, s.BotID)
		}
	}
	if err := l.close(tx, mode, e.MatchID, nil, at); err != nil {
		return err
	}
	if p.Turns > 0 {
		l.count(resultKey{mode, len(p.seats), byLength, lengthOf(p.Turns), 0})
	}
	for _, s := range e.Seats {
		b := l.bots[s.BotID]
		b.standing = standing{s.After, b.games + 1}
		l.bots[s.BotID] = b
		seat := slices.Index(p.seats, s.BotID)
		p.played[seat].Rate(s)
		l.countSeat(mode, p, seat, s.Placement)
		err := l.store(tx, b.id, seat, p, s.Placement, b.rating.Mu, b.rating.Sigma, b.games)
		if err != nil {
			return err
		}
	}
	return nil
}

// The method void() closes a match without ratings. It ignores a match that never
// started, because the leaderboard does not know its players.
func (l *Leaderboard) void(tx *projections.Tx, mode string, e ladder.MatchVoided, at time.Time) error {
	p := l.playing[e.MatchID]
	if p == nil {
		return nil
	}
	if err := l.close(tx, mode, e.MatchID, e.Why, at); err != nil {
		return err
	}
	for seat, botID := range p.seats {
		err := l.store(tx, l.bots[botID].id, seat, p, nil, nil, nil, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// store stores a seat of the latest closed match. The last four parameters are nil
// if the match was aborted.
func (l *Leaderboard) store(tx *projections.Tx, bot int64, seat int, p *playing, placement, mu, sigma, games any) error {
	var opening any
	if seat < len(p.Openings) {
		opening = p.Openings[seat]
	}
	s := p.played[seat]
	return tx.Exec("INSERT INTO seats (bot, match, seat, placement, mu, sigma, games, strikes, resigned, missed, used, before, version, opening) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		bot, l.matches, seat, placement, mu, sigma, games, s.Strikes, s.Resigned, s.Missed, s.TimeUsedMs, s.RatingBefore, s.Version, opening)
}

// The method close() stores a started match as the latest closed match. The parameter
// reason is nil unless the match was aborted.
func (l *Leaderboard) close(tx *projections.Tx, mode, id string, reason any, at time.Time) error {
	p := l.playing[id]
	delete(l.playing, id)
	if p.stored {
		if err := tx.Exec("DELETE FROM playing WHERE match = ?", id); err != nil {
			return err
		}
	}
	ended := p.ended
	if ended.IsZero() {
		ended = at
	}
	if at.After(l.closed[mode]) {
		l.closed[mode] = at
	}
	var turns any
	if p.Turns > 0 {
		turns = p.Turns
	}
	l.matches++
	return tx.Exec("INSERT INTO matches (id, match, mode, closed, ended, reason, turns) VALUES (?, ?, ?, ?, ?, ?, ?)",
		l.matches, id, mode, l.closed[mode].UnixMilli(), ended.UnixMilli(), reason, turns)
}

// Flush implements projections.Model. It writes the matches that are still being played
// to the table playing. A match that starts and ends within one batch never gets a row in
// this table. It also writes the results.
func (l *Leaderboard) Flush(tx *projections.Tx) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, p := range l.playing {
		if !p.dirty {
			continue
		}
		bots, err := json.Marshal(p.seats)
		if err != nil {
			return err
		}
		played, err := json.Marshal(p.played)
		if err != nil {
			return err
		}
		known, err := json.Marshal(p.facts)
		if err != nil {
			return err
		}
		var ended any
		if !p.ended.IsZero() {
			ended = p.ended.UnixMilli()
		}
		if err := tx.Exec("INSERT OR REPLACE INTO playing (match, seats, ended, played, facts) VALUES (?, ?, ?, ?, ?)", id, string(bots), ended, string(played), string(known)); err != nil {
			return err
		}
		p.dirty, p.stored = false, true
	}
	return l.storeResults(tx)
}
