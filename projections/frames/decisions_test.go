package frames_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
)

// The function asked() plays a match and returns the requests by decision id.
func asked(g *arenatest.Game, until func() bool) map[int]match.Request {
	all := map[int]match.Request{}
	for !g.State.Over() && !until() {
		before, used := g.State, g.Used
		g.Step()
		for _, d := range before.Asks() {
			r, allowed := before.Request(d), before.Allow(used, d.Seat)
			if g.Redial != nil {
				allowed = allowed.After(g.Redial[d.Seat])
			}
			r.DeadlineMs, r.BankMs = allowed.DeadlineMs, allowed.BankMs
			all[d.ID] = r
		}
	}
	return all
}

func never() bool { return false }

func TestDecisionsListsEachRequestWithItsOutcome(t *testing.T) {
	outcomes := map[string]int{}
	for chance := range uint64(4) {
		log := memory.New()
		a := arenatest.New(t, log, chance)
		a.TimeBank, a.Unmeasured = chance%2 == 1, chance == 0
		g := a.Seat(ladder.Standard, a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")...)[0]
		g.Start()
		requests := asked(g, never)
		checkDecisions(t, read(t, log, g), requests, outcomes)
		require.Empty(t, requests, "requests without a decision")
	}
	t.Log(outcomes)
	for _, o := range []string{frames.Played, frames.Timeout, frames.Illegal} {
		require.NotZero(t, outcomes[o], o)
	}
}

func checkDecisions(t *testing.T, h frames.History, requests map[int]match.Request, outcomes map[string]int) {
	t.Helper()
	for seat := range 4 {
		list := h.Decisions(seat, nil, match.NewDetails())
		at, strikes := 0, 0
		for _, d := range list {
			if d.Outcome != frames.Played {
				strikes++
			}
			require.Equal(t, strikes, d.Strikes)
			require.Equal(t, strikes == match.MaxStrikes, d.Resigned)
			where := fmt.Sprintf("seat %d, decision %d", seat, d.ID)
			require.NotNil(t, d.Request, where)
			require.Equal(t, requests[d.ID], *d.Request, where)
			require.Equal(t, seat, d.Request.Seat)
			delete(requests, d.ID)
			require.Greater(t, d.Seq, at, "the order of decisions")
			at = d.Seq
			closing := h.Replay()[d.Seq-1]
			require.Equal(t, map[string]string{frames.Played: "action", frames.Timeout: "timeout", frames.Illegal: "illegal"}[d.Outcome], closing.Kind)
			require.Equal(t, closing.At, d.At)
			require.Equal(t, seat, *closing.Seat)
			outcomes[d.Outcome]++
			require.NoError(t, fits(d, closing, h), where)
			require.Equal(t, d.Request.Kind, d.Kind)
			require.NotEmpty(t, d.Played, where)
		}
	}
}

// The function fits() checks a decision against the event that closed it. If the
// decision failed, the function also checks it against the default action after
// that event.
func fits(d frames.Decision, closing match.PublicEvent, h frames.History) error {
	want := frames.Decision{ID: d.ID, Seq: d.Seq, At: d.At, Kind: d.Kind, Request: d.Request, Outcome: d.Outcome}
	switch data := closing.Data.(type) {
	case match.ActionData:
		answer := fmt.Sprintf(`{"id":%d,"action":%s}`, data.Decision, data.Action)
		want.ID, want.Kind, want.ElapsedMs, want.Played, want.Answer = data.Decision, data.Kind, *data.ElapsedMs, data.Action, &answer
	case match.TimeoutData:
		want.ID, want.Kind, want.ElapsedMs, want.Cause, want.Answer = data.Decision, data.Kind, data.ElapsedMs, &data.Cause, data.Answer
	case match.IllegalData:
		want.ID, want.Kind, want.ElapsedMs, want.Reason, want.Message, want.Answer = data.Decision, data.Kind, data.ElapsedMs, &data.Reason, &data.Message, &data.Answer
	}
	want.Malformed, want.Fault = d.Malformed, d.Fault   // TestExplainMalformed checks their contents
	want.Strikes, want.Resigned = d.Strikes, d.Resigned // checkDecisions checks them
	if malformed := d.Cause != nil && *d.Cause == match.CauseMalformed; malformed != (d.Malformed != nil) {
		return fmt.Errorf("the cause is malformed: %t, but an explanation is present: %t", malformed, d.Malformed != nil)
	}
	if d.Outcome != frames.Played {
		instead, ok := h.Replay()[d.Seq].Data.(match.ActionData)
		if !ok || !instead.Default || instead.Decision != d.ID {
			return fmt.Errorf("no default follows event %d", d.Seq)
		}
		want.Played = instead.Action
	}
	got, err := json.Marshal(d)
	if err != nil {
		return err
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if string(got) != string(wanted) {
		return fmt.Errorf("is\n%s\nnot\n%s", got, wanted)
	}
	return nil
}

func TestRequestsOfARunningMatchNeedTheServerSeed(t *testing.T) {
	g, log := started(t, "Ann", "Bea", "Cat")
	requests := asked(g, func() bool { return g.State.Game.Turn >= 9 })
	h := read(t, log, g)
	require.False(t, h.Ended())
	serverSeed := g.State.ServerSeed
	wrong := seed.Seed{1}
	open := map[int]bool{}
	for _, d := range g.State.Asks() {
		open[d.ID] = true
	}
	n := 0
	for s := range 3 {
		known, unknown, mistaken := h.Decisions(s, &serverSeed, match.NewDetails()), h.Decisions(s, nil, match.NewDetails()), h.Decisions(s, &wrong, match.NewDetails())
		require.Len(t, unknown, len(known))
		require.Equal(t, unknown, mistaken)
		for i, d := range known {
			require.False(t, open[d.ID])
			require.Equal(t, requests[d.ID], *d.Request)
			require.Nil(t, unknown[i].Request)
			d.Request = nil
			require.Equal(t, d, unknown[i])
			n++
		}
	}
	require.Len(t, requests, n)
}

func TestDecisionsOfASeatWithoutAny(t *testing.T) {
	g, log := started(t, "Ann", "Bea", "Cat")
	h := read(t, log, g)
	require.Equal(t, []frames.Decision{}, h.Decisions(0, nil, match.NewDetails()))
	seat, ok := h.SeatOf(arenatest.ID("Bea"))
	require.True(t, ok)
	require.Equal(t, "Bea", h.Started.Seats[seat].BotName)
	_, ok = h.SeatOf("stranger")
	require.False(t, ok)
}

// The requests in the decision log have the time limits that the bot received.
// Older arenas did not store clocks. Without clocks, the requests have the time
// limit of the mode.
func TestDecisionsShowTheRealDeadlines(t *testing.T) {
	for _, test := range []struct {
		name                 string
		timeBank, unmeasured bool
		deadlines            []int64 // some of the deadlines in the decision log
	}{
		{"an older arena", false, true, []int64{5000}},
		{"without a time bank", false, false, []int64{5000, 4750}},
		{"with a time bank", true, false, []int64{5000, 4750}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := memory.New()
			a := arenatest.New(t, log, 2)
			a.TimeBank, a.Unmeasured = test.timeBank, test.unmeasured
			g := a.Seat(ladder.Standard, a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")...)[0]
			g.Start()
			g.PlayOut()
			h := read(t, log, g)
			seen := map[int64]bool{}
			for seat := range 4 {
				for _, d := range h.Decisions(seat, nil, match.NewDetails()) {
					seen[d.Request.DeadlineMs] = true
					require.Equal(t, test.timeBank, d.Request.BankMs != nil)
				}
			}
			require.Subset(t, slices.Collect(maps.Keys(seen)), test.deadlines)
			require.True(t, !test.unmeasured || len(seen) == 1, "the deadlines: %v", seen)
		})
	}
}

// If a seat's time bank is empty, its decision times out, and the request shows
// that no time was left.
func TestDecisionOfAnEmptyBank(t *testing.T) {
	log := memory.New()
	a := arenatest.New(t, log, 2)
	a.TimeBank = true
	g := a.Seat(ladder.Standard, a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")...)[0]
	g.Start()
	g.Used[1] = 390_000
	g.Step() // opens the first decision of seat 1
	g.Step()
	h := read(t, log, g)
	d := h.Decisions(1, &g.State.ServerSeed, match.NewDetails())[0]
	require.Zero(t, d.Request.DeadlineMs)
	require.Zero(t, *d.Request.BankMs)
}

// The details of a match add data to its decisions: the fault, the late answer, and the
// complete explanation of a malformed answer.
func TestDecisionsHaveDetails(t *testing.T) {
	g, h, log := matchWithTimeouts(t)
	bad, missed := timeouts(h, match.NewDetails())
	require.Equal(t, match.Fault(*bad.Malformed), *bad.Fault, "without details")
	require.Nil(t, missed.Fault)

	why := match.Fault{Code: match.CodeMissing, At: "/id", Message: "/id is missing"}
	late := match.NewLateAnswer(0, missed.ID, []byte("{}"), 1004)
	for _, e := range []eventstore.Typed{match.TimeoutExplained{Decision: bad.ID, Fault: why}, late} {
		encoded, err := eventstore.Encode(e, eventstore.Metadata{})
		require.NoError(t, err)
		_, err = log.Append(t.Context(), eventstore.StreamID(match.DetailsStream(g.MatchID)), eventstore.Any, encoded)
		require.NoError(t, err)
	}
	details, err := frames.ReadDetails(t.Context(), log, g.MatchID)
	require.NoError(t, err)
	bad, missed = timeouts(h, details)
	require.Equal(t, why, *bad.Fault)
	require.Equal(t, match.Malformed(why), *bad.Malformed)
	require.Equal(t, match.Fault{Code: match.CodeLate, Message: "came 1,004 ms late"}, *missed.Fault)
	require.Equal(t, late.LateAnswer, *missed.Late)
}

// matchWithTimeouts plays a match in which one answer was malformed and another
// decision timed out for a different reason.
func matchWithTimeouts(t *testing.T) (*arenatest.Game, frames.History, eventstore.Log) {
	t.Helper()
	for chance := range uint64(20) {
		log := memory.New()
		a := arenatest.New(t, log, chance)
		g := a.Seat(ladder.Standard, a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")...)[0]
		g.Start()
		g.PlayOut()
		h := read(t, log, g)
		if bad, missed := timeouts(h, match.NewDetails()); bad != nil && missed != nil {
			return g, h, log
		}
	}
	require.FailNow(t, "no match contains both kinds of timeouts")
	panic("unreachable")
}

// The function timeouts returns the first malformed answer and the first other
// timeout.
func timeouts(h frames.History, details match.Details) (malformed, other *frames.Decision) {
	for seat := range h.Started.Seats {
		for _, d := range h.Decisions(seat, nil, details) {
			switch {
			case d.Outcome != frames.Timeout:
			case malformed == nil && d.Malformed != nil:
				malformed = &d
			case other == nil && d.Malformed == nil:
				other = &d
			}
		}
	}
	return malformed, other
}

// A request that the bot never got has no time limit.
func TestTook(t *testing.T) {
	for want, d := range map[string]frames.Decision{
		"41 of 4750 ms": {ElapsedMs: 41, Request: &match.Request{DeadlineMs: 4750}},
		"0 of 0 ms":     {Request: &match.Request{}},
		"2000 ms":       {ElapsedMs: 2000, Request: &match.Request{}},
		"3 ms":          {ElapsedMs: 3},
	} {
		require.Equal(t, want, d.Took())
	}
}
