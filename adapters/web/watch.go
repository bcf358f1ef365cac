package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// watchFuncs are what templates of matches may call.
var watchFuncs = template.FuncMap{
	"moment": moment,
	"change": change,
}

// registerWatch adds the pages on which matches are watched.
func (s *Server) registerWatch() {
	s.handle("/watch/{id}", page{get: (*pageRequest).watch})
	kept := newPreviews()
	s.handle("/watch/{id}/preview.png", page{get: func(p *pageRequest) error { return p.preview(kept) }})
}

// watched is the record of a match, as far as its page shows it without a
// script.
type watched struct {
	ID        string          `json:"id"`
	Mode      string          `json:"mode"`
	Status    string          `json:"status"`
	Players   []watchedPlayer `json:"players"`
	StartedAt string          `json:"startedAt"`
	EndedAt   *string         `json:"endedAt"`
	Replay    []struct{}      `json:"replay"` // no more than how many there are
}

type watchedPlayer struct {
	Seat        int      `json:"seat"`
	BotID       string   `json:"botId"`
	BotName     string   `json:"botName"`
	Placement   *int     `json:"placement"`
	RatingDelta *float64 `json:"ratingDelta"`
}

// Running says whether there is more to come.
func (m watched) Running() bool { return m.Status == "running" }

// Names are those of the bots that play, in seat order.
func (m watched) Names() string {
	names := make([]string, len(m.Players))
	for i, p := range m.Players {
		names[i] = p.BotName
	}
	return list(names)
}

// Ranked are the players by placement; without placements, by seat.
func (m watched) Ranked() []watchedPlayer {
	return slices.SortedStableFunc(slices.Values(m.Players), func(a, b watchedPlayer) int {
		if a.Placement == nil || b.Placement == nil {
			return 0
		}
		return cmp.Compare(*a.Placement, *b.Placement)
	})
}

// watchPage is what watch.html is given.
type watchPage struct {
	watched
	Embed bool // in a frame of another site
}

// Width and Height are those of the preview.
func (watchPage) Width() int { return previewWidth }

// Height is the preview's.
func (watchPage) Height() int { return previewHeight }

func (p *pageRequest) watch() error {
	m, err := p.watched()
	if err != nil {
		return err
	}
	p.embeddable = p.r.URL.Query().Get("embed") == "1"
	return p.render(http.StatusOK, "watch.html", watchPage{m, p.embeddable})
}

// watched asks for the record of the match that the path names.
func (p *pageRequest) watched() (watched, error) {
	var m watched
	err := p.get("/matches/"+url.PathEscape(p.r.PathValue("id")), &m)
	return m, err
}

// list writes names as "Ann, Bea and Cid".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// moment writes a time of the API's for people.
func moment(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return at
	}
	return t.UTC().Format("2 January 2006, 15:04 UTC")
}

// change writes a change of a rating; none is a dash.
func change(delta *float64) string {
	if delta == nil {
		return "–"
	}
	return strings.Replace(fmt.Sprintf("%+.1f", *delta), "-", "−", 1)
}
