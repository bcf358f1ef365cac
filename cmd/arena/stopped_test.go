package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/logs"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
)

// An event that some read models cannot fold stops only those models. /ready names
// the event. The arena rejects calls that need the stopped read models, and serves
// all others.
func TestStoppedReadModelOnlyStopsItsReaders(t *testing.T) {
	t.Parallel()
	s := newTestArena(t)
	require.NoError(t, os.Mkdir(filepath.Join(s.data, "node"), 0o700))
	log, closeLog, err := logs.Stopped{Data: s.data}.Open(t.Context())
	require.NoError(t, err)
	voided, err := eventstore.EncodeAll([]ladder.Event{ladder.MatchVoided{MatchID: "of nobody", Why: ladder.WhyOperator}}, eventstore.Metadata{At: time.Now(), Correlation: "a test"})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), eventstore.StreamID(ladder.Stream(ladder.Parley)), eventstore.NoStream, voided...)
	require.NoError(t, err)
	require.NoError(t, closeLog())

	s.start("--no-play")
	s.owner() // signs up, chooses a handle and registers a key; each of these calls reads its own write
	operators := s.arena.await(`operators' endpoints on (http://\S+)`)[1]
	status, body := fetch(t, operators+"/ready")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "at ladder-parley@0: match of nobody")
	_, metrics := fetch(t, operators+"/metrics")
	for model, stopped := range map[string]string{"directory": "0", "matches": "1", "leaderboard": "0"} {
		require.Contains(t, strings.Split(metrics, "\n"), `arena_projection_stopped{projection="`+model+`"} `+stopped)
	}

	for _, path := range []string{"/matches", "/matches?mode=standard", "/matches/" + uuid.NewString()} {
		status, body := fetch(t, s.base()+path)
		require.Equal(t, http.StatusServiceUnavailable, status, path)
		var problem struct{ Code, Detail string }
		require.NoError(t, json.Unmarshal([]byte(body), &problem))
		require.Equal(t, "out_of_date", problem.Code)
		require.NotContains(t, problem.Detail, "parley")
	}
	for _, path := range []string{"/health", "/leaderboard"} {
		status, _ = fetch(t, s.base()+path)
		require.Equal(t, http.StatusOK, status, path)
	}
}

func fetch(t testing.TB, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(read)
}

// While the directory may lack keys and bots, it does not deny that they exist, and it
// returns no entries for matches. An operator's order waits until the directory has caught
// up.
func TestDirectoryThatIsBehindDeniesNothing(t *testing.T) {
	log, model := memory.New(), directory.New()
	store := func(events ...owner.Event) {
		t.Helper()
		encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: time.Now()})
		require.NoError(t, err)
		_, err = log.Append(t.Context(), eventstore.StreamID(owner.AccountStream("ada")), eventstore.Any, encoded...)
		require.NoError(t, err)
	}
	store(owner.SignedUp{OwnerID: "ada"}, owner.APIKeyRegistered{KeyID: "key", PublicKey: make([]byte, 32)})
	store(owner.BotRegistered{BotID: "bot", Name: "Ada", Mode: ladder.Standard, URL: "ws://old"})
	d := directoryAdapter{model, arenatest.Follow(t, log, model)}
	require.NoError(t, d.CatchUp(t.Context()))
	search := func(key string) (found bool) {
		_, found, err := d.Key(key)
		if d.runner.Serving() == nil {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, projections.ErrBehind)
		}
		return found
	}
	require.True(t, search("key"))
	require.False(t, search("another key"))
	_, found := d.playing("bot")
	require.True(t, found)

	store(owner.BotRegistered{BotID: "second", Name: "Bea", Mode: ladder.Standard, URL: "ws://new"})
	d.runner.Doubt()
	require.True(t, search("key"))
	require.False(t, search("another key"))
	_, found = d.playing("bot")
	require.False(t, found)
	ownerID, err := d.OwnerOfBot(t.Context(), "second")
	require.NoError(t, err)
	require.Equal(t, "ada", ownerID)
	require.NoError(t, d.runner.Serving(), "the order has waited for the directory")
	require.False(t, search("another key"))
	_, found = d.playing("second")
	require.True(t, found)
	_, err = d.OwnerOfBot(t.Context(), "another bot")
	require.ErrorIs(t, err, owner.ErrBotUnknown)
}
