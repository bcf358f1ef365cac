package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/secrets"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// call runs the program in this process.
func call(args ...string) (out, errOut string, status int) {
	var o, e bytes.Buffer
	status = run(args, &o, &e)
	return o.String(), e.String(), status
}

// The function samples() writes records to a file, one per line.
func samples(t testing.TB, records ...[]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "matches.jsonl")
	require.NoError(t, os.WriteFile(name, append(bytes.Join(records, []byte("\n\n")), '\n'), 0o600))
	return name
}

// An auditor verifies an arena's matches over its API, from files and from a copy of
// its log, and also verifies the whole ladder. Once a retired seed key's matches are
// over, the arena publishes the key at its next start. The auditor can then derive
// the server seeds from that key.
func TestAuditorVerifiesAnArena(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, quick...)
	s.start()
	s.join(goodPlayers(t, 4, &eventTrigger{})...)
	eventually(t, "three matches are rated", func() bool { return len(s.list(matches.Completed)) >= 3 })
	id := s.list(matches.Completed)[0].ID
	var records [][]byte
	for _, m := range s.list(matches.Completed) {
		records = append(records, bodyOf(t, s.base()+"/matches/"+m.ID))
	}
	head := filepath.Join(t.TempDir(), "head")
	require.NoError(t, os.WriteFile(head, bodyOf(t, s.base()+"/log/standard/head"), 0o600))
	for _, args := range [][]string{{s.base() + "/matches/" + id}, {s.base() + "/watch/" + id}, {id, "--arena", s.base()}, {samples(t, records...), "--arena", s.base(), "--head", head}} {
		out, errOut, status := call(append([]string{"verify"}, args...)...)
		require.Zero(t, status, errOut)
		require.Regexp(t, `(?m)^id +\d+ correct$`, out)
		require.Regexp(t, `(?m)^signed log +\d+ correct$`, out)
		require.Regexp(t, `follows? from`, out)
	}
	s.settle()

	node, log := serveNode(t, filepath.Join(s.data, "node"))
	file := samples(t, records...)
	for _, args := range [][]string{{id}, {file}} {
		out, errOut, status := call(append([]string{"verify", "--eventstore", log}, args...)...)
		require.Zero(t, status, errOut)
		require.Regexp(t, `(?m)^rating +\d+ correct$`, out)
		require.Regexp(t, `(?m)^seed key +not checked: the key is not published yet`, out)
	}
	out, errOut, status := call("verify", "--ladder", "standard", "--eventstore", log, "--head", head)
	require.Zero(t, status, errOut)
	require.Contains(t, out, "results follows from the matches in this log")
	require.Contains(t, out, "the same to the last bit")
	require.Contains(t, out, "every match id follows")
	_, errOut, status = call("verify", "--ladder", "parley", "--eventstore", log)
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "no ladder of mode parley")
	_, errOut, status = call("verify", "--eventstore", log, "4c31cec2-74ae-5613-8a75-de38fcafde6c")
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "no such match")
	node.end(syscall.SIGTERM)

	rotateAndStart(t, s)
	_, log = serveNode(t, filepath.Join(s.data, "node"))
	out, errOut, status = call("verify", "--eventstore", log, file)
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^seed key +\d+ correct$`, out)
}

// rotateAndStart retires the current seed key, and starts and stops an arena that
// publishes it.
func rotateAndStart(t *testing.T, s *testArena) {
	t.Helper()
	log, closeLog := openLog(t, s.data)
	keys, err := secrets.Open(t.Context(), log, filepath.Join(s.data, "secrets.json"), true)
	require.NoError(t, err)
	_, err = keys.Rotate(t.Context(), "a test", eventstore.Metadata{At: time.Now(), Correlation: "test"})
	require.NoError(t, err)
	closeLog()
	s.start()
	eventually(t, "the key is published", func() bool { return strings.Contains(s.arena.err.String(), "retired seed key published") })
	s.stop()
}

func bodyOf(t testing.TB, url string) []byte {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return b
}
