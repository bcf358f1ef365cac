package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// engineCmd is `arena bench engine`: random play-outs of the rules on one
// core, 4 seats, every legal action but offers to other seats.
type engineCmd struct {
	Seconds float64 `default:"3" help:"how long to play"`
	Games   int     `help:"play this many games instead"`
	JSON    bool    `name:"json" help:"print one JSON object"`
}

// engineReport is what a run measured.
type engineReport struct {
	Games            int            `json:"games"`
	GamesPerSecond   float64        `json:"gamesPerSecond"`
	ActionsPerSecond float64        `json:"actionsPerSecond"`
	TurnsPerGame     float64        `json:"turnsPerGame"`
	StepsPerGame     float64        `json:"stepsPerGame"` // actions taken: answers to decisions
	EndReasons       map[string]int `json:"endReasons"`   // games, by reason
	AllocsPerAction  float64        `json:"allocsPerAction"`
	ViewMicros       *float64       `json:"viewMicros"` // null where it was not measured
}

// Run plays as the flags say and prints what it measured.
func (c engineCmd) Run(k *kong.Kong) error { return c.play(k.Stdout, viewMicros) }

// play is Run. viewMicros measures the view path, apart from the play-outs: the
// microseconds that building and encoding one mid-game view takes; it may be
// nil.
func (c engineCmd) play(w io.Writer, viewMicros func() float64) error {
	if c.Games < 0 || c.Games == 0 && c.Seconds <= 0 {
		return errors.New("bench engine: --games or --seconds must be above zero")
	}
	report := playRandomly(c.Games, time.Duration(c.Seconds*float64(time.Second)))
	if viewMicros != nil {
		micros := viewMicros()
		report.ViewMicros = &micros
	}
	if c.JSON {
		return json.NewEncoder(w).Encode(report)
	}
	return report.print(w)
}

// playRandomly plays that many games, or, for none, as many as begin within
// limit. The games are the same in every run.
func playRandomly(games int, limit time.Duration) engineReport {
	var actions, turns int
	var ends [game.TurnCap + 1]int
	var before, after runtime.MemStats
	played, rng := 0, game.NewRand(1)
	runtime.ReadMemStats(&before)
	start := time.Now()
	for played < games || games == 0 && time.Since(start) < limit {
		s := game.New(randomSeed(&rng), game.MaxSeats)
		actions += game.Playout(&s, &rng)
		turns += int(s.Turn)
		ends[s.Ending()]++
		played++
	}
	seconds := time.Since(start).Seconds()
	runtime.ReadMemStats(&after)
	return engineReport{
		Games:            played,
		GamesPerSecond:   float64(played) / seconds,
		ActionsPerSecond: float64(actions) / seconds,
		TurnsPerGame:     float64(turns) / float64(played),
		StepsPerGame:     float64(actions) / float64(played),
		EndReasons:       endReasons(ends),
		AllocsPerAction:  float64(after.Mallocs-before.Mallocs) / float64(actions),
	}
}

func randomSeed(rng *game.Rand) (s seed.Seed) {
	for i := range s {
		s[i] = byte(rng.Uint64() >> 56)
	}
	return s
}

func endReasons(ends [game.TurnCap + 1]int) map[string]int {
	reasons := make(map[string]int, len(ends))
	for reason, n := range ends {
		reasons[game.EndReason(reason).String()] = n
	}
	return reasons
}

// ends lists how games ended, in per cent.
func (r engineReport) ends() string {
	var list []string
	for reason := game.Win; reason <= game.TurnCap; reason++ {
		list = append(list, fmt.Sprintf("%s %.1f %%", reason, 100*float64(r.EndReasons[reason.String()])/float64(r.Games)))
	}
	return strings.Join(list, ", ")
}

func (r engineReport) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `random play-outs, 4 seats, one core, %d games
games/s       %12.0f
actions/s     %12.0f
turns/game    %12.1f
steps/game    %12.1f
ends          %s
allocs/action %12.6f
`, r.Games, r.GamesPerSecond, r.ActionsPerSecond, r.TurnsPerGame, r.StepsPerGame, r.ends(), r.AllocsPerAction)
	if err == nil && r.ViewMicros != nil {
		_, err = fmt.Fprintf(w, "view          %12.2f µs to build and encode\n", *r.ViewMicros)
	}
	return err
}
