package web

import (
	"net/http"
	"net/url"

	"hexarena/domain/ladder"
)

func (s *Server) registerHome() {
	s.handle("/{$}", page{get: (*visit).home})
	s.handle("/theme", page{post: (*visit).chooseTheme})
}

const (
	homeMatches = "12" // shown at most
	homeLatest  = "6"  // of those that have ended
	homeRows    = 8    // of each ladder
)

type homeData struct {
	Running []summary
	Latest  []summary // completed
	Ladders []ladderTop
}

type ladderTop struct {
	Mode string
	Rows []row
	Bots int // on the whole ladder
}

func (v *visit) home() error {
	var d homeData
	var err error
	if d.Running, err = v.running("", homeMatches); err != nil {
		return err
	}
	latest, err := v.matches(url.Values{"status": {"completed"}, "limit": {homeLatest}})
	if err != nil {
		return err
	}
	d.Latest = latest.Matches
	for _, mode := range ladder.Modes {
		rows, err := v.leaderboard(mode, "")
		if err != nil {
			return err
		}
		d.Ladders = append(d.Ladders, ladderTop{mode, rows[:min(homeRows, len(rows))], len(rows)})
	}
	return v.render(http.StatusOK, "home.html", d)
}
