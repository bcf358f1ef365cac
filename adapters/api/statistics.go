package api

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/stats"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

// A win probability that is not cached counts as outlookCalls additional calls: with up to
// 1 s of CPU time each, three calls in a minute are 5 % of a core. It has maxPlayouts
// play-outs at each turn, but at most allPlayouts in total. So even a long match takes only a
// few seconds of CPU time.
const (
	outlookCalls = 39
	maxPlayouts  = 200
	allPlayouts  = 40_000
)

// ended finds a match that has ended.
func (s *Server) ended(id string) (matches.Summary, error) {
	m, err := s.summary(id)
	if err == nil && m.Status == matches.Running {
		err = problem.ErrMatchRunning
	}
	return m, err
}

func (s *Server) getStatistics(c *call, in *matchPath) (out maybeEncoded[rest.MatchStatistics], err error) {
	summary, err := s.ended(in.ID)
	if err != nil {
		return out, err
	}
	return answerMatch(c, summary, "statistics "+in.ID, func(ctx context.Context) (rest.MatchStatistics, error) {
		h, err := s.matchHistory(ctx, summary)
		if err != nil {
			return rest.MatchStatistics{}, err
		}
		return rest.MatchStatistics{MatchID: in.ID, Match: stats.Of(h.Started, h.Events)}, nil
	})
}

func (s *Server) getWinProbability(c *call, in *matchPath) (out maybeEncoded[rest.WinProbability], err error) {
	summary, err := s.ended(in.ID)
	if err != nil {
		return out, err
	}
	key := "win-probability " + in.ID
	if c.server.responses.find(key) == nil {
		if err := c.heavy(outlookCalls); err != nil {
			return out, err
		}
		c.giveUpTurn() // the computation has a turn of its own, so that it delays no other expensive call
	}
	out, err = answerMatch(c, summary, key, func(ctx context.Context) (rest.WinProbability, error) {
		return s.outlooks(ctx, summary)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = problem.WithDetail(problem.ErrBusy, "the arena is still computing this win probability: try again")
	}
	return out, err
}

// outlooks computes the win probability of a match. Only one computation runs at a time,
// and it lets other goroutines run after each play-out, so that matches do not wait.
func (s *Server) outlooks(ctx context.Context, summary matches.Summary) (out rest.WinProbability, err error) {
	if !s.computing.TryAcquire(1) {
		return out, problem.WithDetail(problem.ErrBusy, "the arena is computing the win probability of another match: try again")
	}
	defer s.computing.Release(1)
	h, err := s.matchHistory(ctx, summary)
	if err != nil {
		return out, err
	}
	turns := 1
	for _, e := range h.Events {
		if _, ok := e.(match.DiceRolled); ok {
			turns++
		}
	}
	out = rest.WinProbability{MatchID: summary.ID, Playouts: min(s.playouts, allPlayouts/turns)}
	m := match.Evolve(match.New(h.Proof.ServerSeed), h.Started)
	out.Outlooks, err = stats.WinProbability(m, h.Events, out.Playouts, func() error {
		runtime.Gosched()
		return ctx.Err()
	})
	if err != nil {
		err = fmt.Errorf("win probability of match %s: %w", summary.ID, err)
	}
	return out, err
}

type botStatisticsPath struct {
	ID string `path:"id"`
}

// find returns an error for a bot that has not completed a match.
func (p *botStatisticsPath) find(c *call) error {
	games := c.server.Leaderboard.Games(p.ID)
	if games > 0 {
		return c.heavy(games / historyPerCall)
	}
	if _, err := c.server.Leaderboard.Version(); err != nil {
		return err
	}
	return problem.ErrNotFound
}

func (s *Server) getBotStatistics(_ *call, in *botStatisticsPath) (rest.BotStatistics, error) {
	out := rest.BotStatistics{BotID: in.ID, Versions: []rest.VersionResults{}, Lengths: []rest.LengthResults{}}
	seats, err := s.Leaderboard.BySeat(in.ID)
	if err != nil {
		return out, err
	}
	out.Seats = seatResults(seats)
	versions, err := s.Leaderboard.ByVersion(in.ID)
	for _, v := range versions {
		out.Versions = append(out.Versions, rest.VersionResults{Version: v.Version, Results: rest.NewResults(v.Places)})
	}
	if err != nil {
		return out, err
	}
	openings, err := s.Leaderboard.ByOpening(in.ID)
	if err != nil {
		return out, err
	}
	out.Openings = openingResults(openings)
	lengths, err := s.Leaderboard.ByLength(in.ID)
	for _, l := range lengths {
		out.Lengths = append(out.Lengths, rest.LengthResults{From: l.From, To: l.To, Results: rest.NewResults(l.Places)})
	}
	return out, err
}

type ladderPath struct {
	Mode string `path:"mode" enum:"standard,parley"`
}

// find returns an error if the mode does not exist.
func (p *ladderPath) find(*call) error {
	if !ladder.IsMode(p.Mode) {
		return problem.ErrNotFound
	}
	return nil
}

func (s *Server) getLadderStatistics(_ *call, in *ladderPath) (rest.LadderStatistics, error) {
	out := rest.LadderStatistics{Mode: in.Mode}
	for players := 3; players <= 4; players++ {
		table := rest.TableResults{
			Players: players, Seats: seatResults(s.Leaderboard.Results(in.Mode, players)),
			Openings: openingResults(s.Leaderboard.Openings(in.Mode, players)), Lengths: []rest.LengthCount{},
		}
		for _, l := range s.Leaderboard.Lengths(in.Mode, players) {
			table.Lengths = append(table.Lengths, rest.LengthCount{From: l.From, To: l.To, Matches: l.Matches})
		}
		out.Tables = append(out.Tables, table)
	}
	_, err := s.Leaderboard.Version() // fails if the read model has stopped
	return out, err
}

func openingResults(tallies []leaderboard.OpeningTally) []rest.OpeningResults {
	list := make([]rest.OpeningResults, 0, len(tallies))
	for _, t := range tallies {
		list = append(list, rest.OpeningResults{Pips: t.Pips, Results: rest.NewResults(t.Places)})
	}
	return list
}

func seatResults(tallies []leaderboard.SeatTally) []rest.SeatResults {
	list := make([]rest.SeatResults, 0, len(tallies))
	for _, t := range tallies {
		list = append(list, rest.SeatResults{Seat: t.Seat, Results: rest.NewResults(t.Places)})
	}
	return list
}
