package web

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"

	"hexarena/adapters/rest"
	"hexarena/projections/leaderboard"
)

const (
	botMatches   = "25" // matches on a page of the list
	maxRivals    = 20
	timedMatches = "3" // the number of matches from which the thinking times are computed

	// The page sums up the bot's whole history. It counts as botCalls additional calls,
	// plus one for each pointsPerCall completed matches.
	botCalls      = 4
	pointsPerCall = 200
)

type botData struct {
	ID, Name, Owner, Mode string
	Own                   *rest.Bot // nil unless the reader owns the bot
	Logs                  bool      // whether the reader may see the bot's decision logs
	Row                   *row
	Aborted               int
	Clock                 clockAborts
	Curve                 template.HTML
	Seats                 []leaderboard.SeatTally
	Versions              []leaderboard.VersionTally // empty if the bot never named a version
	Rivals                []rival
	Met                   int // how many bots this bot has played against; Rivals lists only the most frequent
	Thinking              *thinking
	Running               []summary
	Newest                []summary // at most one match
	Matches               []summary
	Status, Before        string // Matches lists only matches with this status that are older than the match Before
	Next                  *string
}

// Statuses lists the filters of matches.
func (botData) Statuses() []string { return []string{"running", "completed", "aborted"} }

// Polled returns the path of the API that lists the bot's newest match.
func (d botData) Polled() string { return query{"bot": d.ID, "limit": "1"}.after("/matches") }

// Seen returns the id and the status of the bot's newest match (static/refresh.mjs).
func (d botData) Seen() string { return seen(d.Newest) }

// meanPlace returns the mean placement in a number of matches. The parameter places has
// the number of matches with each placement.
func meanPlace(places [4]int, games int) float64 {
	sum := 0
	for i, n := range places {
		sum += (i + 1) * n
	}
	return float64(sum) / float64(max(1, games))
}

// clockAborts counts the matches that the wall clock aborted.
type clockAborts struct{ leaderboard.ClockAborts }

// Percent returns the bot's share of the time that all bots used in these matches. It
// counts only matches with clocks.
func (c clockAborts) Percent() int64 { return (100*c.UsedMs + c.AllMs/2) / max(1, c.AllMs) }

// rival counts the matches against another bot.
type rival struct {
	leaderboard.Rival
	Name string // empty if the bot was removed
}

// The method bot() shows the public page of a bot. The bot's owner also gets links to
// its decision logs, even after the bot was removed.
func (p *pageRequest) bot() error {
	q := p.r.URL.Query()
	d := botData{ID: p.r.PathValue("id"), Status: q.Get("status"), Before: q.Get("before")}
	if err := p.heavy(botCalls); err != nil {
		return err
	}
	if err := p.loadIdentity(&d); err != nil {
		return err
	}
	if err := p.loadTallies(&d); err != nil {
		return err
	}
	page := p.matches(query{"bot": d.ID, "limit": botMatches, "status": d.Status, "before": d.Before})
	d.Matches, d.Next = page.Matches, page.Next
	d.Newest = p.matches(query{"bot": d.ID, "limit": "1"}).Matches
	d.Running = p.runningMatch(d.ID)
	d.Thinking = p.thinking(d.ID)
	return p.render(http.StatusOK, "bot.html", d)
}

// loadIdentity finds the bot's name, owner, mode and rating curve.
func (p *pageRequest) loadIdentity(d *botData) error {
	path := "/bots/" + url.PathEscape(d.ID)
	var own rest.Bot
	switch {
	case !hasSession(p.r):
	case p.find(path, &own):
		d.Own, d.Name, d.Mode, d.Logs, p.private = &own, own.Name, own.Mode, true, true
	case p.find(path+"/decisions?limit=1", nil): // the reader removed this bot
		d.Logs, p.private = true, true
	}
	var h history
	if p.find(path+"/history", &h) {
		d.Name, d.Owner, d.Mode, d.Aborted = h.Name, h.Owner, h.Mode, h.AbortedMatches
		if err := p.heavy(len(h.Points) / pointsPerCall); err != nil {
			return err
		}
		d.Curve = ratingCurve(h.Points)
	}
	if d.Name == "" { // the bot has no rated match yet
		page := p.matches(query{"bot": d.ID, "limit": "1"})
		switch {
		case p.err != nil:
			return p.err
		case len(page.Matches) > 0:
			d.Name, d.Mode = playerOf(page.Matches[0], d.ID).BotName, page.Matches[0].Mode
		default:
			b, err := p.registered(d.ID)
			if err != nil {
				return err
			}
			d.Name, d.Owner, d.Mode = b.Name, b.Owner, b.Mode
		}
	}
	if d.Owner == "" {
		b, _, _ := p.server.Registered(d.ID)
		d.Owner = b.Owner
	}
	return nil
}

// loadTallies finds the bot's rank and sums up its matches. It takes the names of
// rivals from the leaderboard, which does not list removed bots.
func (p *pageRequest) loadTallies(d *botData) (err error) {
	ranking := p.ranking(d.Mode, "")
	if r, ok := ranking.find(d.ID); ok {
		d.Row, d.Owner = &r, r.Owner
	}
	if d.Seats, err = p.server.Tallies.BySeat(d.ID); err != nil {
		return err
	}
	if d.Versions, err = p.server.Tallies.ByVersion(d.ID); err != nil {
		return err
	}
	if len(d.Versions) == 1 && d.Versions[0].Version == "" {
		d.Versions = nil
	}
	if d.Clock.ClockAborts, err = p.server.Tallies.ClockAborts(d.ID); err != nil {
		return err
	}
	met, err := p.server.Tallies.HeadToHead(d.ID)
	d.Met = len(met)
	for _, r := range met[:min(maxRivals, len(met))] {
		named, _ := ranking.find(r.BotID)
		d.Rivals = append(d.Rivals, rival{r, named.Name})
	}
	return err
}

// The type thinking contains statistics of a bot's response times.
type thinking struct {
	Matches, Answers int
	Half, Most, Max  int64 // milliseconds: median, 95th percentile, maximum
}

// The method thinking() returns the response times in the bot's last completed matches.
// If the bot has not completed a match, it returns nil.
func (p *pageRequest) thinking(botID string) *thinking {
	page := p.matches(query{"bot": botID, "status": "completed", "limit": timedMatches})
	var all []int64
	for _, m := range page.Matches {
		var record struct {
			Replay []struct {
				Kind string
				Seat *int
				Data struct{ ElapsedMs *int64 }
			}
		}
		p.read("/matches/"+url.PathEscape(m.ID), &record)
		seat := playerOf(m, botID).Seat
		for _, e := range record.Replay {
			if e.Kind == "action" && e.Seat != nil && *e.Seat == seat && e.Data.ElapsedMs != nil {
				all = append(all, *e.Data.ElapsedMs)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &thinking{len(page.Matches), len(all), all[len(all)/2], all[len(all)*95/100], all[len(all)-1]}
}
