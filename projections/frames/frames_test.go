package frames_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
)

// The function started() returns a match that has started, and its log.
func started(t *testing.T, names ...string) (*arenatest.Game, *memory.Log) {
	t.Helper()
	log := memory.New()
	a := arenatest.New(t, log, 11)
	g := a.Seat(ladder.Standard, a.Register("ada", ladder.Standard, names...)...)[0]
	g.Start()
	return g, log
}

func read(t *testing.T, log eventstore.Log, g *arenatest.Game) frames.History {
	t.Helper()
	h, err := frames.Read(t.Context(), log, g.MatchID)
	require.NoError(t, err)
	return h
}

// The function whole() returns an ended match that another referee claimed while it
// was running.
func whole(t *testing.T, names ...string) (*arenatest.Game, frames.History) {
	t.Helper()
	g, log := started(t, names...)
	g.Play(10)
	g.Claim()
	g.PlayOut()
	return g, read(t, log, g)
}

// The function fields returns the fields of a value that encodes as a JSON object.
func fields(t require.TestingT, v any) map[string]any {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(b, &m))
	return m
}

// The public part of each frame equals the public part of a view. After the end
// of the match, frames may also show the cards of one seat or of all seats.
func TestFramesEqualThePublicPartOfViews(t *testing.T) {
	for _, names := range [][]string{{"Ann", "Bea", "Cat", "Dot"}, {"Ann", "Bea", "Cat"}} {
		g, h := whole(t, names...)
		public, open := h.Frames(true, frames.Window{}), h.OpenFrames(match.AllHands, frames.Window{})
		ofSeat := make([][]match.Frame, len(names))
		for seat := range names {
			ofSeat[seat] = h.OpenFrames(match.HandsOf(seat), frames.Window{})
		}
		replay := h.Replay()
		require.Len(t, public, len(replay))
		require.Len(t, open, len(replay))

		m := match.New(g.State.ServerSeed)
		for _, e := range g.Events {
			m = match.Evolve(m, e)
			if kind, _, _ := match.Publish(e); kind == "" {
				continue
			}
			i := m.Seq - 1
			want := fields(t, m.View(0))
			for _, private := range []string{"seat", "hand", "devCards", "devBoughtThisTurn", "myScore"} {
				delete(want, private)
			}
			want["seq"], want["event"] = float64(m.Seq), fields(t, replay[i])
			want["owed"] = fields(t, m.Frame(e, time.Time{}, match.NoHands))["owed"]
			want["board"] = map[string]any{"bandit": want["board"].(map[string]any)["bandit"]}
			require.Equal(t, want, fields(t, public[i]), "seq %d", m.Seq)
			if m.Seq%9 > 0 && !m.Over() {
				continue // check the cards only in every ninth frame and in the last frame
			}

			var hands, devs, bought []any
			for seat := range names {
				v := fields(t, m.View(seat))
				hands, devs, bought = append(hands, v["hand"]), append(devs, v["devCards"]), append(bought, v["devBoughtThisTurn"])
				want["hand"], want["devCards"], want["devBoughtThisTurn"] = v["hand"], v["devCards"], v["devBoughtThisTurn"]
				require.Equal(t, want, fields(t, ofSeat[seat][i]), "seq %d", m.Seq)
			}
			want["hand"], want["devCards"], want["devBoughtThisTurn"] = hands, devs, bought
			require.Equal(t, want, fields(t, open[i]), "seq %d", m.Seq)
		}
		require.Equal(t, len(replay), m.Seq)
		require.Equal(t, g.State, m, "the match after the last frame")
	}
}

func TestFramesOfARunningMatchHideTheDataOfEvents(t *testing.T) {
	g, log := started(t, "Ann", "Bea", "Cat", "Dot")
	for turn := range 30 {
		g.Play(uint16(turn))
		h := read(t, log, g)
		require.False(t, h.Ended())
		require.Nil(t, h.Seed)
		list := h.Frames(false, frames.Window{})
		require.Len(t, list, g.State.Seq)
		for i, f := range list {
			require.Equal(t, i+1, f.Seq)
			event := fields(t, f.Event)
			require.NotContains(t, event, "data")
			for name := range event {
				require.Contains(t, []string{"seq", "at", "kind", "seat"}, name)
			}
		}
		last := fields(t, list[len(list)-1])
		view := fields(t, g.State.View(0))
		for _, name := range []string{"turn", "phase", "dice", "handCounts", "devCounts", "roads", "towns", "scores", "talkLog", "openTrade", "deckRemaining"} {
			require.Equal(t, view[name], last[name], name)
		}
	}
}

// Changing the discarded cards, the rejected answers and the seed must not
// change the frames of a running match.
func TestFramesOfARunningMatchDoNotDependOnHiddenState(t *testing.T) {
	changed := map[string]int{}
	for chance := range uint64(6) {
		log := memory.New()
		a := arenatest.New(t, log, chance)
		g := a.Seat(ladder.Standard, a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")...)[0]
		g.Start()
		g.PlayOut()
		h := read(t, log, g)
		other := h
		other.Events = nil
		other.Started.Commitment, other.Started.Nonces = seed.Seed{1}, []string{"a", "b", "c", "d"}
		for _, e := range h.Events {
			o := disguised(t, e)
			if fmt.Sprint(o) != fmt.Sprint(e) {
				name := e.EventType()
				if played, ok := e.(match.ActionPlayed); ok {
					name += " " + played.Kind
				}
				changed[name]++
			}
			other.Events = append(other.Events, o)
		}
		shown, disguise := h.Frames(false, frames.Window{}), other.Frames(false, frames.Window{})
		require.Len(t, disguise, len(shown))
		for i := range shown {
			want, err := json.Marshal(shown[i])
			require.NoError(t, err)
			got, err := json.Marshal(disguise[i])
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "frame %d", i+1)
		}
	}
	t.Log(changed)
	require.Len(t, changed, 5, "kinds of events with hidden data")
}

// The function disguised() returns an event with the same public part but different
// hidden data.
func disguised(t *testing.T, e match.Event) match.Event {
	t.Helper()
	switch e := e.(type) {
	case match.ActionPlayed:
		var action map[string]any
		require.NoError(t, json.Unmarshal(e.Action, &action))
		for _, field := range []string{"cards", "take"} { // the fields of a discard and of a windfall
			if cards, ok := action[field].(map[string]any); ok {
				action[field] = turned(cards)
				var err error
				e.Action, err = json.Marshal(action)
				require.NoError(t, err)
			}
		}
		return e
	case match.AnswerRejected:
		e.Answer, e.Reason, e.Message = "another", "another", "another"
		return e
	case match.DecisionTimedOut:
		e.Cause, e.Answer = match.CauseDropped, nil
		return e
	case match.GameEnded:
		e.Seed, e.Proof.ServerSeed = seed.Seed{2}, seed.Seed{3}
		return e
	}
	return e
}

// The function turned() replaces each card with a card of a different resource.
func turned(cards map[string]any) map[string]any {
	names := []string{"brick", "lumber", "wool", "grain", "ore", "brick"}
	other := map[string]any{}
	for i, name := range names[:5] {
		if n, ok := cards[name]; ok {
			other[names[i+1]] = n
		}
	}
	return other
}

func TestReplayHoldsThePublicEvents(t *testing.T) {
	g, h := whole(t, "Ann", "Bea", "Cat", "Dot")
	require.True(t, h.Ended())
	require.Equal(t, g.State.Seed, *h.Seed)
	require.Equal(t, g.State.Proof(), *h.Proof)
	require.Equal(t, *h.Seed, seed.Joint(h.Proof.ServerSeed, h.Proof.Nonces))
	require.Equal(t, h.Started.Commitment, seed.Commitment(h.Proof.ServerSeed))

	replay, i := h.Replay(), 0
	for at, e := range g.Events {
		kind, seat, data := match.Publish(e)
		if kind == "" {
			continue
		}
		require.Equal(t, match.PublicEvent{Seq: i + 1, At: g.Times[at].Format(match.TimeFormat), Kind: kind, Seat: seat, Data: data}, replay[i])
		i++
	}
	require.Len(t, replay, i)
	require.Equal(t, []string{"board", "end"}, []string{replay[0].Kind, replay[i-1].Kind})
	require.Equal(t, replay[0].Data, h.Board())
}

func TestThinkingMsSumsDecisions(t *testing.T) {
	_, h := whole(t, "Ann", "Bea", "Cat")
	want := make([]int64, 3)
	for _, e := range h.Replay() {
		if ms, ok := fields(t, e)["data"].(map[string]any)["elapsedMs"].(float64); ok {
			want[*e.Seat] += int64(ms)
		}
	}
	require.Equal(t, want, h.ThinkingMs())
	for _, ms := range want {
		require.Positive(t, ms)
	}
}

func TestAbortedMatchHasReplayAndFrames(t *testing.T) {
	g, log := started(t, "Ann", "Bea", "Cat")
	g.Play(4)
	seq := g.State.Seq
	g.Abort(match.WallClock)
	h := read(t, log, g)
	require.True(t, h.Ended())
	require.Equal(t, g.State.Seed, *h.Seed)
	require.Equal(t, g.State.Proof(), *h.Proof)
	require.Len(t, h.Replay(), seq)
	require.NotEqual(t, "end", h.Replay()[seq-1].Kind)
	require.Len(t, h.Frames(true, frames.Window{}), seq, "the frames without the abort, which is not public")
	require.Len(t, h.OpenFrames(match.AllHands, frames.Window{}), seq)
}

func TestWindowSelectsFrames(t *testing.T) {
	g, log := started(t, "Ann", "Bea", "Cat")
	g.Play(15)
	g.Abort(match.Operator)
	h := read(t, log, g)
	public, open := h.Frames(true, frames.Window{}), h.OpenFrames(0, frames.Window{})
	n := len(public)
	for _, whole := range []bool{true, false} {
		all := h.Frames(whole, frames.Window{})
		last, ok := h.Last(whole)
		require.True(t, ok)
		require.Equal(t, all[n-1], last)
	}
	none := frames.History{Started: h.Started}
	_, ok := none.Last(true)
	require.False(t, ok)
	cut := func(list []match.Frame, w frames.Window) []match.Frame {
		list = list[min(w.After, n):]
		if w.Limit > 0 {
			list = list[:min(w.Limit, len(list))]
		}
		return list
	}
	edges := []int{0, 1, 2, n - 1, n, n + 1, math.MaxInt}
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.OneOf(rapid.SampledFrom(edges), rapid.IntRange(0, n+2))
		w := frames.Window{After: bound.Draw(t, "after"), Limit: bound.Draw(t, "limit")}
		for _, c := range []struct{ all, got []match.Frame }{{public, h.Frames(true, w)}, {open, h.OpenFrames(0, w)}} {
			require.NotNil(t, c.got, "an empty list")
			require.Equal(t, cut(c.all, w), c.got)
		}
	})
}

// brokenLog is a log whose reads fail at the nth event.
type brokenLog struct {
	*memory.Log
	n int
}

var errBroken = errors.New("the connection broke")

func (l brokenLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		n := 0
		for r, err := range l.Log.Read(ctx, id, from, o) {
			if n++; n == l.n {
				yield(eventstore.Recorded{}, errBroken)
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestReadReturnsErrorsOfTheLogAndOfEvents(t *testing.T) {
	g, log := started(t, "Ann", "Bea", "Cat")
	g.Play(1)
	_, err := frames.Read(t.Context(), log, "another")
	require.ErrorIs(t, err, frames.ErrNoMatch)
	_, err = frames.Read(t.Context(), brokenLog{log, 5}, g.MatchID)
	require.ErrorIs(t, err, errBroken, "a read that fails part way returns the error")
	require.ErrorContains(t, err, g.MatchID)

	for name, c := range map[string]struct {
		event eventstore.Event
		want  string
	}{
		"an unknown event":            {eventstore.Event{Type: "DiceLost", Data: []byte("{}"), Metadata: []byte(`{"schema":1}`)}, "DiceLost"},
		"invalid JSON":                {eventstore.Event{Type: "DiceRolled", Data: []byte("{"), Metadata: []byte(`{"schema":1}`)}, "DiceRolled"},
		"metadata of a later program": {eventstore.Event{Type: "DiceRolled", Data: []byte("{}"), Metadata: []byte(`{"schema":2}`)}, "schema version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			log := memory.New()
			c.event.ID[0] = 1
			_, err := log.Append(t.Context(), "match-m", eventstore.NoStream, c.event)
			require.NoError(t, err)
			_, err = frames.Read(t.Context(), log, "m")
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "match-m@0")
		})
	}
}
