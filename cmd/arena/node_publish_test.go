package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
	"hexarena/projections/matches"
)

// The function analysts() starts a node that everyone may read, but only clients on
// loopback may feed. It returns the connection strings for reading and for feeding.
func analysts(t testing.TB) (read, feed string) {
	t.Helper()
	p := launch(t, "node", "--data", filepath.Join(t.TempDir(), "node"), "--read-only", "--listen", "127.0.0.1:0", "--feed-listen", "127.0.0.1:0")
	return p.await(`event store on (esdb://\S+),`)[1], p.await(`feed endpoint on (esdb://\S+)`)[1]
}

const upToDate = `up to date: this run published (\d+) matches and (\d+) events`

// A feed fills an analysts' node while an arena plays. The test kills the feed again
// and again, and finally kills the arena in the middle of matches. The node then
// contains the same events as a node that was fed in one run, and no data about
// running matches or owners.
func TestAnalystsNodeHoldsOnlyPublicData(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	f := &eventTrigger{}
	s := newTestArena(t, quick...)
	_, source := serveNode(t, filepath.Join(s.data, "node"))
	s.flags = append(s.flags, "--eventstore", source)
	s.start()
	read, feed := analysts(t)
	feeding := func() *process { return launch(t, "node", "copy", "--public", "--from", source, "--to", feed) }
	feeder, kills := feeding(), 0
	s.join(goodPlayers(t, 8, f)...)
	for len(s.list(matches.Completed)) < 3 {
		f.fireAfter(t, 100+rng.IntN(400), feeder.kill)
		kills++
		feeder = feeding()
	}
	f.fireAfter(t, 100, s.arena.kill)
	feeder.kill()
	feeder = feeding()
	feeder.await(upToDate)
	feeder.end(syscall.SIGTERM)

	readOnce, feedOnce := analysts(t)
	once := launch(t, "node", "copy", "--public", "--from", source, "--to", feedOnce)
	once.await(upToDate)
	once.end(syscall.SIGTERM)
	held := allOf(t, read)
	require.Equal(t, allOf(t, readOnce), held)
	secrets, running := keptBack(t, source)
	t.Logf("%d kills of the feed, %d events published, %d running matches, %d secrets searched for", kills, len(held), len(running), len(secrets))
	require.NotEmpty(t, running)
	require.Greater(t, len(secrets), 20)
	for _, e := range held {
		all := e.stream + " " + e.kind + " " + e.data + " " + e.metadata
		for _, secret := range secrets {
			require.NotContains(t, all, secret)
		}
		for _, id := range running {
			if strings.Contains(all, id) {
				require.Equal(t, ladder.TablesSeated{}.EventType(), e.kind, "%s runs: %s", id, all)
			}
		}
	}
}

// heldEvent is an event on the node, as any client sees it.
type heldEvent struct{ stream, kind, id, data, metadata string }

// allOf reads all events of a node with the official client, including system
// events.
func allOf(t testing.TB, connection string) (all []heldEvent) {
	t.Helper()
	config, err := es.ParseConnectionString(connection)
	require.NoError(t, err)
	config.Logger = es.NoopLogging()
	client, err := es.NewClient(config)
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	events, err := client.ReadAll(ctx, es.ReadAllOptions{From: es.Start{}}, 1<<40)
	require.NoError(t, err)
	defer events.Close()
	for e, err := events.Recv(); err == nil; e, err = events.Recv() {
		r := e.OriginalEvent()
		all = append(all, heldEvent{r.StreamID, r.EventType, r.EventID.String(), string(r.Data), string(r.UserMetadata)})
	}
	require.NoError(t, ctx.Err())
	require.NotEmpty(t, all)
	return all
}

// keptBack returns the secrets that the feed must not publish: all strings in the
// private streams, except the ids and names of bots and owners. Those are also in the
// matches. It also returns the ids of the running matches.
func keptBack(t testing.TB, source string) (secrets, running []string) {
	t.Helper()
	log, err := esdb.Open(source, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	open, shown, hidden := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		switch kind, _, _ := strings.Cut(string(r.Stream), "-"); {
		case kind == "ladder":
			noteEnd(t, r, open)
			fallthrough
		case kind == "match", string(r.Stream) == "arena-keys":
			words(t, r.Data, func(field, word string) {
				if field != "answer" && field != "action" {
					shown[word] = true
				}
			})
		default:
			words(t, r.Data, func(_, word string) { hidden[word] = true })
		}
	}
	for word := range hidden {
		if len(word) >= 8 && !shown[word] && word != ladder.Standard {
			secrets = append(secrets, word)
		}
	}
	for id := range open {
		running = append(running, id)
	}
	return secrets, running
}

// noteEnd updates open, the set of running matches.
func noteEnd(t testing.TB, r eventstore.Recorded, open map[string]bool) {
	e, err := ladder.Decode(r.Type, r.Data)
	require.NoError(t, err)
	switch e := e.(type) {
	case ladder.TablesSeated:
		for _, table := range e.Tables {
			open[table.MatchID] = true
		}
	case ladder.RatingsChanged:
		delete(open, e.MatchID)
	case ladder.MatchVoided:
		delete(open, e.MatchID)
	}
}

// The function words() calls f for every string in a JSON value.
func words(t testing.TB, data []byte, f func(field, word string)) {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(data, &value))
	var walk func(field string, v any)
	walk = func(field string, v any) {
		switch v := v.(type) {
		case string:
			f(field, v)
		case []any:
			for _, item := range v {
				walk(field, item)
			}
		case map[string]any:
			for name, item := range v {
				walk(name, item)
			}
		}
	}
	walk("", value)
}

func TestPublishErrorsHaveOneLine(t *testing.T) {
	t.Parallel()
	_, source := serveNode(t, t.TempDir())
	_, foreign := serveNode(t, t.TempDir())
	log, err := esdb.Open(foreign, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	encoded, err := eventstore.Encode(ladder.MatchVoided{MatchID: "m"}, eventstore.Metadata{At: time.Now()})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), "owner-1", eventstore.NoStream, encoded)
	require.NoError(t, err)
	for to, want := range map[string]string{
		source:                           "--from and --to are the same log",
		"esdb://127.0.0.1:1?tls=false":   "--to does not respond",
		foreign:                          "the target: it contains events that were not copied from this source; choose an empty log or the source's own replica: owner-1@0 (MatchVoided)",
		"http://127.0.0.1:2113":          "--to: event store address: must begin with esdb://",
		"esdb://127.0.0.1:1?tls=perhaps": "--to: event store address",
	} {
		p := launch(t, "node", "copy", "--public", "--from", source, "--to", to)
		p.awaitExit()
		said := p.err.String()
		require.Equal(t, 1, p.cmd.ProcessState.ExitCode(), said)
		require.True(t, strings.HasPrefix(said, "arena: "+want), said)
		require.Equal(t, 1, strings.Count(said, "\n"), said)
	}
}
