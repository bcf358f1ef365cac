package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An owner deletes their account. After that, no file of the next export contains the
// account's id, whether the export reads the arena's log or the analysts' log.
func TestSecurityExports(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t, quick...)
	read, feed := analysts(t)
	launch(t, "node", "copy", "--public", "--from", "esdb://"+f.node()+"?tls=false", "--to", feed)
	who := f.member(t)
	id := who.do("GET", "/me", nil).is(200).json["id"].(string)
	for range 3 {
		who.register(newTestBot(t, "bot").url).is(201)
	}
	outs := map[string]string{"esdb://" + f.node() + "?tls=false": t.TempDir(), read: t.TempDir()}
	// exportTo exports a log, and returns the files that contain the owner's id.
	exportTo := func(log, dir string) []string {
		p := launch(t, "export", "--eventstore", log, "--format", "jsonl", "--out", dir)
		p.awaitExit()
		require.Zero(t, p.cmd.ProcessState.ExitCode(), p.err.String())
		return keepers(t, dir, id)
	}
	for log, dir := range outs {
		eventually(t, "the export names the owner", func() bool { return len(exportTo(log, dir)) > 0 })
	}
	who.do("DELETE", "/me", nil).is(204)
	for log, dir := range outs {
		eventually(t, "the export leaves the owner out", func() bool { return len(exportTo(log, dir)) == 0 })
		matches, err := filepath.Glob(filepath.Join(dir, "matches", "*.jsonl"))
		require.NoError(t, err)
		require.NotEmpty(t, matches)
	}
}
