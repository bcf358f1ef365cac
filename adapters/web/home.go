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
	homeRunning = "12" // running matches, at most
	homeLatest  = "6"  // completed matches
	homeRows    = 8    // bots of each ladder
)

type homeData struct {
	Running []summary
	Latest  []summary // completed matches
	Ladders []ladderTop
}

type ladderTop struct {
	Mode string
	Rows []row
	Bots int // of the whole ladder
}

func (p *pageRequest) home() error {
	running, err := p.matches(url.Values{"status": {"running"}, "limit": {homeRunning}})
	if err != nil {
		return err
	}
	latest, err := p.matches(url.Values{"status": {"completed"}, "limit": {homeLatest}})
	if err != nil {
		return err
	}
	d := homeData{Running: running.Matches, Latest: latest.Matches}
	for _, mode := range ladder.Modes {
		rows, err := p.leaderboard(mode, "")
		if err != nil {
			return err
		}
		d.Ladders = append(d.Ladders, ladderTop{mode, rows[:min(homeRows, len(rows))], len(rows)})
	}
	return p.render(http.StatusOK, "home.html", d)
}
