package game

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// TestTranscripts runs the scripts in testdata, one for each group of rules,
// and compares their output. In a script, an unindented line is a command or a
// comment, and the indented lines below it are the output. The flag -update
// rewrites the output.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			logtest.RequireGolden(t, file, []byte(replay(t, string(text))))
		})
	}
}

// replay runs the commands of a script and returns the script with their output.
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
