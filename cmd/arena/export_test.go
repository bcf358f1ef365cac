package main

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

// playedLog writes n matches into the log of a data folder, and serves that log.
func playedLog(t testing.TB, folder string, n int) (p *process, connection string) {
	t.Helper()
	made := memory.New()
	a := arenatest.New(t, made, 5)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")
	for range n {
		a.Complete(ladder.Standard, bots...)
	}
	p, connection = serveNode(t, folder)
	log, err := esdb.Open(connection, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	pourLog(t, made, log, "")
	return p, connection
}

// pourLog copies the events of one log to another. It copies only the streams whose
// names begin with the given prefix.
func pourLog(t testing.TB, made *memory.Log, log eventstore.Log, prefix string) {
	t.Helper()
	var lot []eventstore.Event
	var stream eventstore.StreamID
	pour := func() {
		if len(lot) > 0 {
			_, err := log.Append(t.Context(), stream, eventstore.Any, lot...)
			require.NoError(t, err)
		}
		lot = nil
	}
	for r, err := range made.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		if !strings.HasPrefix(string(r.Stream), prefix) {
			continue
		}
		if r.Stream != stream || len(lot) == 1000 {
			pour()
		}
		stream, lot = r.Stream, append(lot, r.Event)
	}
	pour()
}

// An export that is killed again and again at random points writes the same files as
// one that is never killed. The same is true for an export from the log of a stopped
// arena.
func TestKilledExportWritesTheSameFiles(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	data := t.TempDir()
	node, connection := playedLog(t, filepath.Join(data, "node"), 12)
	for _, format := range []string{"jsonl", "parquet"} {
		broken := t.TempDir()
		kills := 0
		for delay := 60 * time.Millisecond; ; delay += delay/8 + time.Duration(rng.IntN(60))*time.Millisecond {
			p := launch(t, "export", "--eventstore", connection, "--format", format, "--out", broken, "--matches-per-file", "2")
			p.killAfter(delay)
			<-p.exited
			if p.cmd.ProcessState.ExitCode() == 0 {
				break
			}
			kills++
			require.Equal(t, syscall.SIGKILL, p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), p.err.String())
		}
		whole := t.TempDir()
		p := launch(t, "export", "--eventstore", connection, "--format", format, "--out", whole, "--matches-per-file", "2")
		p.await(`exported 12 matches \(\d+ events\) in 6 new files of each table, up to position \d+`)
		p.awaitExit()
		require.Equal(t, exported(t, whole), exported(t, broken))
		t.Logf("%s: %d kills", format, kills)
	}
	node.end(syscall.SIGTERM)
	stopped := t.TempDir()
	p := launch(t, "export", "--data", data, "--format", "jsonl", "--out", stopped, "--mode", "parley")
	p.await(`exported 0 matches`)
	p.awaitExit()
	require.Zero(t, p.cmd.ProcessState.ExitCode())
}

// An owner deletes their account after an export. The next export is killed again and
// again while it replaces the files that name the owner. In the end, the files are
// the same as those of a new export after the deletion.
func TestKilledExportLeavesDeletedOwnersOut(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	_, connection := playedLog(t, filepath.Join(t.TempDir(), "node"), 12)
	outs := map[string]string{"jsonl": t.TempDir(), "parquet": t.TempDir()}
	exportAll := func(format, dir string) *process {
		return launch(t, "export", "--eventstore", connection, "--format", format, "--out", dir, "--matches-per-file", "1")
	}
	for format, dir := range outs {
		exportAll(format, dir).await("exported 12 matches")
	}
	require.Contains(t, keepers(t, outs["jsonl"], `"owner_id":"ada"`), filepath.Join(outs["jsonl"], "seats", fmt.Sprintf("%020d.jsonl", 0)))
	log, err := esdb.Open(connection, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	deletion, err := eventstore.Encode(owner.Deleted{}, eventstore.Metadata{At: time.Now()})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), eventstore.StreamID(owner.AccountStream("ada")), eventstore.Exists, deletion)
	require.NoError(t, err)
	for format, dir := range outs {
		kills := 0
		for delay := 10 * time.Millisecond; ; delay += delay/8 + time.Duration(rng.IntN(20))*time.Millisecond {
			p := exportAll(format, dir)
			p.killAfter(delay)
			<-p.exited
			if p.cmd.ProcessState.ExitCode() == 0 {
				break
			}
			kills++
		}
		once := t.TempDir()
		exportAll(format, once).await("exported 12 matches")
		require.Equal(t, exported(t, once), exported(t, dir))
		t.Logf("%s: %d kills", format, kills)
	}
	require.Empty(t, keepers(t, outs["jsonl"], `"owner_id":"ada"`))
}

// The function exported() returns the files of an export, without its lock file.
func exported(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "lock") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

func TestExportErrorsHaveOneLine(t *testing.T) {
	t.Parallel()
	data, out := t.TempDir(), t.TempDir()
	serveNode(t, filepath.Join(data, "node"))
	file := filepath.Join(out, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no format":            {[]string{"--out", out}, "missing flags: --format"},
		"an unknown format":    {[]string{"--out", out, "--format", "csv"}, `--format must be one of "jsonl","parquet" but got "csv"`},
		"no folder":            {[]string{"--format", "jsonl"}, "missing flags: --out"},
		"an unknown mode":      {[]string{"--out", out, "--format", "jsonl", "--mode", "blitz"}, "--mode must be one of"},
		"an invalid position":  {[]string{"--out", out, "--format", "jsonl", "--since", "noon"}, "--since: expected a valid 64 bit uint"},
		"a log that is in use": {[]string{"--out", out, "--format", "jsonl", "--data", data}, ""},
		"no log":               {[]string{"--out", out, "--format", "jsonl", "--data", t.TempDir()}, "--data contains no log"},
		"an unreachable log":   {[]string{"--out", out, "--format", "jsonl", "--eventstore", "esdb://127.0.0.1:1?tls=false"}, "--eventstore does not respond"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := launch(t, append([]string{"export"}, c.args...)...)
			p.awaitExit()
			said := p.err.String()
			require.NotZero(t, p.cmd.ProcessState.ExitCode(), said)
			require.True(t, strings.HasPrefix(said, "arena: "+c.want), said)
			require.Equal(t, 1, strings.Count(said, "\n"), said)
			t.Log(said)
		})
	}
}
