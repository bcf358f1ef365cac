package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	"hexarena/domain/audit/sample"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// call runs the program in this process.
func call(args ...string) (out, errOut string, status int) {
	var o, e bytes.Buffer
	status = run(args, &o, &e)
	return o.String(), e.String(), status
}

// samples writes records to a file, a line each.
func samples(t testing.TB, records ...[]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "matches.jsonl")
	require.NoError(t, os.WriteFile(name, append(bytes.Join(records, []byte("\n\n")), '\n'), 0o600))
	return name
}

func TestVerifyFiles(t *testing.T) {
	t.Parallel()
	records := sample.New(sample.Options{Chance: 1, Bots: 8, Mischief: 3}).Tick()
	out, errOut, status := call("verify", samples(t, records...))
	require.Zero(t, status, errOut)
	require.Contains(t, out, "all 2 matches are what follows")
	require.Regexp(t, `(?m)^dice +\d+ as they should be$`, out)
	require.Regexp(t, `(?m)^rating +not checked: the ladder is not at hand$`, out)

	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, records[0], "", "\t"))
	out, errOut, status = call("verify", "--json", samples(t, pretty.Bytes()))
	require.Zero(t, status, errOut)
	var told tally
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	require.Equal(t, 1, told.Matches)
	require.NotEmpty(t, told.Match)
	require.Nil(t, told.Difference)

	forged := bytes.Replace(records[1], []byte(`"turn":2,"dice":[`), []byte(`"turn":2,"dice":[7,`), 1)
	out, errOut, status = call("verify", samples(t, records[0], forged))
	require.Equal(t, 1, status)
	require.Contains(t, out, "DIFFERS at seq ")
	require.Regexp(t, `^arena: match \S+: seq \d+, record: the log says .* what follows is `, errOut)
	out, _, status = call("verify", "--json", samples(t, forged))
	require.Equal(t, 1, status)
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	require.NotNil(t, told.Difference)
}

// An owner's notes are compared, a wrong one is a difference.
func TestVerifyNotes(t *testing.T) {
	t.Parallel()
	record := sample.New(sample.Options{Chance: 1, Bots: 4}).Tick()[0]
	var r namedRecord
	require.NoError(t, json.Unmarshal(record, &r))
	note := func(nonce string) string {
		name := filepath.Join(t.TempDir(), "notes.jsonl")
		text := fmt.Sprintf(`{"match":%q,"bot":%q,"nonce":%q}`, r.ID, r.Proof.Table[1], nonce)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	out, _, status := call("verify", "--nonces", note(r.Proof.Nonces[1]), samples(t, record))
	require.Zero(t, status)
	require.Regexp(t, `(?m)^nonces +1 as they should be$`, out)
	_, errOut, status := call("verify", "--nonces", note("another"), samples(t, record))
	require.Equal(t, 1, status)
	require.Contains(t, errOut, `the nonce "another"`)
}

type namedRecord struct {
	ID    string
	Proof struct{ Table, Nonces []string }
}

// Whatever cannot be verified is no difference: status 2, and one line.
func TestVerifyMisuse(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	running := samples(t, []byte(`{"id":"m","mode":"standard","status":"running","players":[{"seat":0,"botId":"a"},{"seat":1,"botId":"b"},{"seat":2,"botId":"c"}],"startedAt":"","seed":null,"replay":[]}`))
	for says, args := range map[string][]string{
		"wants a match":        {},
		"no such file":         {"/nowhere/at/all"},
		"holds no match":       {empty},
		"not a record of a match": {samples(t, []byte(`{"id":1}`))},
		"is running":           {running},
		"address of no match":  {"http://127.0.0.1:1/bots"},
		"does not answer":      {"http://127.0.0.1:1/matches/4c31cec2-74ae-5613-8a75-de38fcafde6c"},
		"takes --eventstore":   {"--ladder", "standard"},
		"must be one of":       {"--ladder", "chess", "--eventstore", "esdb://127.0.0.1:1"},
		"--nonces":             {"--nonces", "/nowhere/at/all", running},
		"line 1":               {"--nonces", running, running},
	} {
		_, errOut, status := call(append([]string{"verify"}, args...)...)
		require.Equal(t, 2, status, "%v: %s", args, errOut)
		require.Contains(t, errOut, says)
		require.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
}

// An auditor verifies an arena's matches: over its API, from files, from a copy
// of its log, and its whole ladder. Once a seed key is retired and its matches
// are over, the next start publishes it, and the server seeds follow from it.
func TestAnAuditorVerifiesAnArena(t *testing.T) {
	t.Parallel()
	s := newStand(t, quick...)
	s.start()
	s.join(goodPlayers(t, 4, &fuse{})...)
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
		require.Regexp(t, `(?m)^id +\d+ as they should be$`, out)
		require.Regexp(t, `(?m)^signed log +\d+ as they should be$`, out)
		require.Contains(t, out, "what follows")
	}
	s.settle()

	node, log := serveNode(t, filepath.Join(s.data, "node"))
	file := samples(t, records...)
	for _, args := range [][]string{{id}, {file}} {
		out, errOut, status := call(append([]string{"verify", "--eventstore", log}, args...)...)
		require.Zero(t, status, errOut)
		require.Regexp(t, `(?m)^rating +\d+ as they should be$`, out)
		require.Regexp(t, `(?m)^seed key +not checked: the key is in use`, out)
	}
	out, errOut, status := call("verify", "--ladder", "standard", "--eventstore", log, "--head", head)
	require.Zero(t, status, errOut)
	require.Contains(t, out, "results is that of the matches in this log")
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
	require.Regexp(t, `(?m)^seed key +\d+ as they should be$`, out)
}

// rotateAndStart retires the seed key in use, and starts and stops an arena that
// publishes it.
func rotateAndStart(t *testing.T, s *stand) {
	t.Helper()
	log, closeLog := openLog(t, s.data)
	keys, err := secrets.Open(t.Context(), log, filepath.Join(s.data, "secrets.json"), true)
	require.NoError(t, err)
	_, err = keys.Rotate(t.Context(), "a test", eventstore.Metadata{At: time.Now(), Correlation: "test"})
	require.NoError(t, err)
	closeLog()
	s.start()
	eventually(t, "the key is published", func() bool { return strings.Contains(s.arena.err.String(), "a retired seed key is published") })
	s.stop()
}

func bodyOf(t *testing.T, url string) []byte {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return b
}

func TestBenchVerifyPrintsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, benchVerify{Matches: 3, Changes: 100, JSON: true}.Run(t.Context(), streams{&out, io.Discard}))
	var r verifyReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, 3, r.Matches)
	require.GreaterOrEqual(t, r.Changes, 100)
	require.Positive(t, r.MatchesPerSecond)
	require.Positive(t, r.RecomputePerSecond)
	require.Positive(t, r.ChangesPerSecond)
	require.Positive(t, r.NodeChangesPerSecond)
	require.Error(t, benchVerify{}.Run(t.Context(), streams{&out, io.Discard}))
}
