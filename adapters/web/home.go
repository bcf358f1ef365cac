package web

import (
	"net/http"
	"net/url"

	"hexarena/domain/ladder"
)

func (s *Server) registerHome() {
	s.handle("/{$}", page{get: (*pageRequest).home})
	s.handle("/theme", page{post: (*pageRequest).chooseTheme})
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

func (p *pageRequest) home() error {
	var d homeData
	var err error
	if d.Running, err = p.running("", homeMatches); err != nil {
		return err
	}
	latest, err := p.matches(url.Values{"status": {"completed"}, "limit": {homeLatest}})
	if err != nil {
		return err
	}
	d.Latest = latest.Matches
	for _, mode := range ladder.Modes {
		rows, err := p.leaderboard(mode, "")
		if err != nil {
			return err
		}
		d.Ladders = append(d.Ladders, ladderTop{mode, rows[:min(homeRows, len(rows))], len(rows)})
	}
	return p.render(http.StatusOK, "home.html", d)
}
