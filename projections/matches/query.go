package matches

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"hexarena/domain/ladder"
)

// columns are what a summary is read from.
const columns = "m.seq, m.id, m.mode, m.status, m.started, m.ended, m.players"

// Query selects matches; an empty field selects all.
type Query struct {
	Mode, Status, BotID string
	Before              string // continue behind this match
	Limit               int    // at least 1
}

// queries are what answers are read with. The zero value, before Load, has
// none.
type queries struct {
	get, place, bot *sql.Stmt
	pages, edges    map[int]*sql.Stmt // by how many kinds they read
}

// prepare makes the queries of a file.
func prepare(rows *sql.DB) (q *queries, err error) {
	q = &queries{pages: map[int]*sql.Stmt{}, edges: map[int]*sql.Stmt{}}
	statement := func(text string) *sql.Stmt {
		s, failed := rows.PrepareContext(context.Background(), text)
		err = errors.Join(err, failed)
		return s
	}
	q.get = statement("SELECT " + columns + " FROM matches m WHERE id = ? AND started IS NOT NULL")
	q.place = statement("SELECT seq FROM matches WHERE id = ? AND started IS NOT NULL")
	q.bot = statement("SELECT bot FROM bots WHERE id = ?")
	for n := 1; n <= len(ladder.Modes)*len(statuses); n++ {
		q.pages[n] = statement("SELECT " + columns + ", (SELECT position FROM checkpoint), (SELECT max(seq) FROM matches) FROM (" +
			merged(n) + " LIMIT ?3) l CROSS JOIN matches m ON m.seq = l.seq ORDER BY l.seq DESC")
		q.edges[n] = statement("SELECT seq, (SELECT position FROM checkpoint) FROM (" + merged(n) + " LIMIT 1 OFFSET ?3)")
	}
	return q, err
}

// merged selects what n kinds list of a bot (?1), behind a place (?2), newest
// first. Each range is in this order already, so that no more is read than is
// answered.
func merged(n int) string {
	ranges := make([]string, n)
	for i := range ranges {
		ranges[i] = fmt.Sprintf("SELECT seq FROM listed WHERE bot = ?1 AND seq < ?2 AND kind = ?%d", 4+i)
	}
	return strings.Join(ranges, " UNION ALL ") + " ORDER BY seq DESC"
}

// Get returns a match that has started.
func (m *Matches) Get(id string) (s Summary, found bool, err error) {
	q, err := m.ready()
	if err != nil {
		return Summary{}, false, err
	}
	var r row
	en, err := r.scan(q.get.QueryRowContext(context.Background(), id), r.columns())
	if errors.Is(err, sql.ErrNoRows) {
		return Summary{}, false, nil
	}
	return en.Summary, err == nil, err
}

// List returns a page, newest first by seating, and the id to continue before,
// empty where nothing older can be reached. known is false where Before is no
// match that has started.
func (m *Matches) List(query Query) (page []Summary, next string, known bool, err error) {
	q, err := m.ready()
	if err != nil {
		return nil, "", false, err
	}
	s := selection{query.BotID, query.Mode, query.Status}
	before, err := q.before(query.Before)
	if err != nil {
		return nil, "", false, ignoreNone(err)
	}
	bot, err := q.number(query.BotID)
	if err != nil {
		return []Summary{}, "", true, ignoreNone(err)
	}
	kinds := kindsOf(query.Mode, query.Status)
	if len(kinds) == 0 {
		return []Summary{}, "", true, nil
	}
	found, at, last, err := q.page(bot, kinds, before, query.Limit+1)
	if err != nil || len(found) == 0 {
		return []Summary{}, "", true, err
	}
	// Numbers have no gaps: so many newer ones must be seated for a match to be out of reach.
	if last-found[len(found)-1].seq >= Reachable {
		edge, err := m.edges.of(s, at, func() (int64, int64, error) { return q.edge(bot, kinds) })
		if err != nil {
			return nil, "", false, err
		}
		for len(found) > 0 && found[len(found)-1].seq < edge {
			found = found[:len(found)-1]
		}
	}
	page = make([]Summary, 0, len(found))
	for _, en := range found[:min(len(found), query.Limit)] {
		page = append(page, en.Summary)
	}
	if len(found) > query.Limit {
		next = page[len(page)-1].ID
	}
	return page, next, true, nil
}

// before is the place of a match, behind all of them where none is named.
func (q *queries) before(id string) (seq int64, err error) {
	if id == "" {
		return math.MaxInt64, nil
	}
	return seq, q.place.QueryRowContext(context.Background(), id).Scan(&seq)
}

// number is that of a bot, 0 where none is named.
func (q *queries) number(botID string) (bot int64, err error) {
	if botID == "" {
		return 0, nil
	}
	return bot, q.bot.QueryRowContext(context.Background(), botID).Scan(&bot)
}

// page reads matches; with them it tells the checkpoint that they were read at,
// and the last match's number.
func (q *queries) page(bot int64, kinds []any, before int64, limit int) (list []entry, at, last int64, err error) {
	rows, err := q.pages[len(kinds)].QueryContext(context.Background(), append([]any{bot, before, limit}, kinds...)...)
	if err != nil {
		return nil, 0, 0, err
	}
	defer rows.Close()
	var r row
	columns := append(r.columns(), &at, &last)
	for rows.Next() {
		en, err := r.scan(rows, columns)
		if err != nil {
			return nil, 0, 0, err
		}
		list = append(list, en)
	}
	return list, at, last, rows.Err()
}

// edge is the number of the oldest match in reach, 0 where all are, and the
// checkpoint that it was read at.
func (q *queries) edge(bot int64, kinds []any) (seq, at int64, err error) {
	err = q.edges[len(kinds)].QueryRowContext(context.Background(), append([]any{bot, int64(math.MaxInt64), Reachable - 1}, kinds...)...).Scan(&seq, &at)
	return seq, at, ignoreNone(err)
}

// ignoreNone passes over that there is no such row.
func ignoreNone(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// row is where the columns of a summary are read to, again and again.
type row struct {
	entry
	ended   *string
	players []byte
}

// columns are as many as there are of that name.
func (r *row) columns() []any {
	return []any{&r.seq, &r.ID, &r.Mode, &r.Status, &r.StartedAt, &r.ended, &r.players}
}

// scan reads one: columns, and what may follow them.
func (r *row) scan(from interface{ Scan(into ...any) error }, columns []any) (en entry, err error) {
	if err := from.Scan(columns...); err != nil {
		return entry{}, err
	}
	en = r.entry
	if en.Status != Running {
		en.EndedAt = r.ended
	}
	en.Players, err = decodePlayers(r.players)
	return en, err
}

// selection is what an edge is of.
type selection struct{ bot, mode, status string }

// edges keeps where selections end, each for as long as nothing is committed.
// To find one takes some milliseconds, and is only done for pages far back.
type edges struct {
	mu   sync.Mutex
	kept map[selection]edge
}

type edge struct{ seq, at int64 }

// keptEdges is how many are kept.
const keptEdges = 1000

// of returns the edge of a selection as of a checkpoint, or a later one.
func (e *edges) of(s selection, at int64, find func() (seq, at int64, err error)) (int64, error) {
	e.mu.Lock()
	kept, ok := e.kept[s]
	e.mu.Unlock()
	if ok && kept.at == at {
		return kept.seq, nil
	}
	seq, at, err := find()
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kept == nil || len(e.kept) >= keptEdges {
		e.kept = map[selection]edge{}
	}
	e.kept[s] = edge{seq, at}
	return seq, nil
}
