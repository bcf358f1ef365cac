package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
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
		record := stalledMatch(t, matches.Completed, 0.9, "--decision-standard", "200ms", "--wall-standard", "20s", "--time-bank")
		require.Positive(t, record.Seats[seatOf(record, "staller")].Strikes)
	})
	t.Run("without a time bank", func(t *testing.T) {
		t.Parallel()
		const share = 0.025 // half a second: on a busy machine, the staller still answers in time
		record := stalledMatch(t, matches.Aborted, share, "--decision-standard", "20s", "--wall-standard", "8s")
		require.Equal(t, match.WallClock, record.Reason)
		seat := record.Seats[seatOf(record, "staller")]
		require.Zero(t, seat.Strikes)
		require.Greater(t, *seat.TimeUsedMs, int64(4_000), "the staller used most of the wall clock")
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
// given status, and returns its record. The staller waits for the given share of each
// deadline.
func stalledMatch(t *testing.T, status string, share float64, flags ...string) (record matches.Summary) {
	t.Helper()
	s := newTestArena(t, append([]string{"--tick", "250ms", "--rest-standard", "1h"}, flags...)...)
	s.start()
	staller := newTestBot(t, "staller")
	staller.conduct = stall(share)
	s.join(append(goodPlayers(t, 2, &eventTrigger{}), staller)...)
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

// stall returns the conduct of a staller, which answers after a share of each deadline.
// On each of its turns, it makes as many offers as the rules allow.
func stall(share float64) conduct {
	turn, offers := 0, 0
	return func(ctx context.Context, conn *websocket.Conn, d decision) error {
		if d.View.Turn != turn {
			turn, offers = d.View.Turn, 0
		}
		answer := d.answer
		if d.Kind == "turn" {
			a := action{"type": "end_turn"}
			if offer := impossibleOffer(d.View.Hand); offer != nil && offers < game.MaxOffers {
				a = offer
				offers++
			}
			answer, _ = json.Marshal(map[string]any{"id": d.ID, "action": a})
		}
		pause(time.Duration(share * float64(d.DeadlineMs) * float64(time.Millisecond)))
		return conn.Write(ctx, websocket.MessageText, answer)
	}
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
