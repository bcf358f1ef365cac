package directory_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
)

// world is an arena and its directory.
type world struct {
	*arenatest.Arena
	t      *testing.T
	log    *memory.Log
	dir    *directory.Directory
	runner *projections.Runner
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log, dir := memory.New(), directory.New()
	return &world{arenatest.New(t, log, 1), t, log, dir, projections.New(log, dir, slog.New(slog.DiscardHandler))}
}

// own stores events of an account and folds them.
func (w *world) own(ownerID string, events ...owner.Event) {
	w.t.Helper()
	w.Own(ownerID, events...)
	require.NoError(w.t, w.runner.Sync(w.t.Context()))
}

func (w *world) active(mode string) string {
	var names []string
	for _, b := range w.dir.Active(mode) {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestLifeOfABot(t *testing.T) {
	w := newWorld(t)
	_, ok := w.dir.Bot("b1")
	require.False(t, ok)

	w.own("ada", owner.SignedUp{OwnerID: "ada"}, owner.BotRegistered{BotID: "b1", Name: "One", Mode: owner.ModeStandard, URL: "https://one.example"})
	w.own("bob", owner.BotRegistered{BotID: "b2", Name: "Two", Mode: owner.ModeStandard, URL: "https://two.example"})
	w.own("bob", owner.BotRegistered{BotID: "b3", Name: "Three", Mode: owner.ModeParley, URL: "https://three.example"})
	want := directory.Bot{
		ID: "b1", OwnerID: "ada", Name: "One", Mode: owner.ModeStandard, URL: "https://one.example", Active: true,
		RegisteredAt: time.Date(2026, 9, 6, 12, 0, 1, 0, time.UTC),
	}
	other, _ := w.dir.Bot("b2")
	require.Equal(t, "One Two", w.active(owner.ModeStandard))
	require.Equal(t, "Three", w.active(owner.ModeParley))

	for _, step := range []struct {
		event  owner.Event
		change func()
		active string
	}{
		{owner.BotRenamed{BotID: "b1", Name: "Uno"}, func() { want.Name = "Uno" }, "Two Uno"},
		{owner.BotURLChanged{BotID: "b1", URL: "https://uno.example"}, func() { want.URL = "https://uno.example" }, "Two Uno"},
		{owner.BotPaused{BotID: "b1", By: owner.ByOwner}, func() { want.Active = false }, "Two"},
		{owner.BotRenamed{BotID: "b1", Name: "Eins"}, func() { want.Name = "Eins" }, "Two"},
		{owner.BotUnpaused{BotID: "b1"}, func() { want.Active = true }, "Eins Two"},
		{owner.BotPaused{BotID: "b1", By: owner.ByMisses}, func() { want.Active = false }, "Two"},
		{owner.BotUnpaused{BotID: "b1"}, func() { want.Active = true }, "Eins Two"},
		{owner.BotRemoved{BotID: "b1"}, func() { want.Active, want.Removed = false, true }, "Two"},
		{owner.BotRenamed{BotID: "nobody", Name: "x"}, func() {}, "Two"},
	} {
		w.own("ada", step.event)
		step.change()
		got, ok := w.dir.Bot("b1")
		require.True(t, ok, "removed ones stay known")
		require.Equal(t, want, got, step.event.EventType())
		require.Equal(t, step.active, w.active(owner.ModeStandard), step.event.EventType())
	}
	got, _ := w.dir.Bot("b2")
	require.Equal(t, other, got)
	_, ok = w.dir.Bot("nobody")
	require.False(t, ok)
}

func TestKeysAndHandles(t *testing.T) {
	w := newWorld(t)
	require.Empty(t, w.dir.Handle("ada"))
	w.own("ada", owner.SignedUp{OwnerID: "ada"}, owner.APIKeyRegistered{KeyID: "k1"}, owner.HandleChosen{Handle: "ada"})
	w.own("bob", owner.SignedUp{OwnerID: "bob"}, owner.APIKeyRegistered{KeyID: "k2"})
	require.Equal(t, "ada", w.dir.Handle("ada"))
	require.Empty(t, w.dir.Handle("bob"))

	w.own("ada", owner.HandleChosen{Handle: "countess"}, owner.APIKeyRevoked{KeyID: "k1"}, owner.APIKeyUsed{KeyID: "k1"})
	require.Equal(t, "countess", w.dir.Handle("ada"))
	for key, want := range map[string]string{"k1": "ada", "k2": "bob", "k3": ""} {
		got, ok := w.dir.OwnerOfKey(key)
		require.Equal(t, want, got, key)
		require.Equal(t, want != "", ok, key)
	}
}

func TestWhatCannotBeFolded(t *testing.T) {
	encoded, err := eventstore.Encode(owner.BotRemoved{BotID: "b1"}, eventstore.Metadata{})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*eventstore.Recorded)
		want   string
	}{
		"an unknown event":            {func(r *eventstore.Recorded) { r.Type = "BotPraised" }, "BotPraised"},
		"no JSON":                     {func(r *eventstore.Recorded) { r.Data = []byte("{") }, "BotRemoved"},
		"metadata of a later program": {func(r *eventstore.Recorded) { r.Metadata = []byte(`{"schema":2}`) }, "schema version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.own("ada", owner.BotRegistered{BotID: "b1", Mode: owner.ModeStandard})
			before, _ := w.dir.Bot("b1")
			r := eventstore.Recorded{Event: encoded, Stream: "owner-ada"}
			c.change(&r)
			require.ErrorContains(t, w.dir.Apply(r), c.want)
			after, _ := w.dir.Bot("b1")
			require.Equal(t, before, after)
			r.Stream = "match-x"
			require.NoError(t, w.dir.Apply(r), "not an account's")
		})
	}
}

// Readers meet a live directory half way; a rebuilt one is the same in the end.
func TestRebuild(t *testing.T) {
	w := newWorld(t)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, b := range w.dir.Active(owner.ModeStandard) {
					again, ok := w.dir.Bot(b.ID)
					assert.True(t, ok)
					assert.Equal(t, b.OwnerID, again.OwnerID)
				}
				w.dir.Handle("o1")
				w.dir.OwnerOfKey("k1")
			}
		})
	}
	for i := range 50 {
		id := func(prefix string) string { return fmt.Sprint(prefix, i) }
		w.own(id("o"), owner.HandleChosen{Handle: id("handle-")}, owner.APIKeyRegistered{KeyID: id("k")},
			owner.BotRegistered{BotID: id("b"), Name: id("Bot "), Mode: owner.ModeStandard}, owner.BotRegistered{BotID: id("p"), Mode: owner.ModeParley})
		w.own(id("o"), owner.BotPaused{BotID: id("b")}, owner.BotRemoved{BotID: id("p")}, owner.BotUnpaused{BotID: id("b")}, owner.BotRenamed{BotID: id("b"), Name: id("Re")})
	}
	close(stop)
	readers.Wait()
	require.Len(t, w.dir.Active(owner.ModeStandard), 50)
	require.Empty(t, w.dir.Active(owner.ModeParley))

	rebuilt := directory.New()
	require.NoError(t, projections.New(w.log, rebuilt, slog.New(slog.DiscardHandler)).Sync(t.Context()))
	require.Equal(t, w.dir, rebuilt)
}
