package web

import "net/http"

func (s *Server) registerHome() {
	s.handle("/{$}", page{get: (*visit).home})
	s.handle("/theme", page{post: (*visit).chooseTheme})
}

const (
	homeMatches = "12" // shown at most
	homeRows    = 8    // of each ladder
)

type homeData struct {
	Running []summary
	Latest  []summary // ended, where none is on
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
	if len(d.Running) == 0 {
		page, err := v.matches(map[string][]string{"limit": {"6"}})
		if err != nil {
			return err
		}
		d.Latest = page.Matches
	}
	for _, mode := range modes {
		rows, err := v.leaderboard(mode, "")
		if err != nil {
			return err
		}
		d.Ladders = append(d.Ladders, ladderTop{mode, rows[:min(homeRows, len(rows))], len(rows)})
	}
	return v.render(http.StatusOK, "home.html", d)
}
