package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/node"
)

// The log of a running node contains an owner's address. After the owner's stream is
// tombstoned and the log is scavenged, no file contains the address, not even a file
// with events of other streams. Backups from before the scavenge contain the address,
// and later ones do not.
func TestScavengeRemovesADeletedAddressFromTheDisk(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "log")
	p := launch(t, "node", "--data", data, "--listen", "127.0.0.1:0")
	said := p.await(`event store on (esdb://\S+), .*\noperators' endpoints on (http://\S+)\n`)
	log, err := esdb.Open(said[1], slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	const address = "ada.lovelace@example.org"
	event := func(data string) eventstore.Event {
		return eventstore.Event{ID: uuid.New(), Type: "AddressSet", Data: []byte(data)}
	}
	for owner := range 20 {
		stream := eventstore.StreamID(fmt.Sprintf("address-%d", owner))
		_, err = log.Append(t.Context(), stream, eventstore.NoStream, event(fmt.Sprintf(`{"address":"%s@example.net"}`, uuid.New())))
		require.NoError(t, err)
	}
	_, err = log.Append(t.Context(), "address-ada", eventstore.NoStream, event(`{"address":"`+address+`"}`))
	require.NoError(t, err)
	require.NotEmpty(t, filesWith(t, data, address))
	before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	command(t, "node", "backup", "--admin", said[2], before)
	require.NoError(t, log.Tombstone(t.Context(), "address-ada", eventstore.Any))
	require.NotEmpty(t, filesWith(t, data, address), "a tombstone only hides events")

	require.Contains(t, command(t, "node", "scavenge", "--admin", said[2]), "removed 1 events")
	require.Empty(t, filesWith(t, data, address))
	command(t, "node", "backup", "--admin", said[2], after)
	require.NotEmpty(t, filesWith(t, before, address), "a backup is the operator's to delete")
	require.Empty(t, filesWith(t, after, address))
	events := 0
	for _, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		events++
	}
	require.Equal(t, 20, events)
	p.end(syscall.SIGTERM)
	require.Empty(t, filesWith(t, data, address))
	for _, folder := range []string{data, before, after} {
		require.Contains(t, command(t, "node", "check", folder), "the index are correct")
	}
}

// filesWith returns the files in a folder that contain the given text.
func filesWith(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if !os.IsNotExist(err) { // the file may have been removed after it was listed
			require.NoError(t, err)
		}
		if bytes.Contains(content, []byte(text)) {
			files = append(files, e.Name())
		}
	}
	return files
}

// command runs a command that must succeed, and returns the command's output.
func command(t *testing.T, args ...string) string {
	t.Helper()
	p := launch(t, args...)
	p.awaitExit()
	require.Equal(t, 0, p.cmd.ProcessState.ExitCode(), p.err.String())
	return p.out.String()
}

// On loopback, an arena's operators' endpoints include those of its node.
func TestArenaServesTheUpkeepOfItsNode(t *testing.T) {
	n, err := node.Open(node.Options{Dir: filepath.Join(t.TempDir(), "log"), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer n.Close()
	log, err := esdb.Open("esdb://127.0.0.1:1?tls=false", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	call := func(a *arena, site string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8081"+node.ScavengePath, nil)
		r.Header.Set("Sec-Fetch-Site", site)
		answer := httptest.NewRecorder()
		a.adminHandler().ServeHTTP(answer, r)
		return answer
	}
	inside := &arena{config: config{AdminListen: "127.0.0.1:8081"}, logger: slog.New(slog.DiscardHandler), log: log, node: n}
	answer := call(inside, "none")
	require.Equal(t, http.StatusOK, answer.Code)
	var told node.ScavengeLine
	lines := strings.Fields(answer.Body.String())
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &told))
	require.NotNil(t, told.Done)
	require.Equal(t, http.StatusForbidden, call(inside, "cross-site").Code)
	outside := &arena{config: config{AdminListen: "0.0.0.0:8081"}, logger: slog.New(slog.DiscardHandler), log: log, node: n}
	require.Equal(t, http.StatusNotFound, call(outside, "none").Code)
	cluster := &arena{config: config{AdminListen: "127.0.0.1:8081"}, logger: slog.New(slog.DiscardHandler), log: log}
	require.Equal(t, http.StatusNotFound, call(cluster, "none").Code, "a cluster has its own tools")
}
