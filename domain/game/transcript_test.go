package game

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

var update = flag.Bool("update", false, "rewrite the transcripts under testdata")

// TestTranscripts plays the scripts of testdata, one per group of rules, and
// compares what they print. In a script a line at the margin is a command or a
// comment, and the indented lines below it are what it printed; -update
// rewrites those.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := replay(t, string(text))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			logtest.RequireSameText(t, string(text), got)
		})
	}
}

// replay runs the commands of a script and returns it with what they print.
func replay(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	var play script
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if strings.HasPrefix(line, "    ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		printed, err := play.run(strings.Fields(line))
		require.NoError(t, err, "%q", line)
		for _, l := range printed {
			out.WriteString("    " + l + "\n")
		}
	}
	return out.String()
}
