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
	botMatches = "25" // on a page of them
	mostRivals = 20
	timed      = "3" // matches, for how long a bot thinks
)

type botData struct {
	ID, Name, Owner, Mode string
	Own                   *bot // where the reader owns it
	Row                   *row
	Aborted               int
	Curve                 template.HTML
	Seats                 []seatStats
	Rivals                []rival
	Met                   int // how many others it has met; Rivals are the most frequent
	Thinking              *thinking
	Running               []summary
	Matches               []summary
	Status, Before        string // what Matches are filtered by, and where they begin
	Next                  *string
}

// Statuses are what matches may be filtered by.
func (botData) Statuses() []string { return []string{"running", "completed", "aborted"} }

// seatStats are a bot's rated matches at one seat.
type seatStats struct{ leaderboard.SeatTally }

// Place is the mean placement.
func (s seatStats) Place() float64 {
	sum := 0
	for i, n := range s.Places {
		sum += (i + 1) * n
	}
	return float64(sum) / float64(max(1, s.Games))
}

// rival is another bot, and who finished before whom.
type rival struct {
	leaderboard.Rival
	Name string // empty: it has been removed
}

// bot shows one bot to anyone, and to its owner where its log is.
func (p *pageRequest) bot() error {
	q := p.r.URL.Query()
	d := botData{ID: p.r.PathValue("id"), Status: q.Get("status"), Before: q.Get("before")}
	if err := p.identify(&d); err != nil {
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
	if d.Running, err = p.runningOf(d.ID); err != nil {
		return err
	}
	if err := p.time(&d); err != nil {
		return err
	}
	return p.render(http.StatusOK, "bot.html", d)
}

func (p *pageRequest) runningOf(botID string) ([]summary, error) {
	page, err := p.matches(url.Values{"bot": {botID}, "status": {"running"}, "limit": {"1"}})
	return page.Matches, err
}

// identify finds who the bot is, and what its history tells. A bot that has
// never been seated is known to its owner alone.
func (p *pageRequest) identify(d *botData) error {
	var own bot
	if hasSession(p.r) {
		err := p.get("/bots/"+url.PathEscape(d.ID), &own)
		if _, another := refusalOf(err); err != nil && !another {
			return err
		}
		if err == nil {
			d.Own, d.Name, d.Mode, p.private = &own, own.Name, own.Mode, true
		}
	}
	var h history
	err := p.get("/bots/"+url.PathEscape(d.ID)+"/history", &h)
	if err != nil && !missing(err) {
		return err
	}
	if err == nil {
		d.Name, d.Owner, d.Mode, d.Aborted = h.Name, h.Owner, h.Mode, h.AbortedMatches
		d.Curve = curve(h.Points)
	}
	if d.Name == "" {
		page, err := p.matches(url.Values{"bot": {d.ID}, "limit": {"1"}})
		if err != nil {
			return err
		}
		if len(page.Matches) == 0 {
			return refused(http.StatusNotFound, "There is no such bot, or it has not played yet.")
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
	return p.tally(d, rows)
}

// tally sums up the bot's rated matches. A rival is named by the ladder's rows;
// one that is not in them has been removed.
func (p *pageRequest) tally(d *botData, rows []row) error {
	if p.server.Tallies == nil {
		return nil
	}
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
	for _, r := range met[:min(mostRivals, len(met))] {
		d.Rivals = append(d.Rivals, rival{r, names[r.BotID]})
	}
	return nil
}

// thinking is how long a bot took for its answers.
type thinking struct {
	Matches, Answers int
	Half, Most, Max  int64 // milliseconds: median, 95 of 100, the longest
}

// time looks at the answers of the bot's last matches.
func (p *pageRequest) time(d *botData) error {
	page, err := p.matches(url.Values{"bot": {d.ID}, "status": {"completed"}, "limit": {timed}})
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

// decision is one of the owner's private log.
type decision struct {
	ID        int             `json:"id"`
	Seq       int             `json:"seq"`
	Kind      string          `json:"kind"`
	At        string          `json:"at"`
	Request   decisionRequest `json:"request"`
	Answer    *string         `json:"answer"`
	ElapsedMs *int64          `json:"elapsedMs"`
	Outcome   string          `json:"outcome"`
	Cause     *string         `json:"cause"`
	Reason    *string         `json:"reason"`
	Message   *string         `json:"message"`
	Played    json.RawMessage `json:"played"`
}

type decisionRequest struct {
	View position `json:"view"`
}

// Why says in a sentence why an answer did not count.
func (d decision) Why() string {
	switch {
	case d.Message != nil && *d.Message != "":
		return *d.Message
	case d.Cause != nil:
		return causes[*d.Cause]
	}
	return ""
}

// Code is the reason's or the cause's.
func (d decision) Code() string {
	switch {
	case d.Reason != nil:
		return *d.Reason
	case d.Cause != nil:
		return *d.Cause
	}
	return ""
}

// Did is what was played, as JSON.
func (d decision) Did() string { return string(d.Played) }

// causes are those of docs/protocol.md, "timeout or illegal".
var causes = map[string]string{
	"deadline": "the time was up", "dropped": "the line was gone, or could not be opened in time",
	"malformed": "what came has not the shape of an answer", "oversized": "the message has more than 65,536 bytes",
}

// refusedDecision is one that cost a strike, with the board as the bot saw it.
type refusedDecision struct {
	decision
	Board template.HTML
}

type logData struct {
	Bot       bot
	Match     summary
	Decisions []decision
	Refused   []refusedDecision
}

// decisionLog shows an owner what its bot was asked in a match, what it
// answered, and why any of it was refused.
func (p *pageRequest) decisionLog() error {
	p.private = true
	var d logData
	id, matchID := url.PathEscape(p.r.PathValue("id")), url.PathEscape(p.r.PathValue("match"))
	if err := p.get("/bots/"+id, &d.Bot); err != nil {
		return err
	}
	if err := p.get("/matches/"+matchID, &d.Match); err != nil {
		return err
	}
	var log struct {
		Decisions []decision `json:"decisions"`
	}
	if err := p.get("/bots/"+id+"/matches/"+matchID+"/decisions", &log); err != nil {
		return err
	}
	d.Decisions = log.Decisions
	for _, decided := range log.Decisions {
		if decided.Outcome != "played" {
			d.Refused = append(d.Refused, refusedDecision{decided, island(decided.Request.View)})
		}
	}
	return p.render(http.StatusOK, "log.html", d)
}
