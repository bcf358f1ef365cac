package describe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
)

func TestParseChangelog(t *testing.T) {
	log := parseChangelog("# Changelog\r\n\nIntroduction.\n- not a change\n\n## 2026-08-22\n\n- One.\n- Two, `x`,\n  continues.\n\n## 2026-09-06\n- Three.\n\n## 2026-10-01\n")
	require.Equal(t, rest.Changelog{Entries: []rest.ChangelogEntry{
		{Date: "2026-10-01", Changes: []string{}},
		{Date: "2026-09-06", Changes: []string{"Three."}},
		{Date: "2026-08-22", Changes: []string{"One.", "Two, `x`, continues."}},
	}}, log)
	require.Equal(t, []rest.ChangelogEntry{}, parseChangelog("").Entries)
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
