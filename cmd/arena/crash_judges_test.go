package main

import (
	"bytes"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/offline"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/projections"
	"hexarena/projections/readmodels"
)

// judge judges the log of stopped arenas whose matches have ended, and the read models in
// their data folders. It starts the arena s on the log to audit the ladder.
func (d *drill) judge(s *testArena, c *matchHistory, folders ...string) {
	d.t.Helper()
	require.NotEmpty(d.t, c.rated)
	d.row.matches = len(c.rated)
	d.judgeNotes(s.data)
	require.Positive(d.t, d.row.answered, "acknowledged events")
	require.Zero(d.t, d.row.lost, "acknowledged events are lost")
	require.Zero(d.t, d.row.doubled, "events are stored twice")
	for _, folder := range folders {
		d.judgeModels(s.data, folder)
	}
	s.env = nil
	auditRecords(d.t, s, c)
	s.start("--no-play")
	s.awaitHeads()
	_, errOut, status := call("verify", "--ladder", ladder.Standard, "--arena", s.base())
	require.Zero(d.t, status, errOut)
	s.stop()
}

// keepsAll lists the beginnings of the streams that keep all events. Many others keep only
// their last event.
var keepsAll = []string{"match-", "ladder-", "owner-", "arena-keys"}

// judgeNotes compares the log with the notes of all processes. It counts the acknowledged
// events that are not at their places, and the events that are stored twice.
func (d *drill) judgeNotes(data string) {
	d.t.Helper()
	type place struct {
		stream   eventstore.StreamID
		revision eventstore.Revision
	}
	log, closeLog := openLog(d.t, data)
	defer closeLog()
	at, places, first := map[place]uuid.UUID{}, map[uuid.UUID]int{}, map[eventstore.StreamID]eventstore.Revision{}
	for r, err := range log.ReadAll(d.t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(d.t, err)
		at[place{r.Stream, r.Revision}] = r.ID
		places[r.ID]++
		if _, known := first[r.Stream]; !known {
			first[r.Stream] = r.Revision
		}
	}
	for _, n := range places {
		d.row.doubled += n - 1
	}
	open := map[uuid.UUID]bool{}
	for n := range d.noted() {
		for i, id := range n.IDs {
			open[id] = !n.Acknowledged
			p := place{n.Stream, n.Revision - eventstore.Revision(len(n.IDs)-1-i)}
			if n.Acknowledged && at[p] != id && (p.revision >= first[p.stream] || isComplete(p.stream)) {
				d.row.lost++
				d.t.Logf("the acknowledged event %s of %s@%d is lost", id, p.stream, p.revision)
			}
		}
	}
	for id, unanswered := range open {
		if !unanswered {
			d.row.answered++
			continue
		}
		d.row.unanswered++
		d.row.stored += places[id]
	}
}

// The judge finds acknowledged events that are not in the log, and events that are stored
// twice. It also finds appends that got no answer but are stored.
func TestJudgeOfCrashes(t *testing.T) {
	data := t.TempDir()
	d := newDrill(t, nil, "")
	notes, err := os.Create(d.notes)
	require.NoError(t, err)
	c := &crashing{notes: notes}
	event := func() eventstore.Event {
		return eventstore.Event{ID: uuid.New(), Type: "Tested", Data: []byte("{}")}
	}
	log, closeLog := openLog(t, data)
	store := func(id eventstore.StreamID, events ...eventstore.Event) {
		_, err := log.Append(t.Context(), id, eventstore.Any, events...)
		require.NoError(t, err)
	}
	kept, twice, unanswered, lost := event(), event(), event(), event()
	store("match-1", kept, twice)
	c.note(appendNote{Stream: "match-1", IDs: []uuid.UUID{kept.ID, twice.ID}, Acknowledged: true, Revision: 1})
	store("match-2", twice)
	store("match-2", unanswered)
	c.note(appendNote{Stream: "match-2", IDs: []uuid.UUID{unanswered.ID}})
	c.note(appendNote{Stream: "match-2", IDs: []uuid.UUID{lost.ID}, Acknowledged: true, Revision: 1})
	require.NoError(t, notes.Close())
	closeLog()
	d.judgeNotes(data)
	require.Equal(t, crashed{streams: map[string]int{}, answered: 3, unanswered: 1, stored: 1, lost: 1, doubled: 1}, d.row)
}

func isComplete(id eventstore.StreamID) bool {
	return slices.ContainsFunc(keepsAll, func(prefix string) bool { return strings.HasPrefix(string(id), prefix) })
}

// The method noted() yields the notes of all processes, in order.
func (d *drill) noted() iter.Seq[appendNote] {
	return func(yield func(appendNote) bool) {
		text, err := os.ReadFile(d.notes)
		if !os.IsNotExist(err) {
			require.NoError(d.t, err)
		}
		for line := range bytes.Lines(text) {
			var n appendNote
			require.NoError(d.t, json.Unmarshal(line, &n))
			if !yield(n) {
				return
			}
		}
	}
}

// judgeModels requires that the read models of a data folder equal a rebuild.
func (d *drill) judgeModels(data, folder string) {
	d.t.Helper()
	log, closeLog := openLog(d.t, data)
	defer closeLog()
	rows := func(dir string) (all []string) {
		for _, m := range readmodels.New(log).All() {
			r, err := projections.Open(dir, log, m, slog.New(slog.DiscardHandler))
			require.NoError(d.t, err)
			require.NoError(d.t, r.Sync(d.t.Context()))
			var text strings.Builder
			require.NoError(d.t, r.Dump(&text))
			require.NoError(d.t, r.Close())
			all = append(all, text.String())
		}
		return all
	}
	kept, rebuilt := rows(offline.ProjectionsDir(folder)), rows(filepath.Join(d.t.TempDir(), "rebuilt"))
	for i, m := range readmodels.New(log).All() {
		d.t.Logf("comparing the read model %s with a rebuild", m.Name())
		logtest.RequireSameText(d.t, rebuilt[i], kept[i])
	}
}

// judgeSwitches requires that the log contains each acknowledged change of the bot's
// status once.
func (d *drill) judgeSwitches(s *testArena, w *switcher) {
	d.t.Helper()
	log, closeLog := openLog(d.t, s.data)
	defer closeLog()
	changes, paused := 0, false
	for r, err := range log.ReadAll(d.t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(d.t, err)
		if !strings.HasPrefix(string(r.Stream), owner.AccountPrefix) {
			continue
		}
		e, err := owner.Decode(r.Type, r.Data)
		require.NoError(d.t, err)
		switch e := e.(type) {
		case owner.BotPaused:
			if e.BotID == w.botID {
				require.False(d.t, paused, "%s@%d pauses the bot again", r.Stream, r.Revision)
				paused = true
				changes++
			}
		case owner.BotUnpaused:
			if e.BotID == w.botID {
				require.True(d.t, paused, "%s@%d unpauses the bot again", r.Stream, r.Revision)
				paused = false
				changes++
			}
		}
	}
	require.GreaterOrEqual(d.t, changes, w.changes, "acknowledged changes of the bot's status")
}

// namedBot is a bot in its owner's list.
type namedBot struct{ ID, Name string }

// The method bots() yields the bots of all owners.
func (s *testArena) bots() iter.Seq[namedBot] {
	return func(yield func(namedBot) bool) {
		for _, o := range s.owners {
			var list struct{ Bots []namedBot }
			s.must(o.Call(s.t.Context(), http.MethodGet, "/bots", nil, &list))
			for _, b := range list.Bots {
				if !yield(b) {
					return
				}
			}
		}
	}
}
