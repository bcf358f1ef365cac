package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore/memory"
)

// engineCmd implements `arena bench engine`. It plays random games on one core,
// with 4 seats and every legal action except offers to other seats. It also tries
// actions as a search does, and builds views.
type engineCmd struct {
	Seconds float64 `default:"3" help:"how long to play, and how long to search"`
	Games   int     `help:"play this many games instead"`
}

type engineReport struct {
	Games            int            `json:"games"`
	GamesPerSecond   float64        `json:"gamesPerSecond"`
	ActionsPerSecond float64        `json:"actionsPerSecond"`
	TurnsPerGame     float64        `json:"turnsPerGame"`
	StepsPerGame     float64        `json:"stepsPerGame"` // actions that answered decisions
	EndReasons       map[string]int `json:"endReasons"`   // number of games by end reason
	AllocsPerAction  float64        `json:"allocsPerAction"`
	SearchPerSecond  float64        `json:"searchPerSecond"` // copies of a state, each with one action played
	ViewMicros       float64        `json:"viewMicros"`
}

func (c engineCmd) setup() setup { return setup{"engine", "", ""} }

func (c engineCmd) measure(ctx context.Context, _ string, _ *progress.Display) (report, error) {
	if c.Games < 0 || c.Games == 0 && c.Seconds <= 0 {
		return nil, errors.New("--games or --seconds must be above zero")
	}
	limit := time.Duration(c.Seconds * float64(time.Second))
	r := playRandomly(c.Games, limit)
	r.SearchPerSecond = searchRate(limit)
	var err error
	r.ViewMicros, err = viewMicros(ctx)
	return r, err
}

// playRandomly plays the given number of games. If games is 0, it begins new
// games until limit has passed. Every run plays the same sequence of games.
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
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	r := engineReport{
		Games:            played,
		GamesPerSecond:   perSecond(played, took),
		ActionsPerSecond: perSecond(actions, took),
		TurnsPerGame:     float64(turns) / float64(played),
		StepsPerGame:     float64(actions) / float64(played),
		EndReasons:       map[string]int{},
		AllocsPerAction:  float64(after.Mallocs-before.Mallocs) / float64(actions),
	}
	for reason, n := range ends {
		r.EndReasons[game.EndReason(reason).String()] = n
	}
	return r
}

// parent is a state in which a search tries each legal action of a seat.
type parent struct {
	state   game.State
	seat    uint8
	actions []game.Action
}

// searchRate returns how many actions a search can try per second. To try an action, it
// copies the state, and plays the action with its consequences.
func searchRate(limit time.Duration) float64 {
	list := parents()
	tried, start := 0, time.Now()
	for tried == 0 || time.Since(start) < limit {
		for i := range list {
			p := &list[i]
			for _, a := range p.actions {
				child := p.state
				child.Act(p.seat, a)
				for c, more := child.Next(); more; c, more = child.Next() {
					child.Apply(c)
				}
			}
			tried += len(p.actions)
		}
	}
	return perSecond(tried, time.Since(start))
}

// parents returns states from random games. It takes one state out of 50, so that the
// states are from different games and phases.
func parents() []parent {
	const states, apart = 256, 50
	list, rng := make([]parent, 0, states), game.NewRand(2)
	var s game.State
	for step := 0; len(list) < states; step++ {
		if step == 0 || s.Over {
			s = game.New(randomSeed(&rng), game.MaxSeats)
		}
		seat, a := s.RandomLegal(&rng)
		if step%apart == 0 {
			list = append(list, parent{s, seat, s.Legal(nil, seat)})
		}
		s.Act(seat, a)
		for c, more := s.Next(); more; c, more = s.Next() {
			s.Apply(c)
		}
	}
	return list
}

func randomSeed(rng *game.Rand) (s seed.Seed) {
	for i := range s {
		s[i] = byte(rng.Uint64() >> 56)
	}
	return s
}

// viewMicros returns the time to build and encode one mid-game request, in
// microseconds. For each decision, the arena spends this time and the time of an
// append. It is the median of many batches, because other programs interrupt some of them.
func viewMicros(ctx context.Context) (float64, error) {
	matches, err := newSimulation(memory.New(), ladder.Standard, 1).seat(ctx, time.Unix(0, 0))
	if err != nil {
		return 0, err
	}
	m := matches[0]
	if err := m.start(40); err != nil {
		return 0, err
	}
	const batches, size = 200, 1_000
	took := make([]time.Duration, batches)
	var frame []byte
	for i := range took {
		began := time.Now()
		for j := range size {
			r := m.state.Request(match.Decision{ID: j, Seat: j % 4})
			frame = r.AppendJSON(frame[:0])
		}
		took[i] = time.Since(began)
	}
	return 1000 * latencyOf(took).P50Ms / size, nil
}

func (r engineReport) print(w io.Writer) {
	var ends []string
	for reason := game.Win; reason <= game.TurnCap; reason++ {
		ends = append(ends, fmt.Sprintf("%s %.1f %%", reason, 100*float64(r.EndReasons[reason.String()])/float64(r.Games)))
	}
	fmt.Fprintf(w, `random play-outs, 4 seats, one core, %d games
games/s       %12.0f
actions/s     %12.0f
turns/game    %12.1f
steps/game    %12.1f
ends          %s
allocs/action %12.6f
search/s      %12.0f copies of a state, each with one action
view          %12.2f µs to build and encode
`, r.Games, r.GamesPerSecond, r.ActionsPerSecond, r.TurnsPerGame, r.StepsPerGame, strings.Join(ends, ", "), r.AllocsPerAction, r.SearchPerSecond, r.ViewMicros)
}
