package arena_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
)

var (
	platform  = arena.PublicKey{1, 2, 3}
	emailHash = arena.HashOf([]byte("email key"))
	seedHash  = arena.HashOf([]byte("seed key"))
	nextHash  = arena.HashOf([]byte("next seed key"))
	revealed  = arena.RevealedKey{9}

	published = arena.PlatformKeyPublished{PublicKey: platform}
	email     = arena.EmailKeyAdded{Hash: emailHash}
	added     = arena.SeedKeyAdded{ID: "a", Hash: seedHash}
	addedNext = arena.SeedKeyAdded{ID: "b", Hash: nextHash}
	retired   = arena.SeedKeyRetired{ID: "a"}

	heldA = arena.HeldSeed{ID: "a", Hash: seedHash}
	heldB = arena.HeldSeed{ID: "b", Hash: nextHash}
)

type events = []arena.Event

func foldKeys(given events) arena.Keys {
	var k arena.Keys
	for _, e := range given {
		k = arena.EvolveKeys(k, e, time.Time{})
	}
	return k
}

func held(seeds ...arena.HeldSeed) arena.Held {
	return arena.Held{Platform: platform, Email: emailHash, Seeds: seeds}
}

func TestFirstStart(t *testing.T) {
	tests := map[string]struct {
		given events
		when  arena.Held
		then  events
		fails error
	}{
		"commits a new arena to its keys": {nil, held(heldA), events{published, email, added}, nil},
		"takes every seed key, in order":  {nil, held(heldA, heldB), events{published, email, added, addedNext}, nil},
		"happens once":                    {events{published, email, added}, held(heldA), nil, arena.ErrStartedBefore},
		"needs a platform key":            {nil, arena.Held{Email: emailHash, Seeds: []arena.HeldSeed{heldA}}, nil, arena.ErrNoPlatformKey},
		"needs a seed key":                {nil, held(), nil, arena.ErrNoSeedKey},
		"happens only once":               {events{published, email, added}, arena.Held{}, nil, arena.ErrStartedBefore},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := foldKeys(tt.given).FirstStart(tt.when)
			require.ErrorIs(t, err, tt.fails)
			require.Equal(t, tt.then, got)
		})
	}
}

func TestCheck(t *testing.T) {
	started := events{published, email, added}
	rotated := append(started[:3:3], addedNext, retired)
	otherPlatform, otherEmail := held(heldA), held(heldA)
	otherPlatform.Platform = arena.PublicKey{7}
	otherEmail.Email = arena.HashOf([]byte("another"))

	tests := map[string]struct {
		given  events
		when   arena.Held
		reader string // the error for a process that only reads; empty if the process may start
		player string
	}{
		"the keys of the first start": {started, held(heldA), "", ""},
		"another platform key": {started, otherPlatform,
			"the platform key is BwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=, but the log names AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
			"the platform key is BwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=, but the log names AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
		"another email key":                     {started, otherEmail, "the email key does not match the log", "the email key does not match the log"},
		"a log without an email key":            {events{published, added}, held(heldA), "the email key does not match the log", "the email key does not match the log"},
		"no seed key":                           {started, held(), "", `the seed key "a" is missing, but the log still uses it`},
		"another seed key under the same id":    {started, held(arena.HeldSeed{ID: "a", Hash: nextHash}), "", `the seed key "a" does not match the log`},
		"a seed key that the log does not name": {started, held(heldA, heldB), "", ""},
		"after a rotation, both":                {rotated, held(heldA, heldB), "", ""},
		"after a rotation, only the new one":    {rotated, held(heldB), "", ""},
		"after a rotation, only the old one":    {rotated, held(heldA), "", `the seed key "b" is missing, but the log still uses it`},
		"all retired":                           {append(started[:3:3], retired), held(heldA), "", "the log has no seed key in use: all are retired"},
		"the email key before the last": {append(started[:3:3], arena.EmailKeyAdded{Hash: nextHash}), held(heldA),
			"the email key does not match the log", "the email key does not match the log"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			keys := foldKeys(tt.given)
			requireReason(t, tt.reader, keys.Check(tt.when, false))
			requireReason(t, tt.player, keys.Check(tt.when, true))
		})
	}
}

func requireReason(t *testing.T, want string, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.EqualError(t, err, want)
}

func TestCurrentSeed(t *testing.T) {
	tests := map[string]struct {
		given events
		then  string // id of the key; empty if no key is in use
	}{
		"none before the first start":             {nil, ""},
		"the only one":                            {events{added}, "a"},
		"the newest":                              {events{added, addedNext}, "b"},
		"the newest that is in use":               {events{added, addedNext, arena.SeedKeyRetired{ID: "b"}}, "a"},
		"none when all are retired":               {events{added, retired}, ""},
		"retiring an unknown key changes nothing": {events{added, arena.SeedKeyRetired{ID: "z"}}, "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			seed, ok := foldKeys(tt.given).CurrentSeed()
			require.Equal(t, tt.then != "", ok)
			require.Equal(t, tt.then, seed.ID)
		})
	}
}

func TestRotate(t *testing.T) {
	started := events{published, email, added}
	retiredFor := arena.SeedKeyRetired{ID: "a", Reason: "once a year"}
	tests := map[string]struct {
		given  events
		to     arena.HeldSeed
		reason string
		then   events
		fails  error
	}{
		"retires the one in use":           {started, heldB, " once a year\n", events{addedNext, retiredFor}, nil},
		"retires all in use":               {append(started[:3:3], arena.SeedKeyAdded{ID: "c"}), heldB, "once a year", events{addedNext, retiredFor, arena.SeedKeyRetired{ID: "c", Reason: "once a year"}}, nil},
		"leaves retired keys retired":      {append(started[:3:3], retired), heldB, "once a year", events{addedNext}, nil},
		"needs a reason":                   {started, heldB, " ", nil, arena.ErrNoReason},
		"needs a new key":                  {started, arena.HeldSeed{ID: "b", Hash: seedHash}, "once a year", nil, arena.ErrKeyKnown},
		"needs a new id":                   {started, arena.HeldSeed{ID: "a", Hash: nextHash}, "once a year", nil, arena.ErrKeyKnown},
		"never goes back to a retired one": {append(started[:3:3], addedNext, retired), heldA, "once a year", nil, arena.ErrKeyKnown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			keys := foldKeys(tt.given)
			got, err := keys.Rotate(tt.to, tt.reason)
			require.ErrorIs(t, err, tt.fails)
			require.Equal(t, tt.then, got)
			if err == nil {
				current, ok := foldKeys(append(tt.given[:len(tt.given):len(tt.given)], got...)).CurrentSeed()
				require.True(t, ok)
				require.Equal(t, tt.to.ID, current.ID)
			}
		})
	}
}

func TestEvolveKeys(t *testing.T) {
	before := foldKeys(events{published, email, added, addedNext})
	after := arena.EvolveKeys(before, retired, time.Time{})
	after = arena.EvolveKeys(after, arena.SeedKeyPublished{ID: "a", Key: revealed}, time.Time{})

	require.Equal(t, []arena.SeedKey{
		{ID: "a", Hash: seedHash, Retired: true, Revealed: &revealed},
		{ID: "b", Hash: nextHash},
	}, after.Seeds)
	require.Equal(t, foldKeys(events{published, email, added, addedNext}), before, "the earlier state does not change")
	require.True(t, after.Exist())
	require.Equal(t, after, arena.EvolveKeys(after, arena.DrainStarted{}, time.Time{}), "another stream's event changes nothing")
}
