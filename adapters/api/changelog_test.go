package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseChangelog(t *testing.T) {
	log := parseChangelog("# Changelog\r\n\nIntroduction.\n- not a change\n\n## 2026-08-22\n\n- One.\n- Two, `x`,\n  goes on.\n\n## 2026-09-06\n- Three.\n\n## 2026-10-01\n")
	require.Equal(t, changelogEntries{[]changelogEntry{
		{"2026-10-01", []string{}},
		{"2026-09-06", []string{"Three."}},
		{"2026-08-22", []string{"One.", "Two, `x`, goes on."}},
	}}, log)
	require.Equal(t, []changelogEntry{}, parseChangelog("").Entries)
}

func FuzzParseChangelog(f *testing.F) {
	for _, page := range []string{"", "## 2026-01-01\n- a", "- a\n  b\n## x\n  c", "## \n\n- \n"} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		log := parseChangelog(page)
		require.LessOrEqual(t, len(log.Entries), strings.Count(page, "## "))
	})
}

func TestProse(t *testing.T) {
	require.Equal(t, `a <code>b&lt;c</code> &lt;d&gt;`, string(prose("a `b<c` <d>")))
}
