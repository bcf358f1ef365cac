package match

import (
	"slices"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
)

// The time bank (docs/rules.md, "Time bank") divides the wall clock among the seats,
// so that no seat can use up the time of the others. A seat first uses its own
// guaranteed time. After that, it uses the time that all seats share.
const (
	bankPercent      = 95 // the seats' share of the wall clock
	guaranteePercent = 10 // each seat's guaranteed share of the wall clock
	bankParts        = 20 // a decision may use 1/bankParts of the time left
)

// MinBankDecisions is the shortest wall clock of a match with a time bank, as a
// multiple of the time for one decision. Each of four seats may overdraw the bank
// by less than the time for one decision. These overdrafts together are therefore
// at most 4 % of the wall clock, and the bank leaves 5 % of it unused.
const MinBankDecisions = 100

// leastMs is the minimum time for a decision in each mode, in milliseconds. A seat
// with less time left gets only that time.
var leastMs = map[string]int64{ladder.Standard: 250, ladder.Parley: 3000}

// WithBank returns the deadlines of a match with a time bank.
func (d Deadlines) WithBank() Deadlines {
	d.BankMs = d.WallMs * bankPercent / 100
	return d
}

// Clocks holds the time that each seat of a match has used so far, in milliseconds.
// It is not part of a Match: the metadata of every append contains the clocks after
// that append. Clocks is nil if an older arena started the match, because older
// arenas did not measure these times.
type Clocks []int64

// NewClocks returns the clocks at the start of a match.
func NewClocks(seats int) Clocks { return make(Clocks, seats) }

func (c Clocks) of(seat int) int64 {
	if c == nil {
		return 0
	}
	return c[seat]
}

// The method left() returns the time that a seat still has in the bank.
func (d Deadlines) left(c Clocks, seat, seats int) int64 {
	guaranteed := d.WallMs * guaranteePercent / 100
	rest := d.BankMs - guaranteed*int64(seats)
	for _, used := range c {
		rest -= max(0, used-guaranteed)
	}
	return max(0, guaranteed-c.of(seat)) + max(0, rest)
}

// Allowance is the time that a seat has for a decision, as its request states it.
type Allowance struct {
	DeadlineMs int64  // 0: the decision times out immediately
	BankMs     *int64 // the time that the seat has left, including DeadlineMs; nil if there is no time bank
}

// Allow returns a seat's allowance for its open decision.
func (m *Match) Allow(c Clocks, seat int) Allowance {
	d := m.Started.Deadlines
	if d.BankMs == 0 {
		return Allowance{DeadlineMs: d.DecisionMs}
	}
	left := d.left(c, seat, len(m.Started.Seats))
	return Allowance{min(d.DecisionMs, max(left/bankParts, leastMs[m.Started.Mode]), left), &left}
}

// After returns the part of the allowance that is left after ms milliseconds.
func (a Allowance) After(ms int64) Allowance {
	a.DeadlineMs -= ms
	if a.BankMs != nil {
		left := *a.BankMs - ms
		a.BankMs = &left
	}
	return a
}

// Charge returns the clocks after the open decisions have ended with the given
// outcomes. It needs one outcome for each decision that Asks returns, in the same
// order. Each seat usually pays for its own time. For the second and later offers of
// a turn, however, the offering seat pays for the slowest answer, and the answering
// seats pay only for redialing.
func (m *Match) Charge(c Clocks, outcomes []Outcome) Clocks {
	if c == nil {
		return nil
	}
	c = slices.Clone(c)
	var slowest int64
	for i, d := range m.Asks() {
		o := outcomes[i]
		c[d.Seat] += o.RedialMs
		if answer := o.UsedMs - o.RedialMs; m.offererPays(d) {
			slowest = max(slowest, answer)
		} else {
			c[d.Seat] += answer
		}
	}
	if slowest > 0 {
		c[m.Game.Offer.From] += slowest
	}
	return c
}

// offererPays reports whether the seat that made the open offer pays for the time
// that another seat takes for a decision.
func (m *Match) offererPays(d Decision) bool {
	return d.Kind == game.KindTrade && m.Game.Offers() > 1
}
