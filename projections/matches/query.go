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

// columns lists the columns of a summary. row.columns returns variables for these
// columns, in the same order.
const columns = "m.seq, m.id, m.mode, m.status, m.started, m.ended, m.players, coalesce(m.reason, ''), m.seats"

// Query selects matches. An empty field selects all matches.
type Query struct {
	Mode, Status, BotID string
	Before              string // id of a match; the page begins after this match
	Limit               int    // at least 1
}

// The type queries holds the prepared statements.
type queries struct {
	get, voided, seq, bot *sql.Stmt
	following             *sql.Stmt         // a bot's matches, oldest first
	pages, edges          map[int]*sql.Stmt // by the number of kinds that the query selects
}

// prepare prepares the statements for the rows of a file.
func prepare(rows *sql.DB) (q *queries, err error) {
	q = &queries{pages: map[int]*sql.Stmt{}, edges: map[int]*sql.Stmt{}}
	statement := func(text string) *sql.Stmt {
		s, failed := rows.PrepareContext(context.Background(), text)
		err = errors.Join(err, failed)
		return s
	}
	q.get = statement("SELECT " + columns + " FROM matches m WHERE id = ? AND started IS NOT NULL")
	q.voided = statement("SELECT mode, coalesce(reason, '') FROM matches WHERE id = ? AND started IS NULL AND status = '" + Aborted + "'")
	q.seq = statement("SELECT seq FROM matches WHERE id = ? AND started IS NOT NULL")
	q.bot = statement("SELECT bot FROM bots WHERE id = ?")
	q.following = statement("SELECT " + columns + " FROM (" + merged(len(kindsOf("", "")), "seq >= ?2", "seq") +
		" LIMIT ?3) l CROSS JOIN matches m ON m.seq = l.seq ORDER BY l.seq")
	for n := 1; n <= len(ladder.Modes)*len(statuses); n++ {
		q.pages[n] = statement("SELECT " + columns + ", (SELECT position FROM checkpoint), (SELECT max(seq) FROM matches) FROM (" +
			newestFirst(n) + " LIMIT ?3) l CROSS JOIN matches m ON m.seq = l.seq ORDER BY l.seq DESC")
		q.edges[n] = statement("SELECT seq, (SELECT position FROM checkpoint) FROM (" + newestFirst(n) + " LIMIT 1 OFFSET ?3)")
	}
	return q, err
}

// newestFirst returns a query that lists matches of the bot ?1, newest first. It
// selects n kinds of matches whose numbers are less than ?2.
func newestFirst(n int) string { return merged(n, "seq < ?2", "seq DESC") }

// The function merged() returns a query that lists n kinds of matches of the bot ?1.
// The table stores the matches of each kind in order. So SQLite only has to merge the
// kinds, and reads only the rows of the page.
func merged(n int, condition, order string) string {
	ranges := make([]string, n)
	for i := range ranges {
		ranges[i] = fmt.Sprintf("SELECT seq FROM listed WHERE bot = ?1 AND %s AND kind = ?%d", condition, 4+i)
	}
	return strings.Join(ranges, " UNION ALL ") + " ORDER BY " + order
}

// Get returns a match. It finds only matches that have started.
func (m *Matches) Get(id string) (s Summary, found bool, err error) {
	var r row
	en, err := r.scan(m.queries.Load().get.QueryRowContext(context.Background(), id), r.columns())
	if errors.Is(err, sql.ErrNoRows) {
		return Summary{}, false, nil
	}
	return en.Summary, err == nil, err
}

// Voided returns the mode of a match that its ladder voided before it started, and
// the reason: a code of ladder.MatchVoided. Such a match is not in any list.
func (m *Matches) Voided(id string) (mode, reason string, found bool, err error) {
	err = m.queries.Load().voided.QueryRowContext(context.Background(), id).Scan(&mode, &reason)
	return mode, reason, err == nil, ignoreNoRows(err)
}

// List returns a page of matches, the most recently seated first. The result next
// is the Before of the next page, or "" if this is the last page. The result known
// is false if Before is not the id of a match that has started.
func (m *Matches) List(query Query) (page []Summary, next string, known bool, err error) {
	q := m.queries.Load()
	s := selection{query.BotID, query.Mode, query.Status}
	before, err := q.before(query.Before)
	if err != nil {
		return nil, "", false, ignoreNoRows(err)
	}
	bot, err := q.number(query.BotID)
	if err != nil {
		return []Summary{}, "", true, ignoreNoRows(err)
	}
	kinds := kindsOf(query.Mode, query.Status)
	if len(kinds) == 0 {
		return []Summary{}, "", true, nil
	}
	found, at, last, err := q.page(bot, kinds, before, query.Limit+1)
	if err != nil || len(found) == 0 {
		return []Summary{}, "", true, err
	}
	// The numbers of matches have no gaps. So a match can be out of reach only if
	// enough newer matches have been seated.
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

// From returns at most limit matches of a bot, oldest first. The parameter first is the
// id of the first match in the list. The result known is false if the bot has not
// started this match. If first is empty, the list begins with the bot's oldest match.
// From can list every match of the bot.
func (m *Matches) From(botID, first string, limit int) (list []Summary, known bool, err error) {
	q, seq := m.queries.Load(), int64(0)
	if first != "" {
		if seq, err = q.before(first); err != nil {
			return nil, false, ignoreNoRows(err)
		}
	}
	bot, err := q.number(botID)
	if err != nil {
		return nil, first == "", ignoreNoRows(err)
	}
	rows, err := q.following.QueryContext(context.Background(), append([]any{bot, seq, limit}, kindsOf("", "")...)...)
	if err != nil {
		return nil, false, err
	}
	var r row
	found, err := r.all(rows, r.columns())
	for _, en := range found {
		list = append(list, en.Summary)
	}
	return list, first == "" || len(list) > 0 && list[0].ID == first, err
}

// The method before() returns the number of a match. If id is empty, it returns the
// greatest possible number.
func (q *queries) before(id string) (seq int64, err error) {
	if id == "" {
		return math.MaxInt64, nil
	}
	return seq, q.seq.QueryRowContext(context.Background(), id).Scan(&seq)
}

// The method number() returns the number of a bot. If botID is empty, it returns 0,
// which stands for all bots.
func (q *queries) number(botID string) (bot int64, err error) {
	if botID == "" {
		return 0, nil
	}
	return bot, q.bot.QueryRowContext(context.Background(), botID).Scan(&bot)
}

// page reads a page of matches. It also returns the checkpoint of the rows, and the
// number of the newest seated match.
func (q *queries) page(bot int64, kinds []any, before int64, limit int) (list []entry, at, last int64, err error) {
	rows, err := q.pages[len(kinds)].QueryContext(context.Background(), append([]any{bot, before, limit}, kinds...)...)
	if err != nil {
		return nil, 0, 0, err
	}
	var r row
	list, err = r.all(rows, append(r.columns(), &at, &last))
	return list, at, last, err
}

// edge returns the number of the oldest match that the query can list, or 0 if it
// can list all matches. It also returns the checkpoint of the rows.
func (q *queries) edge(bot int64, kinds []any) (seq, at int64, err error) {
	err = q.edges[len(kinds)].QueryRowContext(context.Background(), append([]any{bot, int64(math.MaxInt64), Reachable - 1}, kinds...)...).Scan(&seq, &at)
	return seq, at, ignoreNoRows(err)
}

// ignoreNoRows returns nil for sql.ErrNoRows.
func ignoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// row receives the columns of a summary. It is reused for all rows of a query.
type row struct {
	entry
	ended   *string
	players []byte
	played  []byte
}

// The method columns returns the destinations of the columns.
func (r *row) columns() []any {
	return []any{&r.seq, &r.ID, &r.Mode, &r.Status, &r.StartedAt, &r.ended, &r.players, &r.Reason, &r.played}
}

// scan reads one summary. The columns may end with additional destinations.
func (r *row) scan(from interface{ Scan(into ...any) error }, columns []any) (en entry, err error) {
	if err := from.Scan(columns...); err != nil {
		return entry{}, err
	}
	en = r.entry
	if en.Status != Running {
		en.EndedAt = r.ended
		if en.Seats, err = decodeSeats(r.played); err != nil {
			return entry{}, err
		}
	}
	en.Players, err = decodePlayers(r.players)
	return en, err
}

// The method all() reads the summaries of all rows, and closes the rows.
func (r *row) all(rows *sql.Rows, columns []any) (list []entry, err error) {
	defer rows.Close()
	for rows.Next() {
		en, err := r.scan(rows, columns)
		if err != nil {
			return nil, err
		}
		list = append(list, en)
	}
	return list, rows.Err()
}

// selection identifies a set of matches that a query selects. Each selection has
// its own edge.
type selection struct{ bot, mode, status string }

// The type edges caches the edge of each selection until the next commit. An edge is
// the number of the oldest match that a query can list. Finding it takes a few
// milliseconds. Only pages with much older matches need an edge.
type edges struct {
	mu     sync.Mutex
	cached map[selection]edge
}

type edge struct{ seq, at int64 }

// maxEdges is the maximum number of cached edges.
const maxEdges = 1000

// The method of() returns the edge of a selection at the given checkpoint or a later
// one.
func (e *edges) of(s selection, at int64, find func() (seq, at int64, err error)) (int64, error) {
	e.mu.Lock()
	cached, ok := e.cached[s]
	e.mu.Unlock()
	if ok && cached.at == at {
		return cached.seq, nil
	}
	seq, at, err := find()
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cached == nil || len(e.cached) >= maxEdges {
		e.cached = map[selection]edge{}
	}
	e.cached[s] = edge{seq, at}
	return seq, nil
}
