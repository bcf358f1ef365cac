package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"hexarena/domain/audit/sample"
)

// call runs `arena verify` in this process. It returns the command's output and exit
// status.
func call(args ...string) (out, errOut string, status int) {
	var cli struct {
		Verify Cmd `cmd:""`
	}
	var o, e bytes.Buffer
	parser, err := kong.New(&cli, kong.Writers(&o, &e))
	if err != nil {
		panic(err)
	}
	parsed, err := parser.Parse(append([]string{"verify"}, args...))
	if err != nil {
		return "", fmt.Sprintf("arena: %v\n", err), 2
	}
	parsed.BindTo(context.Background(), (*context.Context)(nil))
	if err = parsed.Run(); err == nil {
		return o.String(), e.String(), 0
	}
	fmt.Fprintf(&e, "arena: %v\n", err)
	var coded kong.ExitCoder
	if errors.As(err, &coded) {
		return o.String(), e.String(), coded.ExitCode()
	}
	return o.String(), e.String(), 1
}

// The function samples() writes records to a file, one per line.
func samples(t testing.TB, records ...[]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "matches.jsonl")
	require.NoError(t, os.WriteFile(name, append(bytes.Join(records, []byte("\n\n")), '\n'), 0o600))
	return name
}

func TestVerifyFiles(t *testing.T) {
	t.Parallel()
	records := sample.New(sample.Options{Chance: 1, Bots: 8, Mischief: 3}).Tick()
	out, errOut, status := call(samples(t, records...))
	require.Zero(t, status, errOut)
	require.Contains(t, out, "all 2 matches follow")
	require.Regexp(t, `(?m)^dice +\d+ correct$`, out)
	require.Regexp(t, `(?m)^rating +not checked: the ladder was not given$`, out)

	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, records[0], "", "\t"))
	out, errOut, status = call("--json", samples(t, pretty.Bytes()))
	require.Zero(t, status, errOut)
	var printed tally
	require.NoError(t, json.Unmarshal([]byte(out), &printed))
	require.Equal(t, 1, printed.Matches)
	require.NotEmpty(t, printed.Match)
	require.Nil(t, printed.Difference)

	forged := bytes.Replace(records[1], []byte(`"turn":2,"dice":[`), []byte(`"turn":2,"dice":[7,`), 1)
	out, errOut, status = call(samples(t, records[0], forged))
	require.Equal(t, 1, status)
	require.Contains(t, out, "DIFFERS at seq ")
	require.Regexp(t, `^arena: match \S+: seq \d+, record: the log has .*; expected `, errOut)
	out, _, status = call("--json", samples(t, forged))
	require.Equal(t, 1, status)
	require.NoError(t, json.Unmarshal([]byte(out), &printed))
	require.NotNil(t, printed.Difference)
}

// Verify compares an owner's notes with the record. A wrong note is a difference.
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
	out, _, status := call("--nonces", note(r.Proof.Nonces[1]), samples(t, record))
	require.Zero(t, status)
	require.Regexp(t, `(?m)^nonces +1 correct$`, out)
	_, errOut, status := call("--nonces", note("another"), samples(t, record))
	require.Equal(t, 1, status)
	require.Contains(t, errOut, `the nonce "another"`)
}

type namedRecord struct {
	ID    string
	Proof struct{ Table, Nonces []string }
}

// Input that cannot be verified is not a difference. In that case, the exit status is
// 2, and one line gives the reason.
func TestVerifyMisuse(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	running := samples(t, []byte(`{"id":"m","mode":"standard","status":"running","players":[{"seat":0,"botId":"a"},{"seat":1,"botId":"b"},{"seat":2,"botId":"c"}],"startedAt":"","seed":null,"replay":[]}`))
	for says, args := range map[string][]string{
		"needs a match":              {},
		"no such file":               {"/nowhere/at/all"},
		"contains no matches":        {empty},
		"not a record of a match":    {samples(t, []byte(`{"id":1}`))},
		"is running":                 {running},
		"not the address of a match": {"http://127.0.0.1:1/bots"},
		"does not respond":           {"http://127.0.0.1:1/matches/4c31cec2-74ae-5613-8a75-de38fcafde6c"},
		"cannot be combined":         {"--ladder", "standard", running},
		"--policy needs --arena":     {"--policy", empty, running},
		"want quicknet, or HASH":     {"--beacon-chain", "fastnet", running},
		"must be one of":             {"--ladder", "chess", "--eventstore", "esdb://127.0.0.1:1"},
		"--nonces":                   {"--nonces", "/nowhere/at/all", running},
		"line 1":                     {"--nonces", running, running},
	} {
		_, errOut, status := call(args...)
		require.Equal(t, 2, status, "%v: %s", args, errOut)
		require.Contains(t, errOut, says)
		require.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
}
