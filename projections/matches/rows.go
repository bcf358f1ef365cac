package matches

import (
	_ "embed" // the schema
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
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
	var players, played []byte
	var started, ended, reason *string
	en := &entry{Summary: Summary{ID: id}, kind: unlisted, stored: true}
	found, err := tx.Find("SELECT seq, mode, status, started, ended, players, reason, seats FROM matches WHERE id = ?", []any{id},
		&en.seq, &en.Mode, &en.Status, &started, &ended, &players, &reason, &played)
	if !found {
		return nil, err
	}
	if en.Players, err = decodePlayers(players); err != nil {
		return nil, err
	}
	if en.played, err = decodeSeats(played); err != nil {
		return nil, err
	}
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
	return nil
}

func (m *Matches) write(tx *projections.Tx, en *entry) error {
	started, ended, players, reason, played := optional(en.StartedAt), optional(en.ended), encodePlayers(en.Players), optional(en.Reason), encodeSeats(en.played)
	var err error
	if en.stored {
		err = tx.Exec("UPDATE matches SET status = ?, started = ?, ended = ?, players = ?, reason = ?, seats = ? WHERE seq = ?",
			en.Status, started, ended, players, reason, played, en.seq)
	} else {
		err = tx.Exec("INSERT INTO matches (seq, id, mode, status, started, ended, players, reason, seats) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			en.seq, en.ID, en.Mode, en.Status, started, ended, players, reason, played)
	}
	kind := kindOf(en.Mode, en.Status)
	if err != nil || en.StartedAt == "" || kind == en.kind {
		return err
	}
	bots := []any{int64(0)}
	for _, p := range en.Players {
		n, err := m.number(tx, p.BotID)
		if err != nil {
			return err
		}
		if !slices.Contains(bots, any(n)) {
			bots = append(bots, n)
		}
	}
	if en.kind == unlisted {
		var rows []any
		for _, bot := range bots {
			rows = append(rows, bot, kind, en.seq)
		}
		return tx.Exec("INSERT INTO listed (bot, kind, seq) VALUES (?, ?, ?)"+strings.Repeat(", (?, ?, ?)", len(bots)-1), rows...)
	}
	for _, bot := range bots {
		if err := tx.Exec("UPDATE listed SET kind = ? WHERE bot = ? AND kind = ? AND seq = ?", kind, bot, en.kind, en.seq); err != nil {
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

func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}
