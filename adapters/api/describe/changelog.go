package describe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hexarena/adapters/rest"
	"hexarena/docs"
)

// changelog returns docs/CHANGELOG.md as JSON.
func changelog() ([]byte, error) {
	page, err := docs.Pages.ReadFile("CHANGELOG.md")
	if err != nil {
		return nil, fmt.Errorf("read the changelog: %w", err)
	}
	return json.Marshal(parseChangelog(string(page)))
}

// parseChangelog reads the headings of days, such as `## 2026-09-06`, and the
// bullets below them from the Markdown page. A bullet may have several lines.
func parseChangelog(markdown string) rest.Changelog {
	log := rest.Changelog{Entries: []rest.ChangelogEntry{}}
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\r\n ")
		if day, ok := strings.CutPrefix(line, "## "); ok {
			log.Entries = append(log.Entries, rest.ChangelogEntry{Date: strings.TrimSpace(day), Changes: []string{}})
			continue
		}
		if len(log.Entries) == 0 {
			continue
		}
		changes := &log.Entries[len(log.Entries)-1].Changes
		if change, ok := strings.CutPrefix(line, "- "); ok {
			*changes = append(*changes, change)
		} else if n := len(*changes); n > 0 && strings.HasPrefix(line, "  ") {
			(*changes)[n-1] += " " + strings.TrimSpace(line)
		}
	}
	slices.SortStableFunc(log.Entries, func(a, b rest.ChangelogEntry) int { return strings.Compare(b.Date, a.Date) })
	return log
}
