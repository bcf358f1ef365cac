package matches

import (
	_ "embed" // the schema
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections"
	"hexarena/projections/seats"
)

//go:embed schema.sql
var tables string

// A kind is a number that stands for a mode and a status. It depends on the order
// of ladder.Modes and of statuses, so both orders are part of the schema.
var statuses = []string{Running, Completed, Aborted}

const unlisted = -1

func kindOf(mode, status string) int {
	return slices.Index(ladder.Modes, mode)*len(statuses) + slices.Index(statuses, status)
}

// kindsOf returns the kinds that a selection includes.
func kindsOf(mode, status string) []any {
	var kinds []any
	for _, m := range ladder.Modes {
		for _, s := range statuses {
			if (mode == "" || mode == m) && (status == "" || status == s) {
				kinds = append(kinds, kindOf(m, s))
			}
		}
	}
	return kinds
}

// entry is a seated match. Lists show the match once it has started.
type entry struct {
	Summary
	seq    int64
	played []seats.Seat // hidden until the ladder closes the match
	scores []int        // hidden like played
	turns  int          // hidden like played
	ended  string       // when the match ended according to its own stream; hidden until the ladder closes the match
	kind   int          // the kind of the match's rows in the table listed
	stored bool
}

// find returns a match from the batch or the rows. It returns nil if the match
// was never seated.
func (m *Matches) find(tx *projections.Tx, id string) (*entry, error) {
	if en, ok := m.batch[id]; ok {
		return en, nil
	}
	var players, played, scores []byte
	var started, ended, reason *string
	en := &entry{Summary: Summary{ID: id}, kind: unlisted, stored: true}
	found, err := tx.Find("SELECT seq, mode, status, started, ended, players, reason, seats, scores, turns FROM matches WHERE id = ?", []any{id},
		&en.seq, &en.Mode, &en.Status, &started, &ended, &players, &reason, &played, &scores, &en.turns)
	if !found {
		return nil, err
	}
	if en.Players, err = decodePlayers(players); err != nil {
		return nil, err
	}
	if en.played, err = decodeSeats(played); err != nil {
		return nil, err
	}
	en.scores = decodeScores(scores)
	if ended != nil {
		en.ended = *ended
	}
	if reason != nil {
		en.Reason = *reason
	}
	if started != nil {
		en.StartedAt, en.kind = *started, kindOf(en.Mode, en.Status)
	}
	return en, nil
}

// Flush implements projections.Model. It writes each changed match once, in the order
// of seating.
func (m *Matches) Flush(tx *projections.Tx) error {
	changed := make([]*entry, 0, len(m.batch))
	for _, en := range m.batch {
		changed = append(changed, en)
	}
	clear(m.batch)
	slices.SortFunc(changed, func(a, b *entry) int { return int(a.seq - b.seq) })
	for _, en := range changed {
		if err := m.write(tx, en); err != nil {
			return err
		}
	}
	for _, day := range slices.Sorted(maps.Keys(m.started)) {
		s := m.started[day]
		if err := tx.Exec("INSERT INTO days (day, first, last) VALUES (?, ?, ?) ON CONFLICT (day) DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)",
			day, s.first, s.last); err != nil {
			return err
		}
	}
	clear(m.started)
	return nil
}

// span is a range of match numbers, both included.
type span struct{ first, last int64 }

// The method start() includes a match in the span of the day on which it started.
func (m *Matches) start(en *entry) {
	day := en.StartedAt[:len(time.DateOnly)]
	s, ok := m.started[day]
	if !ok {
		s = span{en.seq, en.seq}
	}
	m.started[day] = span{min(s.first, en.seq), max(s.last, en.seq)}
}

func (m *Matches) write(tx *projections.Tx, en *entry) error {
	started, ended, players, reason, played := optional(en.StartedAt), optional(en.ended), encodePlayers(en.Players), optional(en.Reason), encodeSeats(en.played)
	var err error
	if en.stored {
		err = tx.Exec("UPDATE matches SET status = ?, started = ?, ended = ?, players = ?, reason = ?, seats = ?, scores = ?, turns = ? WHERE seq = ?",
			en.Status, started, ended, players, reason, played, encodeScores(en.scores), en.turns, en.seq)
	} else {
		err = tx.Exec("INSERT INTO matches (seq, id, mode, status, started, ended, players, reason, seats, scores, turns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			en.seq, en.ID, en.Mode, en.Status, started, ended, players, reason, played, encodeScores(en.scores), en.turns)
	}
	kind := kindOf(en.Mode, en.Status)
	if err != nil || en.StartedAt == "" || kind == en.kind {
		return err
	}
	keys, err := m.keys(tx, en.Players)
	if err != nil {
		return err
	}
	if en.kind == unlisted {
		m.start(en)
		var rows []any
		for _, key := range keys {
			rows = append(rows, key, kind, en.seq)
		}
		return tx.Exec("INSERT INTO listed (key, kind, seq) VALUES (?, ?, ?)"+strings.Repeat(", (?, ?, ?)", len(keys)-1), rows...)
	}
	for _, key := range keys {
		if err := tx.Exec("UPDATE listed SET kind = ? WHERE key = ? AND kind = ? AND seq = ?", kind, key, en.kind, en.seq); err != nil {
			return err
		}
	}
	return nil
}

// The method keys() returns the keys under which a match is listed.
func (m *Matches) keys(tx *projections.Tx, players []Player) ([]int64, error) {
	var bots []int64
	for _, p := range players {
		n, err := m.number(tx, p.BotID)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(bots, n) {
			bots = append(bots, n)
		}
	}
	keys := append([]int64{0}, bots...)
	for i, a := range bots {
		for _, b := range bots[:i] {
			keys = append(keys, pairOf(a, b))
		}
	}
	return keys, nil
}

// pairOf returns the key of two bots. It is greater than the number of any bot.
func pairOf(a, b int64) int64 { return min(a, b)<<32 | max(a, b) }

// numberAll assigns numbers to the bots of a match when it starts. So the numbers depend on
// the order of the events, and not on the size of the batches.
func (m *Matches) numberAll(tx *projections.Tx, played []match.Seat) error {
	for _, s := range played {
		if _, err := m.number(tx, s.BotID); err != nil {
			return err
		}
	}
	return nil
}

// number returns the number of a bot. If the bot has no number, it assigns one.
func (m *Matches) number(tx *projections.Tx, id string) (n int64, err error) {
	if n, ok := m.numbers[id]; ok {
		return n, nil
	}
	found, err := tx.Find("SELECT bot FROM bots WHERE id = ?", []any{id}, &n)
	if err == nil && !found {
		if _, err = tx.Find("SELECT coalesce(max(bot), 0) + 1 FROM bots", nil, &n); err == nil {
			err = tx.Exec("INSERT INTO bots (bot, id) VALUES (?, ?)", n, id)
		}
	}
	if err == nil {
		m.numbers[id] = n
	}
	return n, err
}

// encodePlayers encodes players in a short format, because queries decode hundreds
// of them for each page. For each player, the format contains an id, a name and a
// placement (0 if none). If there is a placement, a rating change follows.
func encodePlayers(players []Player) []byte {
	b := []byte{}
	for _, p := range players {
		for _, text := range []string{p.BotID, p.BotName} {
			b = binary.AppendUvarint(b, uint64(len(text)))
			b = append(b, text...)
		}
		if p.Placement == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(*p.Placement))
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(*p.RatingDelta))
	}
	return b
}

var errPlayers = errors.New("the player list of a match is truncated")

func decodePlayers(b []byte) ([]Player, error) {
	text := string(b) // one allocation for all names
	players := make([]Player, 0, game.MaxSeats)
	for len(b) > 0 {
		p := Player{Seat: len(players)}
		for _, field := range []*string{&p.BotID, &p.BotName} {
			n, size := binary.Uvarint(b)
			if size <= 0 || n > uint64(len(b)-size) {
				return nil, errPlayers
			}
			begin := len(text) - len(b) + size
			*field, b = text[begin:begin+int(n)], b[size+int(n):]
		}
		n, size := binary.Uvarint(b)
		if size <= 0 || n > 0 && len(b) < size+8 {
			return nil, errPlayers
		}
		if b = b[size:]; n > 0 {
			result := &struct {
				placement int
				delta     float64
			}{int(n), math.Float64frombits(binary.BigEndian.Uint64(b))}
			p.Placement, p.RatingDelta, b = &result.placement, &result.delta, b[8:]
		}
		players = append(players, p)
	}
	return players, nil
}

// encodeScores encodes scores as one byte for each seat, or as nil if there are none.
func encodeScores(scores []int) any {
	if scores == nil {
		return nil
	}
	b := make([]byte, len(scores))
	for i, n := range scores {
		b[i] = byte(n)
	}
	return b
}

func decodeScores(b []byte) []int {
	if b == nil {
		return nil
	}
	scores := make([]int, len(b))
	for i, n := range b {
		scores[i] = int(n)
	}
	return scores
}

func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}
