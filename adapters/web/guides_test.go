package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every link of every guide leads to a page that is there, and to a place in it.
func TestGuidesLinkToWhatIsThere(t *testing.T) {
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
		if !strings.HasPrefix(guide, "/docs/") && guide != "/changelog" || guide == "/docs/api" {
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

func TestGuidesHaveNoCommentLeft(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"quickstart", "rules", "protocol", "errors", "events", "architecture", "operations"} {
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
