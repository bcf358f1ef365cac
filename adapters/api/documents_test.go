package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/docs"
)

// The function accepts() returns an edit that sets the Accept header of a request.
func accepts(kinds string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Accept", kinds) }
}

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

func TestChangelog(t *testing.T) {
	a := newArena(t)
	answered := a.anyone().do(http.MethodGet, "/changelog", nil).is(http.StatusOK)
	require.Equal(t, "application/json", answered.header.Get("Content-Type"))
	page, err := os.ReadFile("../../docs/CHANGELOG.md")
	require.NoError(t, err)
	var dates, changes []string
	for _, e := range answered.json["entries"].([]any) {
		entry := e.(map[string]any)
		dates = append(dates, entry["date"].(string))
		require.NotEmpty(t, entry["changes"])
		for _, c := range entry["changes"].([]any) {
			changes = append(changes, c.(string))
		}
	}
	for i := 1; i < len(dates); i++ {
		require.Less(t, dates[i], dates[i-1], "newest first")
	}
	require.Subset(t, dates, []string{"2026-09-06", "2026-08-23", "2026-08-22"}, "days that the changelog must have")
	require.Len(t, dates, strings.Count("\n"+string(page), "\n## "))
	require.Len(t, changes, strings.Count("\n"+string(page), "\n- "))
}

// selfContained requires that a page contains no scripts, loads nothing, and cannot be
// shown in a frame.
func selfContained(t *testing.T, page *answer) {
	t.Helper()
	html := string(page.body)
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(html)
	require.Len(t, style, 2)
	sum := sha256.Sum256([]byte(style[1]))
	require.Equal(t,
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		page.header.Get("Content-Security-Policy"))
	require.NotContains(t, html, "<script")
	require.NotContains(t, html, " style=")
	require.NotContains(t, html, " src=")
	require.NotContains(t, html, "url(")
	require.NotContains(t, html, "@import")
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		require.Regexp(t, `^[#/][^/]?`, link[1], "links stay on this host")
	}
	require.Equal(t, "nosniff", page.header.Get("X-Content-Type-Options"))
}

func TestReference(t *testing.T) {
	a := newArena(t)
	page := a.anyone().do(http.MethodGet, "/docs/api", nil, accepts(browser)).is(http.StatusOK)
	require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"))
	selfContained(t, page)
	html := string(page.body)
	anchors := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		require.False(t, anchors[id[1]], "the anchor %s occurs twice", id[1])
		anchors[id[1]] = true
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		require.True(t, anchors[link[1]], "the link to #%s has no target", link[1])
	}
	c := contractOf(t, a.server)
	for _, id := range c.IDs() {
		require.True(t, anchors[id], id)
	}
	for _, schema := range []string{"GameView", "DecisionRequest", "MatchEvent", "TurnAction", "Problem"} {
		require.True(t, anchors["schema-"+schema], schema)
	}
	require.NotContains(t, html, "ZgotmplZ", "html/template refused a value")
}

func TestLlms(t *testing.T) {
	a := newArena(t)
	text := a.anyone().do(http.MethodGet, "/llms.txt", nil).is(http.StatusOK)
	require.Equal(t, "text/markdown; charset=utf-8", text.header.Get("Content-Type"))
	lines := strings.Split(string(text.body), "\n")
	require.Equal(t, "# Hex Arena", lines[0])
	require.Regexp(t, `^> \S.*\.$`, lines[2])
	links := regexp.MustCompile(`\]\(https://arena\.example([^)]+)\)`).FindAllStringSubmatch(string(text.body), -1)
	require.NotEmpty(t, links)
	guides := map[string]bool{}
	for _, l := range links {
		if strings.HasSuffix(l[1], ".md") { // adapters/web serves the guides, and its tests check that they exist
			guides[l[1]] = true
			continue
		}
		a.anyone().do(http.MethodGet, l[1], nil).is(http.StatusOK)
	}
	files, err := docs.Pages.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if f.Name() != "CHANGELOG.md" { // llms.txt links /changelog
			require.Contains(t, guides, "/docs/"+strings.ToLower(f.Name()))
			delete(guides, "/docs/"+strings.ToLower(f.Name()))
		}
	}
	require.Empty(t, guides, "guides that do not exist")
}

// A client that already has the current document gets 304.
func TestDocumentsHaveETags(t *testing.T) {
	a := newArena(t)
	for _, path := range []string{"/openapi.json", "/docs/api", "/llms.txt", "/changelog"} {
		first := a.anyone().do(http.MethodGet, path, nil).is(http.StatusOK)
		tag := first.header.Get("ETag")
		require.NotEmpty(t, tag)
		require.Equal(t, "no-cache", first.header.Get("Cache-Control"))
		require.Equal(t, tag, newArena(t).anyone().do(http.MethodGet, path, nil).header.Get("ETag"), "the ETag is the same at every start")
		for _, known := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
			again := a.anyone().do(http.MethodGet, path, nil, func(r *http.Request) { r.Header.Set("If-None-Match", known) }).is(http.StatusNotModified)
			require.Empty(t, again.body)
			require.Equal(t, tag, again.header.Get("ETag"))
		}
		a.anyone().do(http.MethodGet, path, nil, func(r *http.Request) { r.Header.Set("If-None-Match", `"x"`) }).is(http.StatusOK)
	}
}
