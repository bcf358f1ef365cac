package web

import (
	"net/http"
	"slices"
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
}

type ladderRow struct {
	row
	Mu, Spread float64 // the estimate of the bot's skill, and three sigma; Spread is 0 if sigma is unknown
	Trend      float64 // change of the rating over trendTime; for a younger bot, the change from 0
	NoTrend    bool    // the rating before trendTime is unknown
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
	at, err := endOfDay(d.Day)
	if err != nil {
		return err
	}
	rows := p.leaderboard(d.Mode, at)
	d.Bots = len(rows)
	if n, err := strconv.Atoi(q.Get("page")); err == nil {
		d.Page = n
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !matchesFilter(r, d.Filter) })
	d.Found = len(rows)
	d.Pages = max(1, (len(rows)+ladderPage-1)/ladderPage)
	d.Page = min(max(1, d.Page), d.Pages)
	rows = rows[(d.Page-1)*ladderPage : min(d.Page*ladderPage, len(rows))]
	d.Rows = p.withTrend(d.Mode, at, rows)
	return p.render(http.StatusOK, "ladder.html", d)
}

// endOfDay returns the last millisecond of a day (2006-01-02) in the API's format.
// If day is empty, it returns "".
func endOfDay(day string) (string, error) {
	if day == "" {
		return "", nil
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return "", refused(http.StatusUnprocessableEntity, "The day is invalid. Write it in the form 2026-09-06.")
	}
	return rest.FormatTime(t.Add(24*time.Hour - time.Millisecond)), nil
}

// matchesFilter reports whether the name of a bot or of its owner contains the
// filter text.
func matchesFilter(r row, filter string) bool {
	filter = strings.ToLower(filter)
	return strings.Contains(strings.ToLower(r.Name), strings.TrimPrefix(filter, "@")) || r.Owner != "" && strings.Contains("@"+r.Owner, filter)
}

// withTrend adds to each row the change over a week, and the ladder's
// uncertainty about the bot's skill.
func (p *pageRequest) withTrend(mode, at string, rows []row) []ladderRow {
	now := parseTime(at)
	if at == "" {
		now = time.Now()
	}
	var before rest.Leaderboard
	known := p.find(leaderboardPath(mode, rest.FormatTime(now.Add(-trendTime))), &before)
	then := map[string]float64{}
	for _, r := range before.Rows {
		then[r.BotID] = r.Rating
	}
	spread := p.server.Spread(mode, at)
	all := make([]ladderRow, len(rows))
	for i, r := range rows {
		all[i] = ladderRow{row: r, Spread: spread[r.BotID], Trend: r.Rating - then[r.BotID], NoTrend: !known}
		all[i].Mu = r.Rating + all[i].Spread
	}
	return all
}
