package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hexarena/domain/ladder"
)

// matchRecord contains the parts of a match's record that the match's page
// shows without a script.
type matchRecord struct {
	summary
	Replay []replayed `json:"replay"`
}

// replayed contains the parts of an event from which a seat's points add up.
type replayed struct {
	Kind string `json:"kind"`
	Seat *int   `json:"seat"`
	Data struct {
		Kind   string `json:"kind"`
		Award  string `json:"award"`
		To     *int   `json:"to"`
		Scores []int  `json:"scores"`
		Action struct {
			Type string `json:"type"`
		} `json:"action"`
	} `json:"data"`
}

// points lists where the points of one seat come from. They add up to Total.
type points struct {
	Total, Settlements, Cities, Road, Army, Cards int
}

// Points returns the points of a seat at the end of a completed match, or nil.
func (m matchRecord) Points(seat int) *points {
	var p points
	for _, e := range m.Replay {
		mine := e.Seat != nil && *e.Seat == seat
		switch {
		case e.Kind == "end" && seat < len(e.Data.Scores):
			p.Total = e.Data.Scores[seat]
			p.Cards = p.Total - p.Settlements - p.Cities - p.Road - p.Army
			return &p
		case e.Kind == "award":
			n := 0
			if e.Data.To != nil && *e.Data.To == seat {
				n = 2
			}
			if e.Data.Award == "longestRoad" {
				p.Road = n
			} else {
				p.Army = n
			}
		case e.Kind != "action" || !mine:
		case e.Data.Kind == "setup" || e.Data.Action.Type == "build_settlement":
			p.Settlements++
		case e.Data.Action.Type == "build_city":
			p.Settlements--
			p.Cities += 2
		}
	}
	return nil
}

// Rating returns the rating of a seat's bot before and after the match, or "".
func (m matchRecord) Rating(seat int) string {
	if seat >= len(m.Seats) || m.Seats[seat].RatingBefore == nil || m.Seats[seat].RatingAfter == nil {
		return ""
	}
	return decimal(*m.Seats[seat].RatingBefore) + " → " + decimal(*m.Seats[seat].RatingAfter)
}

// Running reports whether the match has not ended yet.
func (m matchRecord) Running() bool { return m.Status == "running" }

// Names lists the bots in seat order.
func (m matchRecord) Names() string {
	names := make([]string, len(m.Players))
	for i, p := range m.Players {
		names[i] = p.BotName
	}
	return joinNames(names)
}

// Ranked lists the players by placement, or by seat if they have no placements.
func (m matchRecord) Ranked() []player {
	return slices.SortedStableFunc(slices.Values(m.Players), func(a, b player) int {
		if a.Placement == nil || b.Placement == nil {
			return 0
		}
		return cmp.Compare(*a.Placement, *b.Placement)
	})
}

// watchPage is the data of watch.html.
type watchPage struct {
	matchRecord
	Path          string // of the match or the trial in the API
	Trial         bool   // only the owner of the bot sees the page
	House         string // the ids of the house bots, separated by spaces
	Embed         bool   // another site shows the page in a frame
	Kiosk         bool   // see pageRequest.kiosk
	Follow        *follow
	Width, Height int    // size of the preview
	Logged        []bool // by seat: whether the record contains the decision log; only in a viewer
}

// Bare reports whether the page has no header and no footer.
func (w watchPage) Bare() bool { return w.Embed || w.Kiosk }

// Links reports whether the page links to other matches of its bots.
func (w watchPage) Links() bool { return !w.Trial && !w.Bare() }

// HasLog reports whether a viewer has the decision log of a seat.
func (w watchPage) HasLog(seat int) bool { return seat >= 0 && seat < len(w.Logged) && w.Logged[seat] }

// HasLogs reports whether a viewer has the decision log of a seat of the match.
func (w watchPage) HasLogs() bool { return slices.Contains(w.Logged, true) }

func (p *pageRequest) watch() error {
	m := p.matchRecord()
	p.embeddable = p.err == nil && p.r.URL.Query().Get("embed") == "1"
	if chosen := p.r.URL.Query().Get("theme"); chosen == "light" || chosen == "dark" {
		p.theme = chosen
	}
	return p.render(http.StatusOK, "watch.html", watchPage{
		matchRecord: m, Path: "/matches/" + m.ID, House: p.houseBots(m), Embed: p.embeddable, Kiosk: p.kiosk(), Follow: p.follow, Width: previewWidth, Height: previewHeight,
	})
}

// houseBots lists the ids of the players that are house bots. The checker on the page
// does not count their shares of the seed.
func (p *pageRequest) houseBots(m matchRecord) string {
	var ids []string
	for _, player := range m.Players {
		if p.server.House(player.BotID) {
			ids = append(ids, player.BotID)
		}
	}
	return strings.Join(ids, " ")
}

// The function aborted() says in plain words why a match was aborted. static/watch.mjs
// has the same words.
func aborted(reason string) string {
	switch reason {
	case ladder.WhyWallClock:
		return "aborted: the time limit was reached"
	case ladder.WhyOperator:
		return "aborted by the operator"
	case ladder.WhyBeacon:
		return "voided: the beacon’s round did not arrive in time"
	}
	return "aborted"
}

// matchRecord reads the record of the match in the path.
func (p *pageRequest) matchRecord() (m matchRecord) {
	p.read("/matches/"+url.PathEscape(p.r.PathValue("id")), &m)
	return m
}

// joinNames joins names in the form "Ann, Bea and Cid".
func joinNames(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
