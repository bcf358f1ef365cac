package bench

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every goal names a figure that its command prints.
func TestFiguresExist(t *testing.T) {
	reports := map[string]report{
		"engine": engineReport{}, "log": &logReport{Streams: make([]streamsReport, len(writersAtOnce))}, "verify": &verifyReport{},
		"start": &startReport{}, "arena": &playReport{}, "build": &buildReport{},
	}
	for i, g := range goals {
		text, err := json.Marshal(reports[g.Command])
		require.NoError(t, err)
		var figures any
		require.NoError(t, json.Unmarshal(text, &figures))
		_, ok := find(figures, g.figure)
		require.True(t, ok, g.What)
		_, ok = find(figures, g.bare)
		require.Equal(t, g.bare != "", ok, g.What)
		before := slices.IndexFunc(goals[:i], func(b goal) bool { return b.Command == g.Command })
		require.True(t, before < 0 || goals[i-1].Command == g.Command, "the goals of %s are not together", g.Command)
	}
	_, ok := find(map[string]any{"list": []any{}}, "list.0.n")
	require.False(t, ok)
}

func TestTableShowsWhatIsMissed(t *testing.T) {
	var out bytes.Buffer
	(&allReport{[]goal{
		{What: "games", Command: "engine", Bar: 10, Got: 10}, {What: "views", Command: "engine", Bar: 10, Got: 9},
		{What: "seconds", Command: "start", Bar: 1, Most: true, Got: 1}, {What: "memory", Command: "arena", Bar: 1, Most: true, Got: 2},
	}}).print(&out)
	require.Regexp(t, `games .* reached\nviews .* missed\nseconds .* reached\nmemory .* missed\n`, out.String())
}
