package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/web"
	"hexarena/docs"
)

// Every link of every guide leads to an existing page and anchor.
func TestGuideLinksExist(t *testing.T) {
	s := newSite(t)
	pages := map[string]shown{}
	page := func(path string) shown {
		if _, ok := pages[path]; !ok {
			pages[path] = s.get(path)
		}
		return pages[path]
	}
	for _, item := range page("/docs/rules").all("a") {
		guide := attribute(item, "href")
		if !strings.HasPrefix(guide, "/docs/") && guide != "/changelog" || guide == "/docs/api" || strings.HasSuffix(guide, ".md") {
			continue
		}
		for _, link := range page(strings.Split(guide, "#")[0]).all("a") {
			href := attribute(link, "href")
			path, anchor, _ := strings.Cut(href, "#")
			if strings.Contains(href, "://") {
				continue
			}
			if path == "" {
				path = strings.Split(guide, "#")[0]
			}
			target := page(path)
			require.NotEqual(t, http.StatusNotFound, target.Code, "%s links to %s", guide, href)
			if anchor != "" && target.tree != nil {
				require.Contains(t, target.text, `id="`+anchor+`"`, "%s links to %s", guide, href)
			}
		}
	}
	require.Greater(t, len(pages), 8)
}

// The site serves every guide as Markdown, and every link in the Markdown leads to an
// existing page.
func TestGuidesAreServedAsMarkdown(t *testing.T) {
	s := newSite(t)
	files, err := docs.Pages.ReadDir(".")
	require.NoError(t, err)
	link := regexp.MustCompile(`\[[^][]+\]\(([^)\s#]+)[^)\s]*\)`)
	for _, f := range files {
		name := strings.ToLower(f.Name())
		p := s.get("/docs/" + name)
		require.Equal(t, http.StatusOK, p.Code, name)
		require.Equal(t, "text/markdown; charset=utf-8", p.Header().Get("Content-Type"))
		require.Regexp(t, "^# ", p.text)
		require.Contains(t, s.get(strings.TrimSuffix("/docs/"+name, ".md")).text, `href="/docs/`+strings.TrimSuffix(f.Name(), ".md")+`.md"`)
		for _, l := range link.FindAllStringSubmatch(p.text, -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			target, err := url.JoinPath("/docs/", l[1])
			require.NoError(t, err)
			if strings.HasPrefix(l[1], "/") {
				target = l[1]
			}
			require.NotEqual(t, http.StatusNotFound, s.get(target).Code, "%s links to %s", name, l[1])
		}
	}
	require.Equal(t, http.StatusNotFound, s.get("/docs/nothing.md").Code)
}

// The server serves, unchanged, the files that the audit page links to.
func TestAuditFilesAreServed(t *testing.T) {
	s := newSite(t)
	for name, kind := range map[string]string{"verify.py": "text/plain; charset=utf-8", "vectors.json": "application/json"} {
		content, err := docs.Audit.ReadFile("audit/" + name)
		require.NoError(t, err)
		p := s.get("/docs/audit/" + name)
		require.Equal(t, http.StatusOK, p.Code)
		require.Equal(t, kind, p.Header().Get("Content-Type"))
		require.Equal(t, string(content), p.text)
		require.Contains(t, s.get("/docs/audit").text, `href="/docs/audit/`+name+`"`)
	}
	require.Equal(t, http.StatusNotFound, s.get("/docs/audit/other.py").Code)
}

// The server shows the API reference in the theme that the reader chose.
func TestAPIReferenceHasReadersTheme(t *testing.T) {
	reference := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"of the page without a theme"`)
		_, _ = w.Write([]byte(`<html lang="en">`))
	})
	pages, err := web.New(web.Options{
		API: reference, Reads: reference, Count: uncounted, CountFile: uncountedFile, Turn: noWait, Spread: unknownSpread, House: func(string) bool { return false }, Registered: unregistered, Tallies: tallies{}, Tick: 30 * time.Second, BaseURL: base, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, "/docs/api", http.NoBody)
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	require.Equal(t, `<html lang="en">`, w.Body.String())
	require.Contains(t, w.Header().Values("Vary"), "Cookie")
	r.AddCookie(&http.Cookie{Name: "theme", Value: "dark"})
	w = httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	require.Equal(t, `<html data-theme="dark" lang="en">`, w.Body.String())
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Empty(t, w.Header().Get("ETag"))
}

func TestGuidesHaveTheirFigures(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"quickstart", "rules", "protocol", "errors", "events", "analysts", "statistics", "audit", "architecture", "durability", "operations", "security", "contributing"} {
		p := s.get("/docs/" + name)
		s.is(p, http.StatusOK, "<h1", `aria-current="page"`)
		require.NotContains(t, p.text, "<!-- figure")
	}
	figures := 0
	for _, svg := range s.get("/docs/rules").all("svg") {
		if attribute(svg, "class") == "island" {
			figures++
		}
	}
	require.Equal(t, 3, figures)
}

// A phone's screen is narrower than a hash, so a line may break inside the hash.
func TestLongHashesMayBreak(t *testing.T) {
	s := newSite(t)
	s.is(s.get("/docs/audit"), http.StatusOK, "52db9ba70e0cc0f6<wbr>eaf7803dd07447a1<wbr>f5477735fd3f6617<wbr>92ba94600c84e971</code>")
}
