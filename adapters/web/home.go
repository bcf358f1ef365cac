package web

import (
	"net/http"

	"hexarena/domain/ladder"
)

const (
	homeRunning = "12" // maximum number of running matches
	homeLatest  = "6"  // number of completed matches
	homeRows    = 8    // number of bots of each ladder
)

type homeData struct {
	Running []summary
	Latest  []summary // completed matches
	Ladders []ladderTop
}

type ladderTop struct {
	Mode string
	Rows []row
	Bots int // number of bots in the whole ladder
}

func (p *pageRequest) home() error {
	d := homeData{
		Running: p.matches(query{"status": "running", "limit": homeRunning}).Matches,
		Latest:  p.matches(query{"status": "completed", "limit": homeLatest}).Matches,
	}
	for _, mode := range ladder.Modes {
		rows := p.ranking(mode, "").rows
		d.Ladders = append(d.Ladders, ladderTop{mode, rows[:min(homeRows, len(rows))], len(rows)})
	}
	return p.render(http.StatusOK, "home.html", d)
}
