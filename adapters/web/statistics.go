package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"hexarena/adapters/rest"
	"hexarena/domain/stats"
)

// statisticsCalls is the number of additional calls that a page with the statistics of a
// match counts as. It reads all events of the match twice.
const statisticsCalls = 4

// statisticsData is the data of statistics.html.
type statisticsData struct {
	matchRecord
	Stats   rest.MatchStatistics
	Wins    *rest.WinProbability // nil unless the reader has asked for it
	Refused *Refusal             // why the arena did not compute Wins
}

// statistics shows the statistics of an ended match. With ?probability=1, it also shows the
// win probability. That call may start an expensive computation, so it counts against the
// reader's limits like the reader's own call.
func (p *pageRequest) statistics() error {
	if err := p.heavy(statisticsCalls); err != nil {
		return err
	}
	d := statisticsData{matchRecord: p.matchRecord()}
	path := "/matches/" + url.PathEscape(p.r.PathValue("id"))
	p.read(path+"/statistics", &d.Stats)
	p.giveUpTurn() // the win probability has a turn of its own
	if p.err == nil && p.r.URL.Query().Get("probability") == "1" {
		var wins rest.WinProbability
		switch err := p.send(http.MethodGet, path+"/win-probability", nil, &wins); {
		case err == nil:
			d.Wins = &wins
		case !errors.As(err, &d.Refused):
			return err
		}
	}
	return p.render(http.StatusOK, "statistics.html", d)
}

// seatTable is a table with a column for each seat.
type seatTable struct {
	ID, Caption string
	Players     []player
	Rows        []figureRow
}

// figureRow is a row of a seatTable. Aside is what the second value of a cell is.
type figureRow struct {
	Name, Aside string
	Strong      bool
	Cells       []figure
}

// figure is a value, with a less important one beside it.
type figure struct{ Value, Aside string }

// seatFigure returns the value for a seat.
type seatFigure func(stats.Seat) figure

// count is a number without anything beside it.
func count(of func(stats.Seat) int) seatFigure {
	return func(s stats.Seat) figure { return figure{Value: fmt.Sprint(of(s))} }
}

// signed is a number with its sign, such as a balance. sign is -1 for cards that a seat has
// lost.
func signed(sign int, of func(stats.Seat) int) seatFigure {
	return func(s stats.Seat) figure {
		if n := sign * of(s); n != 0 {
			return figure{Value: strings.Replace(fmt.Sprintf("%+d", n), "-", "−", 1)}
		}
		return figure{Value: "0"}
	}
}

func (d statisticsData) table(id, caption string, rows ...figureRow) seatTable {
	return seatTable{id, caption, d.Players, rows}
}

func (d statisticsData) row(name string, of seatFigure) figureRow {
	r := figureRow{Name: name}
	for _, s := range d.Stats.Seats {
		r.Cells = append(r.Cells, of(s))
	}
	return r
}

// strong marks a row that sums up others.
func strong(r figureRow) figureRow {
	r.Strong = true
	return r
}

// Length says how long the match was.
func (d statisticsData) Length() string {
	d.Turns = d.Stats.Turns // an older summary does not contain it
	return length(d.summary)
}

// Result shows how a completed match ended.
func (d statisticsData) Result() seatTable {
	places, totals, ratings := figureRow{Name: "Place"}, figureRow{Name: "Points"}, figureRow{Name: "Rating"}
	for _, p := range d.Players {
		total, change := "–", "–"
		if points := d.Points(p.Seat); points != nil {
			total = fmt.Sprint(points.Total)
		}
		if p.RatingDelta != nil {
			change = delta(*p.RatingDelta)
		}
		places.Cells = append(places.Cells, figure{Value: place(p.Placement)})
		totals.Cells = append(totals.Cells, figure{Value: total})
		ratings.Cells = append(ratings.Cells, figure{Value: change})
	}
	return d.table("result", "Result", places, totals, ratings)
}

// Production compares the cards that the hexes paid with their expectation.
func (d statisticsData) Production() seatTable {
	paid := func(name string, of func(stats.Totals) int) figureRow {
		r := d.row(name, func(s stats.Seat) figure {
			return figure{fmt.Sprint(of(s.Received)), fmt.Sprintf("%.1f", cards(of(s.Expected36)))}
		})
		r.Aside = "expected"
		return r
	}
	return d.table("production", "Cards from rolls, actual and expected",
		paid("Brick", func(t stats.Totals) int { return t.Brick }),
		paid("Lumber", func(t stats.Totals) int { return t.Lumber }),
		paid("Wool", func(t stats.Totals) int { return t.Wool }),
		paid("Grain", func(t stats.Totals) int { return t.Grain }),
		paid("Ore", func(t stats.Totals) int { return t.Ore }),
		strong(paid("All cards", stats.Totals.Sum)),
		strong(d.row("Luck index", func(s stats.Seat) figure { return figure{Value: delta(s.Luck)} })),
		d.row("Luck index in 36ths", signed(1, func(s stats.Seat) int { return s.Luck36 })),
		d.row("Blocked by bandit", count(func(s stats.Seat) int { return s.Blocked.Sum() })),
	)
}

// Cards lists where the cards of each seat came from and went. The rows add up.
func (d statisticsData) Cards() seatTable {
	got := func(name string, of func(stats.Seat) int) figureRow { return d.row(name, signed(1, of)) }
	lost := func(name string, of func(stats.Seat) int) figureRow { return d.row(name, signed(-1, of)) }
	return d.table("cards", "Cards gained and lost",
		got("Second settlement", func(s stats.Seat) int { return s.Setup.Sum() }),
		got("Rolls", func(s stats.Seat) int { return s.Received.Sum() }),
		got("Stolen from others", func(s stats.Seat) int { return s.Stole }),
		got("Windfall cards", func(s stats.Seat) int { return s.Windfall }),
		got("Embargo cards", func(s stats.Seat) int { return s.EmbargoTook }),
		got("Received in trades", func(s stats.Seat) int { return s.PlayerTrades.Got.Sum() + s.BankTrades.Got.Sum() }),
		lost("Given in trades", func(s stats.Seat) int { return s.PlayerTrades.Gave.Sum() + s.BankTrades.Gave.Sum() }),
		lost("Spent", func(s stats.Seat) int { return s.Spent }),
		lost("Lost to sevens", func(s stats.Seat) int { return s.Discarded }),
		lost("Stolen by others", func(s stats.Seat) int { return s.Stolen }),
		lost("Lost to embargoes", func(s stats.Seat) int { return s.EmbargoLost }),
		strong(d.row("At the end", count(func(s stats.Seat) int { return s.CardsAtEnd }))),
	)
}

// Trades counts offers, answers and trades.
func (d statisticsData) Trades() seatTable {
	return d.table("trades", "Trades made and refused",
		d.row("Offers made", count(func(s stats.Seat) int { return s.PlayerTrades.Offers })),
		d.row("Offers traded", count(func(s stats.Seat) int { return s.PlayerTrades.Completed })),
		d.row("Offers accepted", count(func(s stats.Seat) int { return s.PlayerTrades.Accepted })),
		d.row("Offers declined", count(func(s stats.Seat) int { return s.PlayerTrades.Declined })),
		d.row("Trades with seats", count(func(s stats.Seat) int { return s.PlayerTrades.Trades })),
		d.row("Balance with seats", signed(1, func(s stats.Seat) int { return s.PlayerTrades.Balance })),
		d.row("Trades with bank", count(func(s stats.Seat) int { return s.BankTrades.Trades })),
		d.row("Balance with bank", signed(1, func(s stats.Seat) int { return s.BankTrades.Balance })),
	)
}

// Time shows the time that each seat used.
func (d statisticsData) Time() seatTable {
	return d.table("time", "Time used",
		d.row("Decisions", count(func(s stats.Seat) int { return s.Decisions })),
		d.row("Seconds used", func(s stats.Seat) figure {
			return figure{Value: fmt.Sprintf("%.1f", float64(s.ThinkingMs)/1000)}
		}),
		d.row("Mean in ms", count(func(s stats.Seat) int { return int(s.ThinkingMs) / max(s.Decisions, 1) })),
	)
}

// cards converts 36ths of a card.
func cards(n36 int) float64 { return float64(n36) / 36 }

// diceBar is a total of the dice. The bars are in percent of the longest one.
type diceBar struct {
	Total, Count             int
	Expected, Rolled, Wanted float64
}

// Bars compares the rolls with their expectation.
func (d statisticsData) Bars() []diceBar {
	most := 1.0
	for _, t := range d.Stats.Dice {
		most = max(most, float64(t.Count), cards(t.Expected36))
	}
	list := make([]diceBar, 0, len(d.Stats.Dice))
	for _, t := range d.Stats.Dice {
		expected := cards(t.Expected36)
		list = append(list, diceBar{t.Total, t.Count, expected, 100 * float64(t.Count) / most, 100 * expected / most})
	}
	return list
}

// outlook is a row of the table of the win probability. Seq is the event that shows the
// match at this point.
type outlook struct {
	At    string
	Seq   int
	Seats []chance
}

// chance is the probability that a seat wins, and its standard error.
type chance struct{ Wins, Error float64 }

// Outlooks lists the win probability. A turn begins with its roll. The roll is the event
// after the last one that the probability takes into account.
func (d statisticsData) Outlooks() []outlook {
	all := d.Wins.Outlooks
	list := make([]outlook, 0, len(all))
	for i, o := range all {
		row := outlook{At: fmt.Sprintf("Turn %d", o.Turn), Seq: o.Seq + 1}
		switch {
		case o.Turn == 0:
			row.At, row.Seq = "Setup", o.Seq
		case i == len(all)-1 && d.Status == "completed":
			row.At, row.Seq = "End", o.Seq
		}
		for seat := range o.Wins {
			row.Seats = append(row.Seats, chance{o.Wins[seat], o.Error[seat]})
		}
		list = append(list, row)
	}
	return list
}
