package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
)

// arena is a whole one in a process of its own, that seats nobody; its log is
// written from here.
type arena struct {
	cmd *exec.Cmd
	url string
	log *esdb.Log
}

// startArena starts one on a folder, with more flags than it needs anyway.
func startArena(ctx context.Context, dir string, more ...string) (a *arena, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	flags := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0", "--tick", "24h"}
	a = &arena{cmd: exec.CommandContext(ctx, self, append(flags, more...)...)}
	a.cmd.Cancel = func() error { return a.cmd.Process.Signal(os.Interrupt) }
	a.cmd.WaitDelay = 10 * time.Second
	a.cmd.Stderr = os.Stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	lines, node := bufio.NewReader(out), ""
	for node == "" { // the last of the addresses
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the arena did not start: %w", err), a.cmd.Wait())
		}
		if url, ok := strings.CutPrefix(line, "API on "); ok {
			a.url = strings.TrimSpace(url)
		}
		if connection, ok := strings.CutPrefix(line, "event store on "); ok {
			node = strings.TrimSpace(connection)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	if a.log, err = esdb.Open(node, slog.New(slog.DiscardHandler)); err != nil {
		return nil, errors.Join(err, a.stop())
	}
	return a, nil
}

// shows waits until the arena lists so many running matches.
func (a *arena) shows(ctx context.Context, n int) error {
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/live", nil)
		if err != nil {
			return err
		}
		var list struct{ Matches []json.RawMessage }
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		err = json.NewDecoder(response.Body).Decode(&list)
		response.Body.Close()
		if err != nil || len(list.Matches) == n {
			return err
		}
		if !sleepUntil(ctx, time.Now().Add(time.Second)) {
			return ctx.Err()
		}
	}
}

func (a *arena) stop() error {
	var errs []error
	if a.log != nil {
		errs = append(errs, a.log.Close())
	}
	return errors.Join(append(errs, a.cmd.Process.Signal(os.Interrupt), a.cmd.Wait())...)
}

// residentMB is how much memory the arena's process has; 0 where the system does
// not tell it as Linux does.
func (a *arena) residentMB() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseFloat(strings.Fields(kb)[0], 64)
			return n / 1024, err
		}
	}
	return 0, err
}

// loggedGame is a match that is played into the log, by bots that build what they
// can.
type loggedGame struct {
	id       string
	state    match.Match
	expected eventstore.Expected
	rng      *rand.Rand

	events  int // while it was measured, as are
	appends []time.Duration
}

// turnsBehind is how many turns a match has behind it when it is measured, so
// that its frames are as long as those of most.
const turnsBehind = 20

var seedKey = []byte("the seed key of the measurement.")

// seatGames seats matches by their ladder, and begins them.
func seatGames(ctx context.Context, log eventstore.Log, n int) ([]*loggedGame, error) {
	candidates := make([]ladder.Candidate, 4*n)
	for i := range candidates {
		candidates[i].BotID = uuid.NewString()
	}
	seated, err := ladder.New(ladder.Standard).Seat(candidates, ladder.Tick{Now: time.Now(), PlatformKey: "bench", SeedKeyID: "bench", SeedKey: seedKey})
	if err != nil {
		return nil, err
	}
	l := ladder.New(ladder.Standard)
	for _, e := range seated {
		l = ladder.Evolve(l, e, time.Now())
	}
	encoded, err := eventstore.EncodeAll(seated, eventstore.Metadata{At: time.Now()})
	if err != nil {
		return nil, err
	}
	if _, err := log.Append(ctx, eventstore.StreamID(ladder.Stream(ladder.Standard)), eventstore.NoStream, encoded...); err != nil {
		return nil, err
	}
	var games []*loggedGame
	for i, s := range l.Unfinished() {
		g := &loggedGame{id: s.MatchID, state: match.New(seed.Server(seedKey, s.MatchID)), expected: eventstore.NoStream, rng: rand.New(rand.NewPCG(uint64(i), 1))}
		games = append(games, g)
		if err := g.begin(ctx, log, s); err != nil {
			return nil, err
		}
	}
	return games, nil
}

// begin plays the first turns, in one append.
func (g *loggedGame) begin(ctx context.Context, log eventstore.Log, s ladder.Seating) error {
	seating := match.Seating{
		MatchID: g.id, Mode: s.Mode, Commitment: s.Commitment, Table: match.Table{Revision: s.Revision, Index: s.Index, SeedKey: s.SeedKey},
		Deadlines: match.Deadlines{DecisionMs: 5000, WallMs: 600_000},
	}
	for i, e := range s.Bots {
		seating.Bots = append(seating.Bots, match.Seat{BotID: e.BotID, BotName: fmt.Sprintf("Bot %d", i), Mu: e.Mu, Sigma: e.Sigma})
		seating.Table.Bots = append(seating.Table.Bots, e.BotID)
		seating.Nonces = append(seating.Nonces, "")
	}
	events, err := g.state.Start(seating)
	if err != nil {
		return err
	}
	g.fold(events)
	for g.state.Game.Turn < turnsBehind && !g.state.Over() {
		more, err := g.decide()
		if err != nil {
			return err
		}
		g.fold(more)
		events = append(events, more...)
	}
	return g.store(ctx, log, events)
}

func (g *loggedGame) fold(events []match.Event) { g.state = match.EvolveAll(g.state, events) }

func (g *loggedGame) store(ctx context.Context, log eventstore.Log, events []match.Event) error {
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: time.Now(), Correlation: g.id})
	if err != nil {
		return err
	}
	stored, err := log.Append(ctx, eventstore.StreamID(match.Stream(g.id)), g.expected, encoded...)
	if err == nil {
		g.expected = eventstore.At(stored.Revision)
	}
	return err
}

// decide settles the decisions that are owed.
func (g *loggedGame) decide() ([]match.Event, error) {
	var outcomes []match.Outcome
	for _, d := range g.state.Asks() {
		action := match.ActionJSON(g.answer(uint8(d.Seat), d.Kind))
		outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: matchtest.Frame(d.ID, action), ElapsedMs: 5})
	}
	return g.state.Settle(outcomes)
}

// answer builds if it can, else it gives the default.
func (g *loggedGame) answer(seat uint8, kind game.Kind) game.Action {
	var builds []game.Action
	if kind == game.KindTurn {
		for _, b := range g.state.Game.Legal(nil, seat) {
			if b.Type == game.BuildRoad || b.Type == game.BuildSettlement || b.Type == game.BuildCity || b.Type == game.BuyDev {
				builds = append(builds, b)
			}
		}
	}
	if len(builds) == 0 {
		return g.state.Game.Default(seat)
	}
	return builds[g.rng.IntN(len(builds))]
}

// playGames plays on at the rate, for as long as is measured.
func playGames(ctx context.Context, log eventstore.Log, games []*loggedGame, flags liveCmd) error {
	until := time.Now().Add(time.Duration(flags.Seconds * float64(time.Second)))
	return atOnce(ctx, len(games), games, func(ctx context.Context, i int, g *loggedGame) error {
		each := time.Duration(float64(time.Second) / flags.Rate)
		next := time.Now().Add(each * time.Duration(i) / time.Duration(len(games)))
		for !g.state.Over() && next.Before(until) {
			if !sleepUntil(ctx, next) {
				return ctx.Err()
			}
			more, err := g.decide()
			if err != nil {
				return err
			}
			g.fold(more)
			begun := time.Now()
			if err := g.store(ctx, log, more); err != nil {
				return err
			}
			g.events, g.appends = g.events+len(more), append(g.appends, time.Since(begun))
			next = next.Add(each * time.Duration(len(more)))
		}
		return nil
	})
}

// sleepUntil says false where ctx ends first.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// endGames ends what is not over, and has the ladder know.
func endGames(ctx context.Context, log eventstore.Log, games []*loggedGame) error {
	var voided []ladder.Event
	for _, g := range games {
		if !g.state.Over() {
			events, err := g.state.Cancel(match.Operator)
			if err != nil {
				return err
			}
			if err := g.store(ctx, log, events); err != nil {
				return err
			}
		}
		voided = append(voided, ladder.MatchVoided{MatchID: g.id, Why: match.Operator})
	}
	encoded, err := eventstore.EncodeAll(voided, eventstore.Metadata{At: time.Now()})
	if err != nil {
		return err
	}
	_, err = log.Append(ctx, eventstore.StreamID(ladder.Stream(ladder.Standard)), eventstore.Exists, encoded...)
	return err
}
