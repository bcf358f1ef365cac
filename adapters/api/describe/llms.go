package describe

import (
	"bytes"
	"fmt"
	"strings"
)

// llmsText lists the pages and endpoints for language models (llmstxt.org).
func llmsText(baseURL string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Hex Arena\n\n> %s\n", apiSummary)
	for _, part := range []struct {
		title string
		links [][3]string
	}{
		{"Reference", [][3]string{
			{"OpenAPI 3.1.1", "/openapi.json", "every endpoint, the events of a match, the frames of the match socket"},
			{"API reference", "/docs/api", "the same as a page"},
			{"Changelog", "/changelog", "changes of the protocol, the schemas, the endpoints and the rules, newest first"},
			{"Platform key", "/.well-known/arena.json", "the key that signs the arena's connections to bots"},
		}},
		{"Live data", [][3]string{
			{"Matches", "/matches", "newest first; replay, seed and proof once a match has ended"},
			{"Running matches", "/live", "the matches that run now; /live/stream sends every event as it happens"},
			{"Leaderboard", "/leaderboard", "the ranking of a mode"},
		}},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", part.title)
		for _, l := range part.links {
			fmt.Fprintf(&b, "- [%s](%s%s): %s\n", l[0], strings.TrimSuffix(baseURL, "/"), l[1], l[2])
		}
	}
	return b.Bytes()
}
