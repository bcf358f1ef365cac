package referee

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore/memory"
	"hexarena/projections/directory"
)

// BenchmarkMatches plays many matches at the same time on an in-memory log. The bots'
// answers are prepared, so the benchmark measures only the cost of the referee.
func BenchmarkMatches(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			seatings := make([]ladder.Seating, n)
			scripts, decisions := map[string]map[int][]byte{}, 0
			for i := range seatings {
				seatings[i] = benchSeating(i)
				script := rehearse(b, seatings[i])
				scripts[seatings[i].MatchID] = script
				decisions += len(script)
			}
			played := 0
			for b.Loop() {
				r := benchReferee(scripts)
				for _, s := range seatings {
					r.Play(s)
				}
				r.Wait()
				played += decisions
			}
			b.ReportMetric(float64(played)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

func benchReferee(scripts map[string]map[int][]byte) *Referee {
	return New(Options{
		Log: memory.New(), Player: "bench", Logger: slog.New(slog.DiscardHandler),
		Modes:      map[string]Mode{testMode: {Decision: time.Minute, Wall: time.Hour, Ladder: noLadder{}}},
		ServerSeed: SeedsFromKeys(func(context.Context, string) ([]byte, bool) { return testKey, true }),
		Publish:    func(context.Context, ladder.Seating) error { return nil },
		Bots:       func(id string) (directory.Bot, bool) { return directory.Bot{Name: id}, true },
		Dial: func(_ context.Context, _, matchID string, _ Upgrade, receive func([]byte, string)) (Line, Accepted, error) {
			return &scriptedLine{scripts[matchID], receive}, Accepted{}, nil
		},
	})
}

func benchSeating(i int) ladder.Seating {
	s := ladder.Seating{MatchID: fmt.Sprintf("match-%d", i), Mode: testMode, SeedKey: "k1"}
	s.Commitment = seed.Commitment(seed.Server(testKey, s.MatchID))
	for j := range 4 {
		s.Bots = append(s.Bots, ladder.Entrant{BotID: fmt.Sprintf("bot-%d-%d", i, j), Rating: rating.New()})
	}
	return s
}

// rehearse plays a match without a referee, and returns the bots' answers, indexed by
// decision id.
func rehearse(tb testing.TB, s ladder.Seating) map[int][]byte {
	m := match.New(seed.Server(testKey, s.MatchID))
	seating := match.Seating{MatchID: s.MatchID, Mode: s.Mode, Commitment: s.Commitment, Nonces: make([]string, len(s.Bots))}
	for _, b := range s.Bots {
		seating.Table.Bots = append(seating.Table.Bots, b.BotID)
		seating.Bots = append(seating.Bots, match.Seat{BotID: b.BotID})
	}
	events, err := m.Start(seating)
	require.NoError(tb, err)
	answers := map[int][]byte{}
	for {
		m = match.EvolveAll(m, events)
		if m.Over() {
			return answers
		}
		var outcomes []match.Outcome
		for _, d := range m.Asks() {
			answers[d.ID] = []byte(answerFrame(d.ID, choose(&m.Game, d)))
			outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: answers[d.ID]})
		}
		events, err = m.Settle(outcomes)
		require.NoError(tb, err)
	}
}

// scriptedLine is a Line on which each request immediately gets the prepared answer for
// its decision id.
type scriptedLine struct {
	answers map[int][]byte
	receive func([]byte, string)
}

func (l *scriptedLine) Send(_ context.Context, frame []byte) error {
	digits, _, _ := bytes.Cut(frame[len(`{"id":`):], []byte(","))
	id, err := strconv.Atoi(string(digits))
	if err == nil {
		go l.receive(l.answers[id], "")
	}
	return err
}

func (*scriptedLine) Drain(context.Context) {}
func (*scriptedLine) Fault() *match.Fault   { return nil }
func (*scriptedLine) Close()                {}

type noLadder struct{}

func (noLadder) Finish(context.Context, string, []ladder.Result) error { return nil }
func (noLadder) Void(context.Context, string, string) error            { return nil }
func (noLadder) Finished(context.Context, string) (bool, error)        { return false, nil }
