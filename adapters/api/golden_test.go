package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// The function lines() formats an object with one line for each field and each list
// entry. It copies the values byte for byte from the response. It keeps only the first
// event or frame of each kind.
func lines(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(body))
	open, err := d.Token()
	require.NoError(t, err)
	require.Equal(t, json.Delim('{'), open)
	for d.More() {
		name, err := d.Token()
		require.NoError(t, err)
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
		var entries []json.RawMessage
		if value[0] != '[' {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
			continue
		}
		require.NoError(t, json.Unmarshal(value, &entries))
		fmt.Fprintf(&b, "%s: [\n", name)
		for _, entry := range firstOfEachKind(t, entries) {
			fmt.Fprintf(&b, "  %s\n", entry)
		}
		b.WriteString("]\n")
	}
	return b.Bytes()
}

func firstOfEachKind(t *testing.T, entries []json.RawMessage) []json.RawMessage {
	t.Helper()
	var first []json.RawMessage
	seen := map[string]bool{}
	for _, entry := range entries {
		var e struct {
			Kind  string
			Event struct{ Kind string }
		}
		_ = json.Unmarshal(entry, &e) // an error means that the entry is a number or a string, which has no kind
		kind := e.Kind + e.Event.Kind
		if kind == "" || !seen[kind] {
			first = append(first, entry)
		}
		seen[kind] = true
	}
	return first
}

// TestReadAnswers compares whole responses with golden files, which a person reviews.
// Run it with -update to rewrite the files.
func TestReadAnswers(t *testing.T) {
	s := newSpectated(t)
	record := func(id string) string { return "/matches/" + id }
	for name, path := range map[string]string{
		"matches":              "/matches",
		"match-running":        record(s.running.MatchID),
		"match-completed":      record(s.three.MatchID),
		"match-aborted":        record(s.aborted.MatchID),
		"frames-running":       record(s.running.MatchID) + "/frames",
		"frames-completed":     record(s.three.MatchID) + "/frames?limit=60",
		"frames-with-one-hand": record(s.three.MatchID) + "/frames?after=100&limit=1&seat=0",
		"frames-with-hands":    record(s.three.MatchID) + "/frames?after=100&limit=1&seat=all",
		"leaderboard":          "/leaderboard?mode=parley",
		"history":              "/bots/" + s.bots[0] + "/history",
		"history-aborted":      "/bots/" + s.bots[0] + "/history?aborted=true",
	} {
		t.Run(name, func(t *testing.T) {
			logtest.RequireGolden(t, filepath.Join("testdata", name+".golden"), lines(t, s.get(path).is(http.StatusOK).body))
		})
	}
}
