// Package stats counts what happened in a match: rolls, production and its expectation,
// lost and stolen cards, trades and time. docs/statistics.md defines each number. [Of]
// reads only the public events of an ended match, so anyone can repeat its count.
package stats

import (
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// Ways returns how many of the 36 results of two dice have a total.
func Ways(total int) int { return 6 - max(total-7, 7-total) }

// The totals of two dice.
const (
	lowest  = 2
	highest = 12
)

// Totals counts cards by resource. Some totals count 36ths of a card.
type Totals struct {
	Brick  int `json:"brick"`
	Lumber int `json:"lumber"`
	Wool   int `json:"wool"`
	Grain  int `json:"grain"`
	Ore    int `json:"ore"`
}

// Sum returns the number of cards.
func (t Totals) Sum() int { return t.Brick + t.Lumber + t.Wool + t.Grain + t.Ore }

func (t *Totals) add(c game.Cards, times int) {
	t.Brick += times * int(c[board.Brick])
	t.Lumber += times * int(c[board.Lumber])
	t.Wool += times * int(c[board.Wool])
	t.Grain += times * int(c[board.Grain])
	t.Ore += times * int(c[board.Ore])
}

// DiceTotal compares how often a total was rolled with its expectation.
type DiceTotal struct {
	Total      int `json:"total" minimum:"2" maximum:"12"`
	Count      int `json:"count" doc:"How often the total was rolled."`
	Expected36 int `json:"expected36" doc:"How often it is expected in this number of rolls, in 36ths."`
}

// Trades counts a seat's trades with other seats.
type Trades struct {
	Offers    int    `json:"offers" doc:"The offers that the seat made."`
	Completed int    `json:"completed" doc:"How many of its own offers led to a trade."`
	Accepted  int    `json:"accepted" doc:"How often the seat accepted an offer. The trade may still have gone to another seat."`
	Declined  int    `json:"declined" doc:"How often the seat declined an offer, including defaults."`
	Trades    int    `json:"trades" doc:"The trades with another seat, with offers of either seat."`
	Gave      Totals `json:"gave"`
	Got       Totals `json:"got"`
	Balance   int    `json:"balance" doc:"The cards got minus the cards given."`
}

// Bank counts a seat's trades with the bank.
type Bank struct {
	Trades  int    `json:"trades"`
	Gave    Totals `json:"gave"`
	Got     Totals `json:"got"`
	Balance int    `json:"balance" doc:"The cards got minus the cards given."`
}

// Place is one of a seat's two settlements of the setup.
type Place struct {
	Vertex int `json:"vertex"`
	Pips   int `json:"pips" doc:"How many of the 36 results of two dice pay a card here, summed over the hexes around the vertex."`
}

// Seat has the statistics of one seat.
type Seat struct {
	Seat int `json:"seat"`

	Rolls  int `json:"rolls" doc:"The seat's own rolls."`
	Sevens int `json:"sevens" doc:"How many of its own rolls were a 7."`

	Opening []Place `json:"opening" nullable:"false" doc:"The settlements of the setup, in the order of their placement."`
	Setup   Totals  `json:"setup" doc:"The cards of the second settlement. They do not count in the luck index."`

	Received   Totals  `json:"received" doc:"The cards that the hexes paid, over the rolls of all seats."`
	Expected36 Totals  `json:"expected36" doc:"The expected payment over the same rolls, in 36ths of a card."`
	Luck36     int     `json:"luck36" doc:"The luck index in 36ths of a card: 36 times the cards received, minus the expectation in 36ths."`
	Luck       float64 `json:"luck" doc:"The luck index in cards: luck36 divided by 36."`
	Blocked    Totals  `json:"blocked" doc:"The cards that the rolls did not pay because the bandit was on the hex."`

	Discarded    int    `json:"discarded" doc:"The cards lost to sevens."`
	Stole        int    `json:"stole" doc:"The cards that the seat stole with the bandit."`
	Stolen       int    `json:"stolen" doc:"The cards that other seats stole from the seat with the bandit."`
	EmbargoTook  int    `json:"embargoTook" doc:"The cards that the seat collected with embargo cards."`
	EmbargoLost  int    `json:"embargoLost" doc:"The cards that the seat lost to embargo cards."`
	Windfall     int    `json:"windfall" doc:"The cards taken with windfall cards."`
	Spent        int    `json:"spent" doc:"The cards paid for roads, settlements, cities and development cards."`
	CardsAtEnd   int    `json:"cardsAtEnd" doc:"The resource cards in the seat's hand at the end."`
	PlayerTrades Trades `json:"playerTrades"`
	BankTrades   Bank   `json:"bankTrades"`

	Decisions  int   `json:"decisions" doc:"The decisions that the seat was asked for."`
	ThinkingMs int64 `json:"thinkingMs" doc:"The time that the seat took for them."`
}

// Match has the statistics of a match.
type Match struct {
	Turns int         `json:"turns"`
	Rolls int         `json:"rolls"`
	Dice  []DiceTotal `json:"dice" nullable:"false" doc:"The totals from 2 to 12."`
	Seats []Seat      `json:"seats" nullable:"false"`
}

// fold is the state after some events of a match.
type fold struct {
	Match
	spectator match.Spectator
	roll      *payment // the last roll, until the event after it shows that the hexes paid
}

// payment is what one roll pays to each seat, and what it is expected to pay.
type payment struct {
	received, blocked [game.MaxSeats]game.Cards
	expected36        [game.MaxSeats]Totals
}

// Of returns the statistics of an ended match. The parameter events has the events after
// started.
func Of(started match.Started, events []match.Event) Match {
	f := fold{Match: Match{Seats: make([]Seat, len(started.Seats)), Dice: make([]DiceTotal, 0, highest-lowest+1)}}
	for i := range f.Seats {
		f.Seats[i].Seat, f.Seats[i].Opening = i, []Place{}
	}
	for total := lowest; total <= highest; total++ {
		f.Dice = append(f.Dice, DiceTotal{Total: total})
	}
	f.spectator, _ = f.spectator.Fold(started)
	for _, e := range events {
		f.add(e)
	}
	f.pay()
	return f.end()
}

// add folds one event.
func (f *fold) add(e match.Event) {
	after, public := f.spectator.Fold(e)
	if !public {
		return
	}
	if _, over := e.(match.GameEnded); over {
		f.roll = nil // a roll right before the end pays nothing: its seat has won
	}
	f.pay()
	switch e := e.(type) {
	case match.DiceRolled:
		f.rolled(e)
	case match.ActionPlayed:
		f.act(e, &after)
		if !e.Default && e.ElapsedMs != nil {
			f.decided(e.Seat, *e.ElapsedMs)
		}
	case match.DecisionTimedOut:
		f.decided(e.Seat, e.ElapsedMs)
	case match.AnswerRejected:
		f.decided(e.Seat, e.ElapsedMs)
	case match.CardStolen:
		f.Seats[e.Seat].Stole++
		f.Seats[e.Victim].Stolen++
	case match.TradeExecuted:
		f.traded(e)
	}
	f.spectator = after
}

func (f *fold) decided(seat int, elapsed int64) {
	f.Seats[seat].Decisions++
	f.Seats[seat].ThinkingMs += elapsed
}

// rolled counts a roll. The board before the roll decides what the roll pays.
func (f *fold) rolled(e match.DiceRolled) {
	total, p := e.Dice[0]+e.Dice[1], &f.spectator.Public
	f.Turns, f.Rolls = e.Turn, f.Rolls+1
	f.Dice[total-lowest].Count++
	f.Seats[e.Seat].Rolls++
	if total == 7 {
		f.Seats[e.Seat].Sevens++
	}
	f.roll = &payment{received: p.Production(uint8(total)), blocked: p.Blocked(uint8(total))}
	f.roll.expected36 = Expected36(p)
}

// Expected36 returns what the next roll is expected to pay to each seat, in 36ths of a
// card.
func Expected36(p *game.Public) (expected [game.MaxSeats]Totals) {
	for total := lowest; total <= highest; total++ {
		for seat, cards := range p.Production(uint8(total)) {
			expected[seat].add(cards, Ways(total))
		}
	}
	return expected
}

// pay counts what the last roll paid.
func (f *fold) pay() {
	if f.roll == nil {
		return
	}
	for i := range f.Seats {
		s := &f.Seats[i]
		s.Received.add(f.roll.received[i], 1)
		s.Blocked.add(f.roll.blocked[i], 1)
		s.Expected36 = s.Expected36.plus(f.roll.expected36[i])
	}
	f.roll = nil
}

func (t Totals) plus(o Totals) Totals {
	return Totals{t.Brick + o.Brick, t.Lumber + o.Lumber, t.Wool + o.Wool, t.Grain + o.Grain, t.Ore + o.Ore}
}

// act counts an action. The parameter after is the spectator after it.
func (f *fold) act(e match.ActionPlayed, after *match.Spectator) {
	kind, _ := game.ParseKind(e.Kind)
	read, _ := match.ReadAction(kind, e.Action) // the action was checked before it was stored
	a, p, s := read.Action, &f.spectator.Public, &f.Seats[e.Seat]
	switch a.Type {
	case game.Setup:
		if len(s.Opening) > 0 {
			s.Setup.add(p.FirstYield(a.Vertex), 1)
		}
		s.Opening = append(s.Opening, Place{int(a.Vertex), p.Layout.Pips(a.Vertex)})
	case game.BuildRoad, game.BuildSettlement, game.BuildCity, game.BuyDev:
		s.Spent += int(p.HandCounts[e.Seat]) - int(after.Public.HandCounts[e.Seat])
	case game.PlayWindfall:
		s.Windfall += a.Taking.Total()
	case game.PlayEmbargo:
		for other, n := range e.Collected {
			f.Seats[other].EmbargoLost += n
			s.EmbargoTook += n
		}
	case game.BankTrade:
		s.BankTrades.Trades++
		s.BankTrades.Gave.add(one(a.Give), int(p.Rate(uint8(e.Seat), a.Give)))
		s.BankTrades.Got.add(one(a.Get), 1)
	case game.OfferTrade:
		s.PlayerTrades.Offers++
	case game.Discard:
		s.Discarded += a.Giving.Total()
	case game.Respond:
		if a.Accept {
			s.PlayerTrades.Accepted++
		} else {
			s.PlayerTrades.Declined++
		}
	}
}

func one(r board.Resource) (c game.Cards) {
	c[r] = 1
	return c
}

// traded counts a trade. The seat that gives first made the offer.
func (f *fold) traded(e match.TradeExecuted) {
	from, to := &f.Seats[e.From].PlayerTrades, &f.Seats[e.To].PlayerTrades
	from.Completed++
	from.Trades++
	to.Trades++
	from.Gave.add(game.Cards(e.Give), 1)
	from.Got.add(game.Cards(e.Get), 1)
	to.Gave.add(game.Cards(e.Get), 1)
	to.Got.add(game.Cards(e.Give), 1)
}

// end sets the numbers that follow from others.
func (f *fold) end() Match {
	for i := range f.Dice {
		f.Dice[i].Expected36 = f.Rolls * Ways(f.Dice[i].Total)
	}
	for i := range f.Seats {
		s := &f.Seats[i]
		s.Luck36 = 36*s.Received.Sum() - s.Expected36.Sum()
		s.Luck = float64(s.Luck36) / 36
		s.CardsAtEnd = int(f.spectator.Public.HandCounts[i])
		s.PlayerTrades.Balance = s.PlayerTrades.Got.Sum() - s.PlayerTrades.Gave.Sum()
		s.BankTrades.Balance = s.BankTrades.Got.Sum() - s.BankTrades.Gave.Sum()
	}
	return f.Match
}
