package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
)

const (
	ladderPage = 100                // rows
	trendTime  = 7 * 24 * time.Hour // a trend is the change over this time
)

type ladderData struct {
	Mode        string
	Modes       []string
	Filter, Day string
	Rows        []ladderRow
	Found, Bots int
	Page, Pages int
	Queue       *rest.Queue // nil for an earlier day
}

type ladderRow struct {
	row
	Mu, Spread float64 // the estimate of the bot's skill, and three sigma; Spread is 0 if sigma is unknown
	Trend      float64 // change of the rating over trendTime; for a younger bot, the change from 0
	NoTrend    bool    // the rating at the start of trendTime is unknown
}

// Link returns the URL of another page of the same ladder, with the same filter.
func (d ladderData) Link(page int) string {
	q := query{"q": d.Filter, "day": d.Day}
	if page > 1 {
		q["page"] = strconv.Itoa(page)
	}
	return q.after("/ladder/" + d.Mode)
}

func (p *pageRequest) ladder() error {
	q := p.r.URL.Query()
	d := ladderData{Mode: p.r.PathValue("mode"), Modes: ladder.Modes, Filter: strings.TrimSpace(q.Get("q")), Day: q.Get("day"), Page: 1}
	if !ladder.IsMode(d.Mode) {
		return refused(http.StatusNotFound, "This ladder does not exist. The two ladders are standard and parley.")
	}
	at, err := endOfDay(d.Day, p.server.Now())
	if err != nil {
		return err
	}
	ranking := p.ranking(d.Mode, at)
	d.Bots = len(ranking.rows)
	if n, err := strconv.Atoi(q.Get("page")); err == nil {
		d.Page = n
	}
	found := ranking.matching(d.Filter)
	d.Found = len(found)
	d.Pages = max(1, (len(found)+ladderPage-1)/ladderPage)
	d.Page = min(max(1, d.Page), d.Pages)
	found = found[(d.Page-1)*ladderPage : min(d.Page*ladderPage, len(found))]
	d.Rows = p.withTrend(d.Mode, at, ranking, found)
	var queue rest.Queue
	if d.Day == "" && p.find(query{"mode": d.Mode}.after("/queue"), &queue) {
		d.Queue = &queue
	}
	return p.render(http.StatusOK, "ladder.html", d)
}

// endOfDay returns the last millisecond of a day (2006-01-02) in the API's format.
// If day is empty or not over yet, it returns "", which means now.
func endOfDay(day string, now time.Time) (string, error) {
	if day == "" {
		return "", nil
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return "", refused(http.StatusUnprocessableEntity, "The day is invalid. Write it in the form 2026-09-06.")
	}
	if t = t.Add(24*time.Hour - time.Millisecond); t.After(now) {
		return "", nil
	}
	return rest.FormatTime(t), nil
}

// withTrend returns rows of a ranking. It adds to each row the change over a week,
// and the ladder's uncertainty about the bot's skill.
func (p *pageRequest) withTrend(mode, at string, k *ranking, rows []int) []ladderRow {
	before, known := p.weekBefore(mode, at)
	all := make([]ladderRow, len(rows))
	for i, n := range rows {
		r := k.rows[n]
		then, _ := before.find(r.BotID)
		all[i] = ladderRow{row: r, Spread: k.spread[r.BotID], Trend: r.Rating - then.Rating, NoTrend: !known}
		all[i].Mu = r.Rating + all[i].Spread
	}
	return all
}

// weekBefore returns the ranking a week before a time, rounded down to the minute. It
// returns false if the API or a rate limit refuses that ranking.
func (p *pageRequest) weekBefore(mode, at string) (before *ranking, known bool) {
	now := parseTime(at)
	if at == "" {
		now = p.server.Now()
	}
	if p.err != nil {
		return &ranking{}, false
	}
	before, err := p.loadRanking(mode, rest.FormatTime(now.Add(-trendTime).Truncate(time.Minute)))
	if err == nil {
		return before, true
	}
	if _, refused := refusalOf(err); !refused {
		p.err = err
	}
	return &ranking{}, false
}
