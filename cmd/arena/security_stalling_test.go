package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/projections/matches"
)

// A bot stalls its match: it answers after a part of each deadline and makes impossible
// offers. If the arena has a time bank, the match does not reach its wall clock,
// because the bot runs out of time and gets strikes. (On a busy machine, the bot may be
// late and get strikes earlier. In TestStallingBotsAreStruckWithATimeBank of
// adapters/referee, time is virtual.) Without a time bank, the wall clock aborts the
// match, even though the bot always answers in time. All checkers accept both matches.
func TestSecurityStalling(t *testing.T) {
	t.Parallel()
	t.Run("with a time bank", func(t *testing.T) {
		t.Parallel()
		strikes := 0
		for n := 0; n < 5 && strikes == 0; n++ { // a short game may end before the staller has used up its time
			record := stalledMatch(t, matches.Completed, &staller{share: 0.9}, "--decision-standard", "200ms", "--wall-standard", "20s", "--time-bank")
			strikes = record.Seats[seatOf(record, "staller")].Strikes
		}
		require.Positive(t, strikes)
	})
	t.Run("without a time bank", func(t *testing.T) {
		t.Parallel()
		const share = 0.025 // half a second: on a busy machine, the staller still answers in time
		st := &staller{share: share}
		record := stalledMatch(t, matches.Aborted, st, "--decision-standard", "20s", "--wall-standard", "8s")
		require.Equal(t, match.WallClock, record.Reason)
		seat := record.Seats[seatOf(record, "staller")]
		require.Zero(t, seat.Strikes)
		// Even if the arena is paused during a wait, it counts at least a quarter of a
		// second, which is half of the wait.
		waited := st.finishedWaits()
		t.Logf("the staller waited for %v before its answers, and used %d ms of the wall clock", waited, *seat.TimeUsedMs)
		require.Positive(t, waited)
		require.GreaterOrEqual(t, *seat.TimeUsedMs, waited.Milliseconds()/2)
	})
}

// seatOf returns the seat of a bot in a match.
func seatOf(m matches.Summary, bot string) int {
	for _, p := range m.Players {
		if p.BotName == bot {
			return p.Seat
		}
	}
	return -1
}

// stalledMatch plays a match of two good bots and a staller until the match has the
// given status, and returns its record.
func stalledMatch(t *testing.T, status string, st *staller, flags ...string) (record matches.Summary) {
	t.Helper()
	s := newTestArena(t, append([]string{"--tick", "250ms", "--rest-standard", "1h"}, flags...)...)
	s.start()
	bot := newTestBot(t, "staller")
	bot.conduct = st.answer
	s.join(append(goodPlayers(t, 2, &eventTrigger{}), bot)...)
	var ended []matches.Summary
	eventually(t, "the match is "+status, func() bool {
		ended = s.list(status)
		return len(ended) == 1
	})
	s.get("/matches/"+ended[0].ID, &record)
	requireCheckers(t, s.base(), ended[0].ID)
	return record
}

// requireCheckers requires that all three checkers accept the record of a match. It
// skips checkers whose interpreter is missing.
func requireCheckers(t *testing.T, base, id string) {
	t.Helper()
	_, errOut, status := call("verify", id, "--arena", base)
	require.Zero(t, status, errOut)
	file := samples(t, bodyOf(t, base+"/matches/"+id))
	for _, checker := range [][]string{
		{"python3", "../../docs/audit/verify.py", file},
		{"node", "--input-type=module", "--eval", `
			import { readFileSync } from 'node:fs';
			import { verify } from '../../adapters/web/static/verify.mjs';
			const { difference } = await verify(readFileSync(process.argv[1], 'utf8').trim());
			if (difference) throw difference;`, file},
	} {
		if _, err := exec.LookPath(checker[0]); err != nil {
			require.Empty(t, os.Getenv("CI"), "CI installs %s: make deps", checker[0])
			continue
		}
		out, err := exec.CommandContext(t.Context(), checker[0], checker[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// staller is the conduct of a bot that answers after a share of each deadline. On each of
// its turns, it makes as many offers as the rules allow.
type staller struct {
	share        float64
	turn, offers int // the newest turn, and the offers in it

	mu    sync.Mutex
	waits []time.Duration // the waits that count as the bot's own time
}

func (s *staller) answer(ctx context.Context, conn *websocket.Conn, d decision) error {
	if d.View.Turn != s.turn {
		s.turn, s.offers = d.View.Turn, 0
	}
	answer := d.answer
	if d.Kind == "turn" {
		a := action{"type": "end_turn"}
		if offer := impossibleOffer(d.View.Hand); offer != nil && s.offers < game.MaxOffers {
			a = offer
			s.offers++
		}
		answer, _ = json.Marshal(map[string]any{"id": d.ID, "action": a})
	}
	wait := time.Duration(s.share * float64(d.DeadlineMs) * float64(time.Millisecond))
	if d.Kind != "trade" { // after the first offer of a turn, the bot that offers pays for the answers
		s.mu.Lock()
		s.waits = append(s.waits, wait)
		s.mu.Unlock()
	}
	pause(wait)
	return conn.Write(ctx, websocket.MessageText, answer)
}

// finishedWaits returns the sum of all waits except the newest one, which the end of the
// match may have cut short.
func (s *staller) finishedWaits() (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wait := range s.waits[:max(0, len(s.waits)-1)] {
		sum += wait
	}
	return sum
}

// impossibleOffer offers one card for more cards than any hand can hold. It returns
// nil if the hand is empty.
func impossibleOffer(hand match.Counts) action {
	for r, n := range hand {
		if n > 0 {
			give, get := board.Resource(r).String(), board.Resource((r+1)%board.Resources).String()
			return action{"type": "offer_trade", "give": map[string]int{give: 1}, "get": map[string]int{get: 60}}
		}
	}
	return nil
}
