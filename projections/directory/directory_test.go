package directory_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
)

// The type followed is an arena and its directory.
type followed struct {
	*arenatest.Arena
	t      *testing.T
	log    *memory.Log
	dir    *directory.Directory
	runner *projections.Runner
}

func newFollowed(t *testing.T) *followed {
	t.Helper()
	log, dir := memory.New(), directory.New()
	return &followed{arenatest.New(t, log, 1), t, log, dir, arenatest.Follow(t, log, dir)}
}

// The method own() appends events to an account, and waits until the directory has
// folded them.
func (w *followed) own(ownerID string, events ...owner.Event) {
	w.t.Helper()
	w.Own(ownerID, events...)
	require.NoError(w.t, w.runner.Sync(w.t.Context()))
}

func (w *followed) active(mode string) string {
	var names []string
	for _, b := range w.dir.Active(mode) {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestDirectoryFollowsABot(t *testing.T) {
	w := newFollowed(t)
	_, ok := w.dir.Bot("b1")
	require.False(t, ok)

	w.own("ada", owner.SignedUp{OwnerID: "ada"}, owner.BotRegistered{BotID: "b1", Name: "One", Mode: ladder.Standard, URL: "https://one.example"})
	w.own("bob", owner.BotRegistered{BotID: "b2", Name: "Two", Mode: ladder.Standard, URL: "https://two.example"})
	w.own("bob", owner.BotRegistered{BotID: "b3", Name: "Three", Mode: ladder.Parley, URL: "https://three.example"})
	second := func(n int) time.Time { return time.Date(2026, 9, 6, 12, 0, n, 0, time.UTC) }
	want := directory.Bot{
		ID: "b1", OwnerID: "ada", Name: "One", Mode: ladder.Standard, URL: "https://one.example", Active: true,
		RegisteredAt: second(1), StatusChanged: second(1),
	}
	other, _ := w.dir.Bot("b2")
	require.Equal(t, "One Two", w.active(ladder.Standard))
	require.Equal(t, "Three", w.active(ladder.Parley))

	for _, step := range []struct {
		event  owner.Event
		change func()
		active string
	}{
		{owner.BotRenamed{BotID: "b1", Name: "Uno"}, func() { want.Name = "Uno" }, "Two Uno"},
		{owner.BotURLChanged{BotID: "b1", URL: "https://uno.example"}, func() { want.URL = "https://uno.example" }, "Two Uno"},
		{owner.BotPaused{BotID: "b1", By: owner.ByOwner}, func() { want.Active, want.StatusChanged = false, second(6) }, "Two"},
		{owner.BotRenamed{BotID: "b1", Name: "Eins"}, func() { want.Name = "Eins" }, "Two"},
		{owner.BotUnpaused{BotID: "b1"}, func() { want.Active, want.StatusChanged = true, second(8) }, "Eins Two"},
		{owner.BotPaused{BotID: "b1", By: owner.ByMisses}, func() { want.Active, want.NoticeOwed, want.StatusChanged = false, true, second(9) }, "Two"},
		{owner.Notified{BotID: "b1", About: owner.AboutMisses}, func() { want.NoticeOwed = false }, "Two"},
		{owner.BotUnpaused{BotID: "b1"}, func() { want.Active, want.StatusChanged = true, second(11) }, "Eins Two"},
		{owner.Suspended{}, func() { want.Active, want.StatusChanged = false, second(12) }, "Two"},
		{owner.BotPaused{BotID: "b1", By: owner.ByOperator}, func() {}, "Two"},
		{owner.Restored{}, func() {}, "Two"},
		{owner.BotUnpaused{BotID: "b1", By: owner.ByOperator}, func() { want.Active, want.StatusChanged = true, second(15) }, "Eins Two"},
		{owner.BotRemoved{BotID: "b1"}, func() { want.Active, want.Removed = false, true }, "Two"},
		{owner.BotRenamed{BotID: "nobody", Name: "x"}, func() {}, "Two"},
	} {
		w.own("ada", step.event)
		step.change()
		got, ok := w.dir.Bot("b1")
		require.True(t, ok, "a removed bot")
		require.Equal(t, want, got, step.event.EventType())
		require.Equal(t, step.active, w.active(ladder.Standard), step.event.EventType())
	}
	got, _ := w.dir.Bot("b2")
	require.Equal(t, other, got)
	_, ok = w.dir.Bot("nobody")
	require.False(t, ok)
}

// key returns the registration of a key. Registrations with the same n have the
// same public key.
func key(id string, n byte) owner.APIKeyRegistered {
	return owner.APIKeyRegistered{KeyID: id, PublicKey: bytes.Repeat([]byte{n}, 32)}
}

func TestKeysAndHandles(t *testing.T) {
	w := newFollowed(t)
	require.Empty(t, w.dir.Handle("ada"))
	w.own("ada", owner.SignedUp{OwnerID: "ada"}, key("k1", 1), owner.HandleChosen{Handle: "ada"})
	w.own("bob", owner.SignedUp{OwnerID: "bob"}, key("k2", 2))
	require.Equal(t, "ada", w.dir.Handle("ada"))
	require.Empty(t, w.dir.Handle("bob"))

	w.own("ada", owner.HandleChosen{Handle: "countess"}, owner.APIKeyRevoked{KeyID: "k1"}, owner.APIKeyUsed{KeyID: "k1"})
	require.Equal(t, "countess", w.dir.Handle("ada"))
	for id, want := range map[string]directory.Key{
		"k1": {ID: "k1", OwnerID: "ada", PublicKey: key("", 1).PublicKey, Revoked: true}, "k2": {ID: "k2", OwnerID: "bob", PublicKey: key("", 2).PublicKey}, "k3": {},
	} {
		got, ok := w.dir.Key(id)
		require.Equal(t, want, got)
		require.Equal(t, want.ID != "", ok, id)
	}
}

// The method registrations returns the ids of all keys that have the same public
// key.
func (w *followed) registrations(n byte) string {
	var ids []string
	for _, k := range w.dir.KeysOf(key("", n).PublicKey) {
		ids = append(ids, k.OwnerID+"/"+k.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestRegistrationsOfAPublicKey(t *testing.T) {
	w := newFollowed(t)
	w.own("ada", key("k1", 1), key("k2", 2))
	w.own("bob", key("k3", 1))
	require.Equal(t, "ada/k1 bob/k3", w.registrations(1))
	require.Equal(t, "ada/k2", w.registrations(2))
	require.Empty(t, w.registrations(3))
	w.own("ada", owner.APIKeyRevoked{KeyID: "k1"}, owner.APIKeyRevoked{KeyID: "k2"}, owner.APIKeyRevoked{KeyID: "k9", By: owner.ByOtherAccount})
	require.Equal(t, "bob/k3", w.registrations(1))
	require.Empty(t, w.registrations(2))
}

func TestNoticesOwedForMovedKeys(t *testing.T) {
	w := newFollowed(t)
	owed := func() string {
		var ids []string
		bots, keys := w.dir.NoticesOwed()
		require.Empty(t, bots)
		for _, k := range keys {
			require.True(t, k.NoticeOwed && k.Revoked)
			ids = append(ids, k.OwnerID+"/"+k.ID)
		}
		slices.Sort(ids)
		return strings.Join(ids, " ")
	}
	w.own("ada", key("k1", 1), key("k2", 2), key("k3", 3))
	w.own("ada", owner.APIKeyRevoked{KeyID: "k1"})
	require.Empty(t, owed(), "revoked by its owner")
	w.own("ada", owner.APIKeyRevoked{KeyID: "k2", By: owner.ByOtherAccount}, owner.APIKeyRevoked{KeyID: "k3", By: owner.ByOtherAccount})
	require.Equal(t, "ada/k2 ada/k3", owed())
	w.own("ada", owner.Notified{KeyID: "k2", About: owner.AboutMovedKey})
	require.Equal(t, "ada/k3", owed())
	w.own("ada", owner.Deleted{})
	require.Empty(t, owed())
}

func TestNoticesOwedUntilNotifiedUnpausedOrRemoved(t *testing.T) {
	w := newFollowed(t)
	owed := func() string {
		var ids []string
		bots, keys := w.dir.NoticesOwed()
		require.Empty(t, keys)
		for _, b := range bots {
			require.Equal(t, "ada", b.OwnerID)
			require.True(t, b.NoticeOwed)
			ids = append(ids, b.ID)
		}
		slices.Sort(ids)
		return strings.Join(ids, " ")
	}
	misses := func(id string) owner.Event { return owner.BotPaused{BotID: id, By: owner.ByMisses} }
	w.own("ada", owner.BotRegistered{BotID: "b1"}, owner.BotRegistered{BotID: "b2"}, owner.BotRegistered{BotID: "b3"}, owner.BotRegistered{BotID: "b4"})
	require.Empty(t, owed())
	w.own("ada", misses("b1"), misses("b2"), misses("b3"), owner.BotPaused{BotID: "b4", By: owner.ByOwner})
	require.Equal(t, "b1 b2 b3", owed())
	w.own("ada", owner.Notified{BotID: "b2"}, owner.BotUnpaused{BotID: "b1"}, owner.BotRemoved{BotID: "b3"})
	require.Empty(t, owed())
	w.own("ada", misses("b1"))
	require.Equal(t, "b1", owed(), "again")
	w.own("ada", owner.Deleted{})
	require.Empty(t, owed())
}

func TestTrialsUntilEndedRemovedOrDeleted(t *testing.T) {
	w := newFollowed(t)
	open := func() string {
		var ids []string
		for _, b := range w.dir.Trials() {
			ids = append(ids, b.ID+"/"+b.Trial)
			require.Equal(t, "ada", b.OwnerID)
			require.False(t, b.TrialOrdered.IsZero())
		}
		slices.Sort(ids)
		return strings.Join(ids, " ")
	}
	order := func(bot, trial string) owner.Event { return owner.TrialOrdered{BotID: bot, TrialID: trial} }
	w.own("ada", owner.BotRegistered{BotID: "b1"}, owner.BotRegistered{BotID: "b2"}, owner.BotRegistered{BotID: "b3"})
	require.Empty(t, open())
	w.own("ada", order("b1", "t1"), order("b2", "t2"), order("b3", "t3"))
	require.Equal(t, "b1/t1 b2/t2 b3/t3", open())
	w.own("ada", owner.TrialEnded{BotID: "b1", TrialID: "t1", Outcome: owner.TrialCompleted}, owner.BotRemoved{BotID: "b2"})
	require.Equal(t, "b3/t3", open())
	w.own("ada", order("b1", "t4"))
	require.Equal(t, "b1/t4 b3/t3", open())
	w.own("ada", owner.Deleted{})
	require.Empty(t, open())
}

func TestDeletedAccountLosesBotsAndHandle(t *testing.T) {
	w := newFollowed(t)
	for _, id := range []string{"ada", "bob"} {
		w.own(id, owner.SignedUp{OwnerID: id}, owner.HandleChosen{Handle: id}, key("k-"+id, 1),
			owner.BotRegistered{BotID: "b-" + id, Name: id, Mode: ladder.Standard}, owner.BotRegistered{BotID: "c-" + id, Name: "spare " + id, Mode: ladder.Parley})
	}
	require.Empty(t, w.dir.Deleted())
	w.own("ada", owner.Deleted{})
	require.Equal(t, "bob", w.active(ladder.Standard))
	require.Equal(t, "spare bob", w.active(ladder.Parley))
	require.Empty(t, w.dir.Handle("ada"))
	b, ok := w.dir.Bot("b-ada")
	require.True(t, ok, "the bot of a deleted account")
	require.True(t, b.Removed)
	require.Equal(t, "ada", b.Name)

	w.own("bob", owner.Deleted{})
	require.Equal(t, []string{"ada", "bob"}, w.dir.Deleted())
}

func TestDirectoryStopsAtAnInvalidEvent(t *testing.T) {
	encoded, err := eventstore.Encode(owner.BotRemoved{BotID: "b1"}, eventstore.Metadata{})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*eventstore.Recorded)
		want   string
	}{
		"an unknown event":            {func(r *eventstore.Recorded) { r.Type = "BotPraised" }, "BotPraised"},
		"invalid JSON":                {func(r *eventstore.Recorded) { r.Data = []byte("{") }, "BotRemoved"},
		"metadata of a later program": {func(r *eventstore.Recorded) { r.Metadata = []byte(`{"schema":2}`) }, "schema version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFollowed(t)
			w.own("ada", owner.BotRegistered{BotID: "b1", Mode: ladder.Standard})
			before, _ := w.dir.Bot("b1")
			r := eventstore.Recorded{Event: encoded}
			c.change(&r)
			for _, stream := range []eventstore.StreamID{"match-x", "owner-ada"} { // the first stream is not an account's stream
				_, err := w.log.Append(t.Context(), stream, eventstore.Any, r.Event)
				require.NoError(t, err)
			}
			err := w.runner.Sync(t.Context())
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "owner-ada@1")
			after, _ := w.dir.Bot("b1")
			require.Equal(t, before, after)
		})
	}
}

// Other goroutines read the live directory while it folds events. At the end, a
// rebuilt directory must be equal to the live one.
func TestRebuildEqualsTheLiveDirectory(t *testing.T) {
	w := newFollowed(t)
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
				for _, b := range w.dir.Active(ladder.Standard) {
					again, ok := w.dir.Bot(b.ID)
					assert.True(t, ok)
					assert.Equal(t, b.OwnerID, again.OwnerID)
				}
				w.dir.Handle("o1")
				w.dir.Key("k1")
			}
		})
	}
	for i := range 50 {
		id := func(prefix string) string { return fmt.Sprint(prefix, i) }
		w.own(id("o"), owner.HandleChosen{Handle: id("handle-")}, key(id("k"), byte(i/2)),
			owner.BotRegistered{BotID: id("b"), Name: id("Bot "), Mode: ladder.Standard}, owner.BotRegistered{BotID: id("p"), Mode: ladder.Parley})
		w.own(id("o"), owner.BotPaused{BotID: id("b")}, owner.BotRemoved{BotID: id("p")}, owner.BotUnpaused{BotID: id("b")}, owner.BotRenamed{BotID: id("b"), Name: id("Re")})
	}
	close(stop)
	readers.Wait()
	require.Len(t, w.dir.Active(ladder.Standard), 50)
	require.Empty(t, w.dir.Active(ladder.Parley))

	w.own("o1", owner.Suspended{})
	w.own("o2", owner.BotPaused{BotID: "b2", By: owner.ByMisses})
	w.own("o3", owner.Deleted{})
	w.own("o5", owner.TrialOrdered{BotID: "b5", TrialID: "t5"})
	w.own("o6", owner.TrialOrdered{BotID: "b6", TrialID: "t6"}, owner.BotRemoved{BotID: "b6"})
	w.own("o4", owner.APIKeyRevoked{KeyID: "k4", By: owner.ByOtherAccount})
	rebuilt := directory.New()
	runner := arenatest.Follow(t, w.log, rebuilt)
	require.NoError(t, runner.Sync(t.Context()))
	logtest.RequireSameText(t, arenatest.Dump(t, w.runner), arenatest.Dump(t, runner))
	w.same(rebuilt)
}

func TestRestartedDirectoryEqualsOneThatNeverStopped(t *testing.T) {
	dir := t.TempDir()
	log := memory.New()
	w := &followed{arenatest.New(t, log, 1), t, log, directory.New(), nil}
	restart := func() {
		t.Helper()
		if w.runner != nil {
			require.NoError(t, w.runner.Close())
		}
		w.dir = directory.New()
		w.runner = arenatest.FollowIn(t, dir, log, w.dir)
	}
	restart()
	for _, e := range []owner.Event{
		owner.SignedUp{OwnerID: "ada"}, owner.HandleChosen{Handle: "ada"}, key("k1", 1), key("k2", 1), key("k3", 2),
		owner.BotRegistered{BotID: "b1", Name: "One", Mode: ladder.Standard, URL: "https://one.example"},
		owner.BotRegistered{BotID: "b2", Name: "Two", Mode: ladder.Parley, URL: "https://two.example"},
		owner.BotPaused{BotID: "b1", By: owner.ByMisses}, owner.Notified{BotID: "b1"}, owner.Suspended{}, owner.BotPaused{BotID: "b2", By: owner.ByOperator},
		owner.BotUnpaused{BotID: "b1"}, owner.Restored{}, owner.BotRemoved{BotID: "b1"}, owner.BotUnpaused{BotID: "b2", By: owner.ByOperator},
		owner.BotPaused{BotID: "b2", By: owner.ByMisses}, owner.TrialOrdered{BotID: "b2", TrialID: "t1"},
		owner.TrialEnded{BotID: "b2", TrialID: "t1", Outcome: owner.TrialExpired}, owner.HandleChosen{Handle: "countess"},
		owner.APIKeyRevoked{KeyID: "k1", By: owner.ByOtherAccount}, owner.APIKeyRevoked{KeyID: "k3", By: owner.ByOtherAccount}, owner.Notified{KeyID: "k1"}, owner.Deleted{},
	} {
		w.own("ada", e)
		uninterrupted := directory.New()
		require.NoError(t, arenatest.Follow(t, log, uninterrupted).Sync(t.Context()))
		w.same(uninterrupted)
		restart()
		w.same(uninterrupted)
	}
}

// The method same() requires that two directories return the same results.
func (w *followed) same(other *directory.Directory) {
	w.t.Helper()
	answers := func(d *directory.Directory) []any {
		bots, keys := d.NoticesOwed()
		slices.SortFunc(keys, func(a, b directory.Key) int { return strings.Compare(a.ID, b.ID) })
		trials := d.Trials()
		slices.SortFunc(trials, func(a, b directory.Bot) int { return strings.Compare(a.ID, b.ID) })
		all := []any{d.Deleted(), d.Handle("ada"), bots, keys, trials}
		for _, id := range []string{"b1", "b2", "b3", "b49", "p4"} {
			b, ok := d.Bot(id)
			all = append(all, b, ok)
		}
		for _, mode := range ladder.Modes {
			active := d.Active(mode)
			slices.SortFunc(active, func(a, b directory.Bot) int { return strings.Compare(a.ID, b.ID) })
			all = append(all, active)
		}
		for _, id := range []string{"k1", "k2", "k3", "k4"} {
			k, ok := d.Key(id)
			all = append(all, k, ok)
		}
		for n := range byte(3) {
			same := d.KeysOf(key("", n).PublicKey)
			slices.SortFunc(same, func(a, b directory.Key) int { return strings.Compare(a.ID, b.ID) })
			all = append(all, same)
		}
		return all
	}
	require.Equal(w.t, answers(other), answers(w.dir))
}
