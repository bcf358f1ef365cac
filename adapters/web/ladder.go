package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hexarena/domain/ladder"
)

func (s *Server) registerLadder() {
	s.handle("/ladder/{mode}", page{get: (*pageRequest).ladder})
	s.handle("/ladder", page{get: func(p *pageRequest) error { return p.seeOther("/ladder/standard") }})
}

// ladderPage is how many rows a page of a ladder has, and trendTime what a
// trend looks back on.
const (
	ladderPage = 100
	trendTime  = 7 * 24 * time.Hour
)

type ladderData struct {
	Mode        string
	Modes       []string
	Filter, Day string
	Rows        []ladderRow
	Found, Bots int
	Page, Pages int
	Low, High   float64 // what the bars span
}

type ladderRow struct {
	row
	Mu, Spread float64 // the estimate of the bot's skill, ± three sigma; Spread is 0 where it is not known
	Trend      float64 // of the rating, over trendTime; a younger bot began at 0
	NoTrend    bool    // what was then is not known
}

// Link is the same page with one parameter changed.
func (d ladderData) Link(page int) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": d.Filter, "day": d.Day} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if len(q) == 0 {
		return "/ladder/" + d.Mode
	}
	return "/ladder/" + d.Mode + "?" + q.Encode()
}

func (p *pageRequest) ladder() error {
	q := p.r.URL.Query()
	d := ladderData{Mode: p.r.PathValue("mode"), Modes: ladder.Modes, Filter: strings.TrimSpace(q.Get("q")), Day: q.Get("day"), Page: 1}
	if !ladder.IsMode(d.Mode) {
		return refused(http.StatusNotFound, "There are two ladders: standard and parley.")
	}
	at, err := endOfDay(d.Day)
	if err != nil {
		return err
	}
	rows, err := p.leaderboard(d.Mode, at)
	if err != nil {
		return err
	}
	d.Bots = len(rows)
	if n, err := strconv.Atoi(q.Get("page")); err == nil {
		d.Page = n
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !named(r, d.Filter) })
	d.Found = len(rows)
	d.Pages = max(1, (len(rows)+ladderPage-1)/ladderPage)
	d.Page = min(max(1, d.Page), d.Pages)
	rows = rows[(d.Page-1)*ladderPage : min(d.Page*ladderPage, len(rows))]
	if d.Rows, err = p.withTrend(d.Mode, at, rows); err != nil {
		return err
	}
	return p.render(http.StatusOK, "ladder.html", d)
}

// endOfDay is the last moment of a day as the API takes it; of no day, none.
func endOfDay(day string) (string, error) {
	if day == "" {
		return "", nil
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return "", refused(http.StatusUnprocessableEntity, "A day is written as 2026-09-06.")
	}
	return t.Add(24*time.Hour - time.Millisecond).Format("2006-01-02T15:04:05.000Z"), nil
}

// named says whether a bot or its owner has a name like this.
func named(r row, filter string) bool {
	filter = strings.ToLower(filter)
	return strings.Contains(strings.ToLower(r.Name), strings.TrimPrefix(filter, "@")) || r.Owner != "" && strings.Contains("@"+r.Owner, filter)
}

// withTrend adds to rows how they have changed over a week, and how sure the
// ladder is of them.
func (p *pageRequest) withTrend(mode, at string, rows []row) ([]ladderRow, error) {
	moment := parseTime(at)
	if at == "" {
		moment = time.Now()
	}
	before, err := p.leaderboard(mode, moment.Add(-trendTime).UTC().Format("2006-01-02T15:04:05.000Z"))
	_, unknown := refusalOf(err) // no past is kept here
	if err != nil && !unknown {
		return nil, err
	}
	then := map[string]float64{}
	for _, r := range before {
		then[r.BotID] = r.Rating
	}
	spread := p.server.Spread(mode, at)
	all := make([]ladderRow, len(rows))
	for i, r := range rows {
		all[i] = ladderRow{row: r, Spread: spread[r.BotID], Trend: r.Rating - then[r.BotID], NoTrend: unknown}
		all[i].Mu = r.Rating + all[i].Spread
	}
	return all, nil
}
