package matches

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"hexarena/domain/ladder"
	"hexarena/projections"
)

// columns lists the columns of a summary. row.columns returns variables for these
// columns, in the same order.
const columns = "m.seq, m.id, m.mode, m.status, m.started, m.ended, m.players, coalesce(m.reason, ''), m.seats, m.scores, m.turns"

// Query selects matches. An empty field selects all matches.
type Query struct {
	Mode, Status, BotID string
	RivalID             string // of another bot in the matches of BotID
	From, To            string // the first and the last day (UTC) on which the matches started, such as 2006-01-02
	Before              string // id of a match; the page begins after this match, with an older one
	After               string // id of a match; the page begins with the next newer match, and its order is reversed
	Limit               int    // at least 1
}

// selection returns the query without its page.
func (q Query) selection() Query {
	q.Before, q.After, q.Limit = "", "", 0
	return q
}

// The method ofDays() reports whether a match started on one of the days of the query.
func (q Query) ofDays(m Summary) bool {
	day := m.StartedAt[:len(time.DateOnly)]
	return day >= q.From && (q.To == "" || day <= q.To)
}

// The texts of the queries.
const (
	getText    = "SELECT " + columns + " FROM matches m WHERE id = ? AND started IS NOT NULL"
	voidedText = "SELECT mode, coalesce(reason, '') FROM matches WHERE id = ? AND started IS NULL AND status = '" + Aborted + "'"
	seqText    = "SELECT seq FROM matches WHERE id = ? AND started IS NOT NULL"
	botText    = "SELECT bot FROM bots WHERE id = ?"
	daysText   = "SELECT coalesce(min(first), 0), coalesce(max(last), -1) FROM days WHERE day >= ?1 AND day <= ?2"
)

// These queries depend on the number of kinds that they select, which is their index. The
// texts in followingTexts list the oldest matches first.
var pageTexts, followingTexts, edgeTexts = makeTexts()

func makeTexts() (pages, following, edges []string) {
	page := "SELECT " + columns + ", (SELECT position FROM checkpoint), (SELECT max(seq) FROM matches) FROM (%s LIMIT ?4) l CROSS JOIN matches m ON m.seq = l.seq ORDER BY l.%s"
	for n := range len(ladder.Modes)*len(statuses) + 1 {
		pages = append(pages, fmt.Sprintf(page, merged(n, "seq DESC"), "seq DESC"))
		following = append(following, fmt.Sprintf(page, merged(n, "seq"), "seq"))
		edges = append(edges, "SELECT seq, (SELECT position FROM checkpoint) FROM ("+merged(n, "seq DESC")+" LIMIT 1 OFFSET ?4)")
	}
	return pages, following, edges
}

// The type queries reads the rows of a file.
type queries struct{ *projections.Queries }

// The function merged() returns a query that lists n kinds of matches under the key ?1
// whose numbers are ?2 to ?3. The table stores the matches of each kind in order. So
// SQLite only has to merge the kinds, and reads only the rows of the page.
func merged(n int, order string) string {
	ranges := make([]string, n)
	for i := range ranges {
		ranges[i] = fmt.Sprintf("SELECT seq FROM listed WHERE key = ?1 AND seq >= ?2 AND seq <= ?3 AND kind = ?%d", 5+i)
	}
	return strings.Join(ranges, " UNION ALL ") + " ORDER BY " + order
}

// Get returns a match. It finds only matches that have started.
func (m *Matches) Get(id string) (s Summary, found bool, err error) {
	var r row
	en, err := r.scan(m.queries.Load().QueryRowContext(context.Background(), getText, id), r.columns())
	if errors.Is(err, sql.ErrNoRows) {
		return Summary{}, false, nil
	}
	return en.Summary, err == nil, err
}

// Voided returns the mode of a match that its ladder voided before it started, and
// the reason: a code of ladder.MatchVoided. Such a match is not in any list.
func (m *Matches) Voided(id string) (mode, reason string, found bool, err error) {
	err = m.queries.Load().QueryRowContext(context.Background(), voidedText, id).Scan(&mode, &reason)
	return mode, reason, err == nil, ignoreNoRows(err)
}

// List returns a page of matches, the most recently seated first. If the query has After,
// the page lists newer matches instead, the oldest first. The result next is the Before or
// the After of the next page, or "" if this is the last page. The result known is false if
// Before or After is not the id of a match that has started.
func (m *Matches) List(query Query) (page []Summary, next string, known bool, err error) {
	q := m.queries.Load()
	r, err := q.rangeOf(query)
	if err != nil {
		return nil, "", false, ignoreNoRows(err)
	}
	if r.key, err = q.key(query.BotID, query.RivalID); err != nil || len(r.kinds) == 0 {
		return []Summary{}, "", true, ignoreNoRows(err)
	}
	found, at, newest, err := q.ofDays(query, r)
	if err != nil || len(found) == 0 {
		return []Summary{}, "", true, err
	}
	// The numbers of matches have no gaps. So a match can be out of reach only if
	// enough newer matches have been seated.
	if query.After == "" && min(newest, r.newest)-found[len(found)-1].seq >= Reachable {
		edge, err := m.edges.of(query.selection(), at, func() (int64, int64, error) { return q.edge(r) })
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
	q, r := m.queries.Load(), all()
	if first != "" {
		if r.span.first, err = q.number(first); err != nil {
			return nil, false, ignoreNoRows(err)
		}
	}
	if r.key, err = q.key(botID, ""); err != nil {
		return nil, first == "", ignoreNoRows(err)
	}
	found, _, _, err := q.page(followingTexts, r, limit)
	for _, en := range found {
		list = append(list, en.Summary)
	}
	return list, first == "" || len(list) > 0 && list[0].ID == first, err
}

// keyRange is a range of rows of the table listed. The greatest number without the page of
// the query is newest.
type keyRange struct {
	key    int64
	kinds  []any
	span   span
	newest int64
}

// The function all() returns the range of all matches.
func all() keyRange {
	return keyRange{0, kindsOf("", ""), span{0, math.MaxInt64}, math.MaxInt64}
}

// rangeOf returns the range of a query, without its key. It returns sql.ErrNoRows if the
// query begins at an unknown match.
func (q *queries) rangeOf(query Query) (r keyRange, err error) {
	r = all()
	r.kinds = kindsOf(query.Mode, query.Status)
	if query.From != "" || query.To != "" {
		to := query.To
		if to == "" {
			to = "9999-12-31"
		}
		if err = q.QueryRowContext(context.Background(), daysText, query.From, to).Scan(&r.span.first, &r.span.last); err != nil {
			return r, err
		}
	}
	r.newest = r.span.last
	if query.Before != "" {
		seq, err := q.number(query.Before)
		if err != nil {
			return r, err
		}
		r.span.last = min(r.span.last, seq-1)
	}
	if query.After != "" {
		seq, err := q.number(query.After)
		if err != nil {
			return r, err
		}
		r.span.first = max(r.span.first, seq+1)
	}
	return r, nil
}

// The method number() returns the number of a match that has started.
func (q *queries) number(id string) (seq int64, err error) {
	return seq, q.QueryRowContext(context.Background(), seqText, id).Scan(&seq)
}

// The method key() returns the key under which the matches of a bot, or of a pair of bots,
// are listed. Empty ids stand for all bots.
func (q *queries) key(botID, rivalID string) (key int64, err error) {
	if botID == "" {
		return 0, nil
	}
	if err = q.QueryRowContext(context.Background(), botText, botID).Scan(&key); err != nil || rivalID == "" {
		return key, err
	}
	var rival int64
	if err = q.QueryRowContext(context.Background(), botText, rivalID).Scan(&rival); err != nil {
		return 0, err
	}
	return pairOf(key, rival), nil
}

// The method ofDays() reads one match more than the page of a query. It leaves out the few
// matches in the range that started on other days.
func (q *queries) ofDays(query Query, r keyRange) (found []entry, at, newest int64, err error) {
	pages, limit := pageTexts, query.Limit+1
	if query.After != "" {
		pages = followingTexts
	}
	for len(found) < limit {
		var rows []entry
		if rows, at, newest, err = q.page(pages, r, limit); err != nil {
			return nil, 0, 0, err
		}
		for _, en := range rows {
			if query.ofDays(en.Summary) && len(found) < limit {
				found = append(found, en)
			}
		}
		if len(rows) < limit {
			break
		}
		if last := rows[len(rows)-1].seq; query.After != "" {
			r.span.first = last + 1
		} else {
			r.span.last = last - 1
		}
	}
	return found, at, newest, nil
}

// page reads matches with one of the queries. It also returns the checkpoint of the
// rows, and the number of the newest seated match.
func (q *queries) page(by []string, r keyRange, limit int) (list []entry, at, newest int64, err error) {
	rows, err := q.QueryContext(context.Background(), by[len(r.kinds)], append([]any{r.key, r.span.first, r.span.last, limit}, r.kinds...)...)
	if err != nil {
		return nil, 0, 0, err
	}
	var into row
	list, err = into.all(rows, append(into.columns(), &at, &newest))
	return list, at, newest, err
}

// edge returns the number of the oldest match that the query can list, or 0 if it
// can list all matches. It also returns the checkpoint of the rows.
func (q *queries) edge(r keyRange) (seq, at int64, err error) {
	err = q.QueryRowContext(context.Background(), edgeTexts[len(r.kinds)], append([]any{r.key, r.span.first, r.newest, Reachable - 1}, r.kinds...)...).Scan(&seq, &at)
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
	scores  []byte
}

// The method columns returns the destinations of the columns.
func (r *row) columns() []any {
	return []any{&r.seq, &r.ID, &r.Mode, &r.Status, &r.StartedAt, &r.ended, &r.players, &r.Reason, &r.played, &r.scores, &r.turns}
}

// scan reads one summary. The columns may end with additional destinations.
func (r *row) scan(from interface{ Scan(into ...any) error }, columns []any) (en entry, err error) {
	if err := from.Scan(columns...); err != nil {
		return entry{}, err
	}
	en = r.entry
	if en.Status != Running {
		en.EndedAt, en.Turns = r.ended, r.turns
		if en.Status == Completed {
			en.Scores = decodeScores(r.scores)
		}
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

// The type edges caches the edge of each Query.selection until the next commit. An edge is
// the number of the oldest match that a query can list. Finding it takes a few
// milliseconds. Only pages with much older matches need an edge.
type edges struct {
	mu     sync.Mutex
	cached map[Query]edge
}

type edge struct{ seq, at int64 }

// maxEdges is the maximum number of cached edges.
const maxEdges = 1000

// The method of() returns the edge of a selection at the given checkpoint or a later
// one.
func (e *edges) of(s Query, at int64, find func() (seq, at int64, err error)) (int64, error) {
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
		e.cached = map[Query]edge{}
	}
	e.cached[s] = edge{seq, at}
	return seq, nil
}
