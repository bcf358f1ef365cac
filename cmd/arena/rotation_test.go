package main

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	domain "hexarena/domain/arena"
	"hexarena/domain/seed"
	"hexarena/projections/matches"
)

// The process that plays rotates the seed key automatically, even after a restart. It
// publishes each old key once the key's last match has ended. Anyone can then
// recompute the server seeds.
func TestSeedKeysRotateByThemselves(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, append(quick, "--seed-key-rotation", "1s")...)
	s.start()
	s.join(goodPlayers(t, 4, &eventTrigger{})...)
	s.awaitRated(2)
	s.stop()
	s.start()
	s.awaitRated(4)
	s.retire()
	var records []rest.Match
	published := func() (keys map[string][]byte) {
		var answer rest.SeedKeys
		s.get("/log/keys", &answer)
		keys = map[string][]byte{}
		for _, k := range answer.Keys {
			if k.Key != nil {
				key, err := hex.DecodeString(*k.Key)
				require.NoError(t, err)
				keys[k.ID] = key
			}
		}
		return keys
	}
	eventually(t, "all keys of ended matches are published", func() bool {
		if len(s.list(matches.Running)) > 0 {
			return false
		}
		records = nil
		for _, summary := range s.list(matches.Completed) {
			var m rest.Match
			s.get("/matches/"+summary.ID, &m)
			records = append(records, m)
		}
		keys := published()
		for _, m := range records {
			if keys[m.Proof.SeedKey] == nil {
				return false
			}
		}
		return true
	})
	used := map[string]bool{}
	for _, m := range records {
		used[m.Proof.SeedKey] = true
		require.Equal(t, seed.Server(published()[m.Proof.SeedKey], m.ID), m.Proof.ServerSeed)
	}
	require.Greater(t, len(used), 1)
	s.settle()

	log, closeLog := openLog(t, s.data)
	defer closeLog()
	retired := 0
	for _, e := range readStream(t, log, domain.KeysStream, domain.DecodeKeys) {
		if e, ok := e.(domain.SeedKeyRetired); ok {
			require.Equal(t, "scheduled rotation", e.Reason)
			retired++
		}
	}
	require.GreaterOrEqual(t, retired, 2)
}
