package web

import (
	"net/http"

	"hexarena/projections/leaderboard"
)

// againstCalls is the number of additional calls that a page of two bots counts as. It reads
// all completed matches of one of them.
const againstCalls = 4

// againstData is the data of against.html.
type againstData struct {
	Bot, Rival struct{ ID, Name string }
	Mode       string
	Seats      []leaderboard.SeatRival
	Matches    []summary
	Next       *string
}

// Total adds up the results at all seats.
func (d againstData) Total() (sum leaderboard.SeatRival) {
	for _, s := range d.Seats {
		sum.Games, sum.Above, sum.Level, sum.Below = sum.Games+s.Games, sum.Above+s.Above, sum.Level+s.Level, sum.Below+s.Below
	}
	return sum
}

// Shared returns the link to all matches of the two bots.
func (d againstData) Shared() string {
	return query{"bot": d.Bot.ID, "rival": d.Rival.ID}.after("/games")
}

// against shows the results of a bot against another one, as both had them in their matches.
func (p *pageRequest) against() error {
	var d againstData
	d.Bot.ID, d.Rival.ID = p.r.PathValue("id"), p.r.PathValue("rival")
	if d.Bot.ID == d.Rival.ID {
		return refused(http.StatusNotFound, "Choose two different bots.")
	}
	if err := p.heavy(againstCalls); err != nil {
		return err
	}
	page := p.matches(query{"bot": d.Bot.ID, "rival": d.Rival.ID, "limit": gamesPage})
	switch {
	case p.err != nil:
		return p.err
	case len(page.Matches) == 0:
		return refused(http.StatusNotFound, "These two bots have not played against each other.")
	}
	newest := page.Matches[0]
	d.Mode, d.Matches, d.Next = newest.Mode, page.Matches, page.Next
	d.Bot.Name, d.Rival.Name = playerOf(newest, d.Bot.ID).BotName, playerOf(newest, d.Rival.ID).BotName
	var err error
	if d.Seats, err = p.server.Tallies.Against(d.Bot.ID, d.Rival.ID); err != nil {
		return err
	}
	return p.render(http.StatusOK, "against.html", d)
}
