package ladder

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// career returns a ladder on which the bot "a" has had some matches. Each letter of steps
// is one match: "m" if the bot misses it, "p" if the bot plays it, and "v" if it is
// voided. The parameter step is the time between the ends of two matches.
func career(steps string, step time.Duration) Ladder {
	l := New(Standard)
	for i, s := range steps {
		id, at := fmt.Sprint(i), noon.Add(time.Duration(i+1)*step)
		l = Evolve(l, seated(id, "a", "b", "c"), at.Add(-time.Second))
		switch s {
		case 'm':
			l = Evolve(l, missed(rated(id, "a", "b", "c"), "a"), at)
		case 'p':
			l = Evolve(l, rated(id, "a", "b", "c"), at)
		case 'v':
			l = Evolve(l, MatchVoided{MatchID: id, Why: WhyWallClock}, at)
		}
	}
	return l
}

func TestStreak(t *testing.T) {
	const step = time.Hour
	for name, c := range map[string]struct {
		steps   string
		changed time.Duration // time from noon to the status change; 0 if the status did not change
		misses  int
		since   int // index of the step with the first miss
	}{
		"nothing":                              {"", 0, 0, 0},
		"a match":                              {"p", 0, 0, 0},
		"a miss":                               {"m", 0, 1, 1},
		"three":                                {"mmm", 0, 3, 1},
		"a match ends the streak":              {"mmmp", 0, 0, 0},
		"the next miss begins a new streak":    {"mmmpm", 0, 1, 5},
		"a voided match is not a miss":         {"mvm", 0, 2, 1},
		"a voided match does not end a streak": {"mv", 0, 1, 1},
		"changed before the streak":            {"mmm", step / 2, 3, 1},
		"changed during the streak":            {"mmm", 3 * step / 2, 2, 2},
		"changed when one ended":               {"mmm", step, 2, 2},
		"changed when the last ended":          {"mmm", 3 * step, 0, 0},
		"changed after the streak":             {"mmm", 4 * step, 0, 0},
		"changed, and missed again":            {"mmmm", 7 * step / 2, 1, 4},
		"changed before a match":               {"mmpm", step, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var changed time.Time
			if c.changed > 0 {
				changed = noon.Add(c.changed)
			}
			want := Streak{Misses: c.misses}
			if c.misses > 0 {
				want.Since = noon.Add(time.Duration(c.since) * step)
			}
			l := career(c.steps, step)
			require.Equal(t, want, l.Bot("a").Streak(changed))
			require.Equal(t, Streak{}, l.Bot("b").Streak(changed), "b missed nothing")
		})
	}
}

// The rest gets longer after the tenth miss in a row.
func TestRestAfterMisses(t *testing.T) {
	const step = time.Minute
	others := registered("b", "c", "d")
	for name, c := range map[string]struct {
		steps   string
		changed time.Duration
		usual   time.Duration
		rest    time.Duration
	}{
		"nine":                         {"mmmmmmmmm", 0, restOfTests, restOfTests},
		"ten":                          {"mmmmmmmmmm", 0, restOfTests, 3 * time.Hour},
		"thirteen":                     {"mmmmmmmmmmmmm", 0, restOfTests, 3 * time.Hour},
		"ten, then a match":            {"mmmmmmmmmmp", 0, restOfTests, restOfTests},
		"ten, then a voided match":     {"mmmmmmmmmmv", 0, restOfTests, 3 * time.Hour},
		"ten, the status changed":      {"mmmmmmmmmm", 11 * step, restOfTests, restOfTests},
		"ten, one of them before":      {"mmmmmmmmmm", 3 * step / 2, restOfTests, restOfTests},
		"ten after the status changed": {"mmmmmmmmmmmm", 2 * step, restOfTests, 3 * time.Hour},
		"if the usual rest is longer":  {"mmmmmmmmmm", 0, 5 * time.Hour, 5 * time.Hour},
		"if there is usually no rest":  {"mmmmmmmmmm", 0, 0, 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			l := career(c.steps, step)
			candidates := append(registered("a"), others...)
			if c.changed > 0 {
				candidates[0].StatusChanged = noon.Add(c.changed)
			}
			seatedAt := func(rest time.Duration) bool {
				at := tick(l.Bot("a").Ended.Add(rest))
				at.Rest = c.usual
				for _, b := range l.ranked(candidates, at) {
					if b.BotID == "a" {
						return true
					}
				}
				return false
			}
			require.True(t, seatedAt(c.rest))
			require.False(t, seatedAt(c.rest-time.Millisecond))
		})
	}
}

func TestAbsentees(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for name, c := range map[string]struct {
		steps   string
		changed time.Duration
		now     time.Duration
		absent  bool
	}{
		"exactly a week":                       {"mm", 0, time.Hour + week, true},
		"a millisecond less":                   {"mm", 0, time.Hour + week - time.Millisecond, false},
		"one miss is a streak":                 {"m", 0, time.Hour + week, true},
		"no miss":                              {"ppp", 0, 10 * week, false},
		"never played":                         {"", 0, 10 * week, false},
		"answered since":                       {"mmp", 0, 10 * week, false},
		"missed again since":                   {"mpm", 0, time.Hour + week, false},
		"the status changed during the streak": {"mmm", 3 * time.Hour / 2, time.Hour + week, false},
		"a week after that":                    {"mmm", 3 * time.Hour / 2, 2*time.Hour + week, true},
		"the status changed since":             {"mmm", 100 * time.Hour, 10 * week, false},
		"a voided match does not help":         {"mv", 0, time.Hour + week, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := career(c.steps, time.Hour)
			candidates := registered("b", "a", "c")
			if c.changed > 0 {
				candidates[1].StatusChanged = noon.Add(c.changed)
			}
			absent := l.Absentees(candidates, noon.Add(c.now))
			if !c.absent {
				require.Empty(t, absent)
				return
			}
			since := l.Bot("a").Streak(candidates[1].StatusChanged).Since
			require.Equal(t, []Absentee{{BotID: "a", Since: since}}, absent)
		})
	}
}

// A bot that is in a match may still answer, so it is not absent.
func TestABotInAMatchIsNotAbsent(t *testing.T) {
	l := Evolve(career("mm", time.Hour), seated("last", "a", "b", "c"), noon.Add(1000*time.Hour))
	require.Empty(t, l.Absentees(registered("a"), noon.Add(1001*time.Hour)))
	l = Evolve(l, MatchVoided{MatchID: "last", Why: WhyOperator}, noon.Add(1002*time.Hour))
	require.Len(t, l.Absentees(registered("a"), noon.Add(1002*time.Hour)), 1)
}

// The type lived is one event in the history of a bot.
type lived struct {
	at     time.Time
	played rune // m, p or v as in career, or s if its status changed
}

// The function plainly() computes the streak with a simple count over the whole
// history.
func plainly(story []lived) Streak {
	var s Streak
	for _, l := range story {
		switch {
		case l.played == 'p', l.played == 's':
			s = Streak{}
		case l.played == 'm' && s.Misses == 0:
			s = Streak{Misses: 1, Since: l.at}
		case l.played == 'm':
			s.Misses++
		}
	}
	return s
}

// For any history of a bot and its status, Streak returns the same misses as a
// simple count over the whole history.
func TestStreaksMatchASimpleCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, now := New(Standard), noon
		var story []lived
		var changed time.Time
		for i := range rapid.IntRange(1, 100).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "minutes")) * time.Minute)
			step := rapid.SampledFrom([]rune("mmmmmmmpvs")).Draw(t, "step")
			story = append(story, lived{now, step})
			id := fmt.Sprint(i)
			match := missed(rated(id, "a", "b", "c"), map[bool]string{true: "a"}[step == 'm'])
			switch step {
			case 's':
				changed = now
				continue
			case 'v':
				l = Evolve(Evolve(l, seated(id, "a", "b", "c"), now), MatchVoided{MatchID: id, Why: WhyOperator}, now)
			default:
				l = Evolve(Evolve(l, seated(id, "a", "b", "c"), now), match, now)
			}
			want := plainly(story)
			got := l.Bot("a").Streak(changed)
			require.Equal(t, want, got)
			c := Candidate{BotID: "a", StatusChanged: changed}
			later := now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "later")) * time.Minute)
			require.Equal(t, want.Misses > 0 && later.Sub(want.Since) >= 7*24*time.Hour, len(l.Absentees([]Candidate{c}, later)) == 1)
			usual := tick(later).Rest
			if want.Misses >= 10 {
				usual = 3 * time.Hour
			}
			require.Equal(t, later.Sub(l.Bot("a").Ended) >= usual, l.Bot("a").rested(c, tick(later)))
		}
	})
}

// A fold does not change the misses in an earlier state, and the list of misses stays
// short.
func TestAFoldKeepsTheMissesOfEarlierStates(t *testing.T) {
	before := career("mm", time.Hour).Bot("a")
	one, two := before, before
	one.played(true, noon.Add(3*time.Hour))
	two.played(true, noon.Add(4*time.Hour))
	require.Len(t, before.MissedAt, 2)
	require.Equal(t, noon.Add(3*time.Hour), one.MissedAt[2])
	require.Equal(t, noon.Add(4*time.Hour), two.MissedAt[2])

	b := Bot{}
	for i := range 10 * keptMisses {
		b.played(true, noon.Add(time.Duration(i)*time.Hour))
	}
	require.Len(t, b.MissedAt, keptMisses)
	require.Equal(t, Streak{10 * keptMisses, noon}, b.Streak(time.Time{}))
	require.Equal(t, keptMisses, b.Streak(noon.Add(time.Minute)).Misses)
}
