package web

import (
	"bytes"
	"html/template"
	"net/http"
	"path"
	"strings"

	"hexarena/docs"
)

// guide is a page of docs/.
type guide struct {
	Name, Title string
	HTML        template.HTML
	Headings    []heading
	markdown    []byte
}

type heading struct{ ID, Text string }

// guideList lists the guides in the order of the navigation.
var guideList = []struct{ Name, Label string }{
	{"quickstart", "Quick start"}, {"practice", "Practice"}, {"rules", "Rules"}, {"protocol", "Protocol"}, {"errors", "Errors"},
	{"events", "Events"}, {"analysts", "Analysts"}, {"statistics", "Statistics"}, {"audit", "Audit"}, {"architecture", "Architecture"}, {"durability", "Durability"}, {"operations", "Operations"}, {"security", "Security"},
	{"contributing", "Contributing"},
}

// siteLinks maps files that guides link to, but that are not guides, to their paths on
// the site.
var siteLinks = map[string]string{
	"CHANGELOG.md": "/changelog", "../README.md": "/docs/quickstart", "example_bot.py": "/docs/quickstart#python",
	"audit/verify.py": "/docs/audit/verify.py", "audit/vectors.json": "/docs/audit/vectors.json",
}

type guideData struct {
	*guide
	Nav []navItem
}

type navItem struct {
	Path, Label string
	Current     bool
}

// The method guide() serves a guide as a web page, or as Markdown if the path ends with
// .md.
func (p *pageRequest) guide() error {
	name, isMarkdown := strings.CutSuffix(p.r.PathValue("name"), ".md")
	if !isMarkdown {
		return p.showGuide(name)
	}
	g, err := findGuide(strings.ToLower(name)) // the guides link to CONTRIBUTING.md in capitals
	if err != nil {
		return err
	}
	p.w.Header().Set("Cache-Control", "no-cache")
	p.write(http.StatusOK, "text/markdown; charset=utf-8", g.markdown)
	return nil
}

func (p *pageRequest) showGuide(name string) error {
	g, err := findGuide(name)
	if err != nil {
		return err
	}
	return p.render(http.StatusOK, "guide.html", guideData{g, guideNav(name)})
}

func findGuide(name string) (*guide, error) {
	guides, err := guidesOnce()
	if err != nil {
		return nil, err
	}
	if g, ok := guides[name]; ok {
		return g, nil
	}
	return nil, refused(http.StatusNotFound, "This page of the documentation does not exist.")
}

// auditFile serves a file in docs/audit, which docs/audit.md links to.
func (p *pageRequest) auditFile() error {
	file := p.r.PathValue("file")
	content, err := docs.Audit.ReadFile("audit/" + file)
	if err != nil {
		return refused(http.StatusNotFound, "This file of the documentation does not exist.")
	}
	kind := "text/plain; charset=utf-8"
	if path.Ext(file) == ".json" {
		kind = "application/json"
	}
	p.w.Header().Set("Cache-Control", "no-cache")
	p.write(http.StatusOK, kind, content)
	return nil
}

// apiReference serves the API's reference page in the theme that the reader
// chose.
func (p *pageRequest) apiReference() error {
	h := p.w.Header()
	h.Add("Vary", "Cookie")
	chosen := theme(p.r)
	if chosen == "" {
		p.server.Reads.ServeHTTP(p.w, p.r)
		return nil
	}
	r := p.r.Clone(p.r.Context())
	r.Header.Del("Accept-Encoding")
	r.Header.Del("If-None-Match")
	a := &answer{header: http.Header{}, status: http.StatusOK}
	p.server.Reads.ServeHTTP(a, r)
	if err := a.read("GET /docs/api", nil); err != nil {
		return err
	}
	for _, name := range []string{"Content-Type", "Content-Security-Policy", "X-Content-Type-Options"} {
		h.Set(name, a.header.Get(name))
	}
	h.Set("Cache-Control", "no-store")
	_, _ = p.w.Write(bytes.Replace(a.body.Bytes(), []byte("<html "), []byte(`<html data-theme="`+chosen+`" `), 1)) // fails only if the client left
	return nil
}

func guideNav(current string) []navItem {
	var nav []navItem
	for _, l := range guideList {
		nav = append(nav, navItem{"/docs/" + l.Name, l.Label, l.Name == current})
		if l.Name == "protocol" {
			nav = append(nav, navItem{"/docs/api", "API reference", false})
		}
	}
	return append(nav, navItem{"/changelog", "Changelog", current == "changelog"})
}
