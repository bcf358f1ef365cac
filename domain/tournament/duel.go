package tournament

// The two versions of a bot in a duel.
const (
	Old = 0
	New = 1
)

// Duel compares two versions of a bot. Each version plays all matches of the same plan, as
// bot 0, against the same other bots. So two matches with the same number differ only in
// the version.
type Duel struct {
	Comparison *Comparison
	Standings  [2]*Standings // of the blocks that count

	plan    Plan
	waiting [2]map[int]Outcome // by number of the match: outcomes of blocks that do not count yet
	block   int                // the next block to count
}

// NewDuel returns a duel before its first match. The plan must rotate the seats.
func NewDuel(p Plan, t Test) *Duel {
	d := &Duel{Comparison: NewComparison(t), plan: p}
	for version := range d.waiting {
		d.waiting[version], d.Standings[version] = map[int]Outcome{}, NewStandings(p.Bots)
	}
	return d
}

// Add adds the outcome of a match that a version played. Outcomes may come in any order.
// A block counts once both versions have played all its matches and all earlier blocks
// count. So the verdict does not depend on the order. After the verdict, no block counts.
func (d *Duel) Add(version int, o Outcome) {
	d.waiting[version][o.Match] = o
	for d.Comparison.Verdict() == Open && d.complete() {
		d.count()
	}
}

func (d *Duel) complete() bool {
	first, size := d.block*d.plan.BlockSize(), d.plan.BlockSize()
	for number := first; number < first+size; number++ {
		for _, waiting := range d.waiting {
			if _, ended := waiting[number]; !ended {
				return false
			}
		}
	}
	return true
}

// count counts the next block. If a match was aborted, the other version's match with the
// same number does not count either.
func (d *Duel) count() {
	sum, pairs := 0, 0
	first, size := d.block*d.plan.BlockSize(), d.plan.BlockSize()
	for number := first; number < first+size; number++ {
		before, after := d.waiting[Old][number], d.waiting[New][number]
		if before.Aborted == "" && after.Aborted == "" {
			sum += before.placeOf(0) - after.placeOf(0)
			pairs++
		}
		for version, waiting := range d.waiting {
			d.Standings[version].Add(waiting[number])
			delete(waiting, number)
		}
	}
	if pairs > 0 {
		d.Comparison.Add(float64(sum) / float64(pairs))
	}
	d.block++
}

func (o Outcome) placeOf(bot int) int {
	for _, s := range o.Seats {
		if s.Bot == bot {
			return s.Placement
		}
	}
	return 0
}
