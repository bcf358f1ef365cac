package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// stage is an arena's log and a hub that follows it.
type stage struct {
	*arenatest.Arena
	t      *testing.T
	log    *memory.Log
	wire   eventstore.Log // the log that the hub uses
	hub    *live.Hub
	errors bytes.Buffer // the hub's log lines; read them only after the hub has stopped
	ended  error        // the error of Options.Ended
	stop   func()
}

// newStage returns a stage whose log has no match and whose hub does not run.
func newStage(t *testing.T) *stage {
	log := memory.New()
	s := &stage{Arena: arenatest.New(t, log, 7), t: t, log: log, wire: log}
	s.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon")
	s.Register("ada", ladder.Parley, "Pam", "Quy", "Rob")
	return s
}

// seat starts a match.
func (s *stage) seat(mode string, names ...string) *arenatest.Game {
	s.t.Helper()
	ids := make([]string, len(names))
	for i, n := range names {
		ids[i] = arenatest.ID(n)
	}
	g := s.Seat(mode, ids...)[0]
	g.Start()
	return g
}

// run runs the hub until the test ends or calls stop.
func (s *stage) run() {
	s.t.Helper()
	s.hub = live.New(live.Options{Log: s.wire, Running: s.running, Ended: s.summary, Logger: slog.New(slog.NewTextHandler(&s.errors, nil))})
	ctx, cancel := context.WithCancel(context.Background())
	var ran sync.WaitGroup
	ran.Go(func() { s.hub.Run(ctx) })
	s.stop = func() { cancel(); ran.Wait() }
	s.t.Cleanup(s.stop)
	require.NoError(s.t, s.hub.Ready(s.t.Context()))
}

// The method running() implements Options.Running by reading the log.
func (s *stage) running(ctx context.Context) ([]string, error) {
	var ids []string
	for id, m := range s.scan(ctx) {
		if m.Status == matches.Running {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (s *stage) summary(ctx context.Context, id string, _ eventstore.Position) (matches.Summary, error) {
	m := s.scan(ctx)[id]
	if m.Status == matches.Running {
		return m, errors.New("the match still runs")
	}
	return m, s.ended
}

// scan reads all matches from the log.
func (s *stage) scan(ctx context.Context) map[string]matches.Summary {
	all := map[string]matches.Summary{}
	for r, err := range s.log.ReadAll(ctx, 0, eventstore.ReadOptions{}) {
		require.NoError(s.t, err)
		var e struct {
			MatchID string `json:"matchId"`
			Closed  string `json:"match"`
			Mode    string `json:"mode"`
		}
		require.NoError(s.t, json.Unmarshal(r.Data, &e))
		switch r.Type {
		case "MatchStarted":
			all[e.MatchID] = matches.Summary{ID: e.MatchID, Mode: e.Mode, Status: matches.Running}
		case "RatingsChanged":
			all[e.Closed] = matches.Summary{ID: e.Closed, Status: matches.Completed}
		case "MatchVoided":
			all[e.Closed] = matches.Summary{ID: e.Closed, Status: matches.Aborted}
		}
	}
	return all
}

// The method shown() returns the frames that readers of a running match get.
func (s *stage) shown(g *arenatest.Game) []match.Frame {
	s.t.Helper()
	h, err := frames.Read(context.Background(), s.log, g.MatchID)
	require.NoError(s.t, err)
	return h.Frames(false, frames.Window{})
}

// record is a parsed record of a stream.
type record struct {
	event, id, data string
}

func parse(t require.TestingT, raw []byte) record {
	text, ok := strings.CutSuffix(string(raw), "\n\n")
	require.True(t, ok, "a record ends with an empty line: %q", raw)
	require.NotContains(t, text, "\n\n")
	var r record
	for line := range strings.SplitSeq(text, "\n") {
		name, value, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		switch name {
		case "event":
			r.event = value
		case "id":
			r.id = value
		case "data":
			r.data = value
		default:
			require.Fail(t, "no such field: "+line)
		}
	}
	return r
}

// frameRecord returns the record of a frame in the match's own stream.
func frameRecord(t require.TestingT, f match.Frame) record {
	data, err := json.Marshal(f)
	require.NoError(t, err)
	return record{"frame", fmt.Sprint(f.Seq), string(data)}
}

// take reads all records that are available now.
func take(t require.TestingT, r *live.Reader) (all []record, ended bool) {
	for {
		raw, more, ended := r.Take()
		for _, b := range raw {
			all = append(all, parse(t, b))
		}
		if ended {
			return all, true
		}
		select {
		case <-more:
		default:
			return all, false
		}
	}
}

// The function settled() waits until the hub is idle. Call it only in a synctest
// bubble.
func settled() { synctest.Wait() }

// bubble runs a test in a synctest bubble, so that settled() works.
func bubble(t *testing.T, f func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		defer func() {
			if s.stop != nil {
				s.stop()
			}
		}()
		f(t, s)
	})
}
