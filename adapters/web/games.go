package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/ladder"
)

// gamesPage is the number of matches on a page of games.
const gamesPage = "25"

// gamesData is the data of games.html.
type gamesData struct {
	Mode, Status, From, To, Before string
	Bot, Rival                     gamesBot
	Matches                        []summary
	Next                           *string
}

// gamesBot is a bot in the filters. Rows lists the bots with the name that the reader
// wrote, unless exactly one bot has this name.
type gamesBot struct {
	ID, Name string
	Rows     []row
	Written  bool // the reader wrote a name, and not an id
}

// Modes and Statuses list the values of two filters.
func (gamesData) Modes() []string    { return ladder.Modes }
func (gamesData) Statuses() []string { return botData{}.Statuses() }

// Filtered reports whether the page shows a selection.
func (d gamesData) Filtered() bool {
	return d.Mode+d.Status+d.From+d.To+d.Bot.Name+d.Rival.Name != ""
}

// Polled returns the path of the API that lists the newest match of the page.
func (d gamesData) Polled() string {
	q := d.query()
	q["limit"] = "1"
	return q.after("/matches")
}

// Seen returns the id and the status of the newest match on the page (static/refresh.mjs).
func (d gamesData) Seen() string { return seen(d.Matches) }

func seen(list []summary) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].ID + " " + list[0].Status
}

// JSON returns the path of the API that lists the selection.
func (d gamesData) JSON() string { return d.query().after("/matches") }

// gamesChoice is a filter whose name fits no bot, or several.
type gamesChoice struct {
	gamesData
	Field string
	gamesBot
}

// Choices lists the filters whose names fit no bot, or several.
func (d gamesData) Choices() []gamesChoice {
	var list []gamesChoice
	for _, c := range []gamesChoice{{d, "bot", d.Bot}, {d, "rival", d.Rival}} {
		if c.Name != "" && c.ID == "" {
			list = append(list, c)
		}
	}
	return list
}

// Older returns the link to the next page.
func (d gamesData) Older() string {
	q := d.query()
	q["before"] = *d.Next
	return q.after("/games")
}

// Newest returns the link to the first page.
func (d gamesData) Newest() string { return d.query().after("/games") }

// With returns the link to the same selection with another bot or rival.
func (d gamesData) With(name, botID string) string {
	q := d.query()
	q[name] = botID
	return q.after("/games")
}

func (d gamesData) query() query {
	return query{"mode": d.Mode, "status": d.Status, "bot": d.Bot.ID, "rival": d.Rival.ID, "from": d.From, "to": d.To}
}

// games shows a selection of matches. The form contains names of bots, and links contain
// their ids. If the reader wrote names, the page redirects to the address with the ids.
func (p *pageRequest) games() error {
	q := p.r.URL.Query()
	d := gamesData{Mode: q.Get("mode"), Status: q.Get("status"), From: q.Get("from"), To: q.Get("to"), Before: q.Get("before")}
	d.Bot, d.Rival = p.gamesBot(q.Get("bot"), d.Mode), p.gamesBot(q.Get("rival"), d.Mode)
	if d.Bot.Name == "" {
		d.Bot, d.Rival = d.Rival, gamesBot{}
	}
	unknown := d.Bot.Name != "" && d.Bot.ID == "" || d.Rival.Name != "" && d.Rival.ID == ""
	switch {
	case p.err != nil:
		return p.err
	case !unknown && (d.Bot.Written || d.Rival.Written):
		return p.seeOther(d.Newest())
	case d.Bot.ID != "" && d.Bot.ID == d.Rival.ID:
		return refused(http.StatusUnprocessableEntity, "Choose two different bots.")
	}
	if !unknown {
		listed := d.query()
		listed["before"], listed["limit"] = d.Before, gamesPage
		page := p.matches(listed)
		d.Matches, d.Next = page.Matches, page.Next
	}
	for _, b := range []*gamesBot{&d.Bot, &d.Rival} {
		if found, ok, _ := p.server.Registered(b.ID); ok {
			b.Name = found.Name
		} else if len(d.Matches) > 0 && b.ID != "" { // the bot was removed
			b.Name = playerOf(d.Matches[0], b.ID).BotName
		}
	}
	return p.render(http.StatusOK, "games.html", d)
}

// gamesBot finds a bot by its id, or by its name on the ladders.
func (p *pageRequest) gamesBot(text, mode string) gamesBot {
	text = strings.TrimSpace(text)
	if _, err := uuid.Parse(text); err == nil {
		return gamesBot{ID: text, Name: text}
	}
	b := gamesBot{Name: text, Written: text != ""}
	if text == "" {
		return b
	}
	for _, m := range ladder.Modes {
		if mode == "" || mode == m {
			b.Rows = append(b.Rows, p.ranking(m, "").named(text)...)
		}
	}
	if len(b.Rows) == 1 {
		b.ID, b.Rows = b.Rows[0].BotID, nil
	}
	return b
}

// maxNamed is the maximum number of bots with one name that a page lists.
const maxNamed = 20

// The method named() returns the bots with a name, in upper or lower case.
func (k *ranking) named(name string) []row {
	name = strings.ToLower(name)
	var found []row
	for i, n := range k.names {
		if n == name && len(found) < maxNamed {
			found = append(found, k.rows[i])
		}
	}
	return found
}

// length says how many turns an ended match had, and how long it took.
func length(m summary) string {
	if m.EndedAt == nil {
		return ""
	}
	var words []string
	switch {
	case m.Turns == 1:
		words = append(words, "1 turn")
	case m.Turns > 1:
		words = append(words, fmt.Sprintf("%d turns", m.Turns))
	}
	if d := parseTime(*m.EndedAt).Sub(parseTime(m.StartedAt)).Round(time.Second); d >= 0 {
		if d >= time.Hour {
			words = append(words, fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute))
		} else if d >= time.Minute {
			words = append(words, fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second))
		} else {
			words = append(words, fmt.Sprintf("%d s", d/time.Second))
		}
	}
	return strings.Join(words, ", ")
}
