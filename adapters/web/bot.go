package web

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"

	"hexarena/projections/leaderboard"
)

func (s *Server) registerBotPage() {
	s.handle("/bot/{id}", page{get: (*pageRequest).bot})
	s.handle("/bot/{id}/log/{match}", page{get: (*pageRequest).decisionLog})
}

const (
	botMatches   = "25" // matches on a page of the list
	maxRivals    = 20
	timedMatches = "3" // the thinking times are those of so many matches
)

type botData struct {
	ID, Name, Owner, Mode string
	Own                   *bot // nil unless the reader owns the bot
	Row                   *row
	Aborted               int
	Curve                 template.HTML
	Seats                 []seatStats
	Rivals                []rival
	Met                   int // how many bots it has played with; Rivals holds the most frequent
	Thinking              *thinking
	Running               []summary
	Matches               []summary
	Status, Before        string // the filter of Matches, and the match that they follow
	Next                  *string
}

// Statuses lists the filters of matches.
func (botData) Statuses() []string { return []string{"running", "completed", "aborted"} }

// seatStats sums up a bot's rated matches at one seat.
type seatStats struct{ leaderboard.SeatTally }

// Place returns the mean placement.
func (s seatStats) Place() float64 {
	sum := 0
	for i, n := range s.Places {
		sum += (i + 1) * n
	}
	return float64(sum) / float64(max(1, s.Games))
}

// rival counts the matches against another bot.
type rival struct {
	leaderboard.Rival
	Name string // empty if the bot was removed
}

// bot shows one bot to anyone. Its owner also gets links to its decision logs.
func (p *pageRequest) bot() error {
	q := p.r.URL.Query()
	d := botData{ID: p.r.PathValue("id"), Status: q.Get("status"), Before: q.Get("before")}
	if err := p.loadIdentity(&d); err != nil {
		return err
	}
	filter := url.Values{"bot": {d.ID}, "limit": {botMatches}}
	if d.Status != "" {
		filter.Set("status", d.Status)
	}
	if d.Before != "" {
		filter.Set("before", d.Before)
	}
	page, err := p.matches(filter)
	if err != nil {
		return err
	}
	d.Matches, d.Next = page.Matches, page.Next
	if d.Running, err = p.runningMatch(d.ID); err != nil {
		return err
	}
	if err := p.loadThinking(&d); err != nil {
		return err
	}
	return p.render(http.StatusOK, "bot.html", d)
}

// loadIdentity finds the bot's name, owner, mode, rank and rating curve. Only its
// owner can see a bot that has never played.
func (p *pageRequest) loadIdentity(d *botData) error {
	var own bot
	if hasSession(p.r) {
		err := p.get("/bots/"+url.PathEscape(d.ID), &own)
		if _, rejected := refusalOf(err); err != nil && !rejected { // a refusal: it is not the reader's bot
			return err
		}
		if err == nil {
			d.Own, d.Name, d.Mode, p.private = &own, own.Name, own.Mode, true
		}
	}
	var h history
	err := p.get("/bots/"+url.PathEscape(d.ID)+"/history", &h)
	if err != nil && !isNotFound(err) {
		return err
	}
	if err == nil {
		d.Name, d.Owner, d.Mode, d.Aborted = h.Name, h.Owner, h.Mode, h.AbortedMatches
		d.Curve = ratingCurve(h.Points)
	}
	if d.Name == "" { // it has no rated match yet
		page, err := p.matches(url.Values{"bot": {d.ID}, "limit": {"1"}})
		if err != nil {
			return err
		}
		if len(page.Matches) == 0 {
			return refused(http.StatusNotFound, "This bot does not exist or has not played yet.")
		}
		d.Name, d.Mode = page.Matches[0].Of(d.ID).BotName, page.Matches[0].Mode
	}
	rows, err := p.leaderboard(d.Mode, "")
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(rows, func(r row) bool { return r.BotID == d.ID }); i >= 0 {
		d.Row, d.Owner = &rows[i], rows[i].Owner
	}
	return p.loadTallies(d, rows)
}

// loadTallies sums up the bot's rated matches. The names of rivals come from the rows
// of the ladder, which no longer hold removed bots.
func (p *pageRequest) loadTallies(d *botData, rows []row) error {
	seats, err := p.server.Tallies.BySeat(d.ID)
	if err != nil {
		return err
	}
	for _, s := range seats {
		d.Seats = append(d.Seats, seatStats{s})
	}
	met, err := p.server.Tallies.HeadToHead(d.ID)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, r := range rows {
		names[r.BotID] = r.Name
	}
	d.Met = len(met)
	for _, r := range met[:min(maxRivals, len(met))] {
		d.Rivals = append(d.Rivals, rival{r, names[r.BotID]})
	}
	return nil
}

// thinking holds the response times of a bot.
type thinking struct {
	Matches, Answers int
	Half, Most, Max  int64 // milliseconds: median, 95th percentile, maximum
}

// loadThinking reads the response times in the bot's last completed matches.
func (p *pageRequest) loadThinking(d *botData) error {
	page, err := p.matches(url.Values{"bot": {d.ID}, "status": {"completed"}, "limit": {timedMatches}})
	if err != nil {
		return err
	}
	var all []int64
	for _, m := range page.Matches {
		var record struct {
			Replay []struct {
				Kind string          `json:"kind"`
				Seat *int            `json:"seat"`
				Data json.RawMessage `json:"data"`
			} `json:"replay"`
		}
		if err := p.get("/matches/"+url.PathEscape(m.ID), &record); err != nil {
			return err
		}
		seat := m.Of(d.ID).Seat
		for _, e := range record.Replay {
			if e.Kind != "action" || e.Seat == nil || *e.Seat != seat {
				continue
			}
			var action struct {
				ElapsedMs *int64 `json:"elapsedMs"`
			}
			if json.Unmarshal(e.Data, &action) == nil && action.ElapsedMs != nil {
				all = append(all, *action.ElapsedMs)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	d.Thinking = &thinking{len(page.Matches), len(all), all[len(all)/2], all[len(all)*95/100], all[len(all)-1]}
	return nil
}
