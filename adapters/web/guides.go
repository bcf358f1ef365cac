package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"hexarena/docs"
)

// guide is a page of docs/ as a browser gets it.
type guide struct {
	Name, Title string
	HTML        template.HTML
	Headings    []heading
}

type heading struct{ ID, Text string }

// listed are the guides in the order of the navigation; those that docs/ does
// not hold are left out.
var listed = []struct{ Name, Label string }{
	{"quickstart", "Quick start"}, {"rules", "Rules"}, {"protocol", "Protocol"}, {"errors", "Errors"},
	{"events", "Events"}, {"analysts", "Analysts"}, {"audit", "Audit"}, {"architecture", "Architecture"}, {"durability", "Durability"}, {"operations", "Operations"}, {"security", "Security"},
	{"contributing", "Contributing"},
}

// linked are files that guides link to and that are no guide.
var linked = map[string]string{
	"CHANGELOG.md": "/changelog", "../README.md": "/docs/quickstart", "example_bot.py": "/docs/quickstart#python",
	"audit/verify.py": "/docs/audit/verify.py", "audit/vectors.json": "/docs/audit/vectors.json",
}

func (s *Server) registerGuides() {
	s.handle("/docs/{name}", page{get: (*pageRequest).guide})
	s.handle("/docs/api", page{get: (*pageRequest).reference, shared: true})
	s.handle("/docs/audit/{file}", page{get: (*pageRequest).auditFile})
	s.handle("/changelog", page{get: func(p *pageRequest) error { return p.showGuide("changelog") }, shared: true, programs: true})
	s.handle("/docs", page{get: func(p *pageRequest) error { return p.seeOther("/docs/quickstart") }})
}

type guideData struct {
	*guide
	Nav []navItem
}

type navItem struct {
	Path, Label string
	Current     bool
}

func (p *pageRequest) guide() error { return p.showGuide(p.r.PathValue("name")) }

func (p *pageRequest) showGuide(name string) error {
	g, ok := p.server.guides[name]
	if !ok {
		return refused(http.StatusNotFound, "There is no such page of the documentation.")
	}
	return p.render(http.StatusOK, "guide.html", guideData{g, p.server.guideNav(name)})
}

// auditFile answers with a file beside the page on audit.
func (p *pageRequest) auditFile() error {
	file := p.r.PathValue("file")
	content, err := docs.Audit.ReadFile("audit/" + file)
	if err != nil {
		return refused(http.StatusNotFound, "There is no such file of the documentation.")
	}
	kind := "text/plain; charset=utf-8"
	if path.Ext(file) == ".json" {
		kind = "application/json"
	}
	p.w.Header().Set("Cache-Control", "no-cache")
	p.write(http.StatusOK, kind, content)
	return nil
}

// reference shows the API's own page, in the theme that its reader chose.
func (p *pageRequest) reference() error {
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
	_, _ = p.w.Write(bytes.Replace(a.body.Bytes(), []byte("<html "), []byte(`<html data-theme="`+chosen+`" `), 1)) // who went away needs no page
	return nil
}

func (s *Server) guideNav(current string) []navItem {
	var nav []navItem
	for _, l := range listed {
		if _, ok := s.guides[l.Name]; ok {
			nav = append(nav, navItem{"/docs/" + l.Name, l.Label, l.Name == current})
		}
		if l.Name == "protocol" {
			nav = append(nav, navItem{"/docs/api", "API reference", false})
		}
	}
	return append(nav, navItem{"/changelog", "Changelog", current == "changelog"})
}

// renderGuides renders the Markdown pages of docs/ once.
func renderGuides() (map[string]*guide, error) {
	names, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		return nil, err
	}
	guides := map[string]*guide{}
	for _, file := range names {
		source, err := docs.Pages.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("web: docs: %w", err)
		}
		g, err := renderGuide(strings.TrimSuffix(file, ".md"), source)
		if err != nil {
			return nil, fmt.Errorf("web: docs/%s: %w", file, err)
		}
		guides[strings.ToLower(g.Name)] = g
	}
	return guides, nil
}

func renderGuide(name string, source []byte) (*guide, error) {
	g := &guide{Name: name}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(g, 100))),
		goldmark.WithRendererOptions(html.WithUnsafe()), // the pages are ours; of raw HTML only figures are left by Transform
	)
	var b bytes.Buffer
	if err := markdown.Convert(source, &b); err != nil {
		return nil, err
	}
	g.HTML = template.HTML(framed(b.String()))
	return g, nil
}

// Transform implements parser.ASTTransformer: headings get the names by which
// links know them, links lead to pages of the arena, and figures are drawn.
func (g *guide) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			g.addHeading(n, string(plain(n, source)))
		case *ast.Link:
			file, _, _ := strings.Cut(string(n.Destination), "#")
			n.Destination = []byte(destination(string(n.Destination)))
			if label := labelOf(file); label != "" && string(plain(n, source)) == file {
				n.RemoveChildren(n)
				n.AppendChild(n, ast.NewString([]byte(label)))
				return ast.WalkSkipChildren, nil
			}
		}
		return ast.WalkContinue, nil
	})
}

func (g *guide) addHeading(n *ast.Heading, text string) {
	id := anchorOf(text)
	n.SetAttributeString("id", []byte(id))
	switch n.Level {
	case 1:
		g.Title = text
	case 2:
		g.Headings = append(g.Headings, heading{id, text})
	}
}

// plain is the text of a node, without its marks.
func plain(n ast.Node, source []byte) []byte {
	var b []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b = append(b, t.Segment.Value(source)...)
			continue
		}
		b = append(b, plain(c, source)...)
	}
	return b
}

// anchorOf names a heading as links in docs/ do: letters, digits, - and _, in
// lower case, with - for a space.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127 && strings.ToUpper(string(r)) != strings.ToLower(string(r)):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// labelOf is what a page is called where a link's text is its file's name.
func labelOf(file string) string {
	for _, l := range listed {
		if strings.EqualFold(l.Name+".md", file) {
			return l.Label
		}
	}
	return ""
}

// destination is where a link of a Markdown page leads on the site. What the
// site does not hold, such as decision records, leads nowhere.
func destination(link string) string {
	file, anchor, hasAnchor := strings.Cut(link, "#")
	if strings.Contains(link, "://") || file == "" || strings.HasPrefix(link, "/") {
		return link
	}
	if to, ok := linked[file]; ok {
		return to
	}
	if path.Dir(file) != "." || !strings.HasSuffix(file, ".md") {
		return ""
	}
	to := "/docs/" + strings.ToLower(strings.TrimSuffix(file, ".md"))
	if hasAnchor {
		to += "#" + anchor
	}
	return to
}

var (
	figureComment = regexp.MustCompile(`<!-- figure: (\w+) -->`)
	deadLink      = regexp.MustCompile(`(?s)<a href="">(.*?)</a>`)
	wideTable     = regexp.MustCompile(`(?s)<table>.*?</table>`)
	codeBlock     = regexp.MustCompile(`<pre>`)
	anyCode       = regexp.MustCompile(`(<pre>)?<code>([^<]*)</code>`)
)

// longCode is how many letters of code a table does not keep on one line even
// where there is room for most.
const longCode = 44

// framed finishes a page: figures in place of their comments, tables that
// scroll by themselves where they are wider than the screen, code that can be
// reached by keyboard, or may be broken between its words.
func framed(page string) string {
	page = figureComment.ReplaceAllStringFunc(page, func(comment string) string {
		name := figureComment.FindStringSubmatch(comment)[1]
		draw, ok := figures[name]
		if !ok {
			return comment
		}
		return `<figure>` + string(draw()) + `<figcaption>The ` + name + `</figcaption></figure>`
	})
	page = deadLink.ReplaceAllString(page, "$1")
	page = wideTable.ReplaceAllString(page, `<div class="scroll" tabindex="0" role="region" aria-label="Table">$0</div>`)
	page = anyCode.ReplaceAllStringFunc(page, func(found string) string {
		parts := anyCode.FindStringSubmatch(found)
		if parts[1] != "" {
			return found
		}
		if len(parts[2]) > longCode {
			return `<code class="long">` + breakable(parts[2]) + `</code>`
		}
		return `<code>` + breakable(parts[2]) + `</code>`
	})
	return codeBlock.ReplaceAllString(page, `<pre tabindex="0">`)
}

// breakable marks where a line of code may end: between its words, and not
// behind the dashes of a flag, where browsers would end it.
func breakable(code string) string {
	var b strings.Builder
	for i := range len(code) {
		b.WriteByte(code[i])
		if i > 0 && i+1 < len(code) && endsWord(code[i-1], code[i], code[i+1]) {
			b.WriteString("<wbr>")
		}
	}
	return b.String()
}

// endsWord tells whether a line may end behind a mark, from what stands beside
// it; & begins a character that HTML writes by name.
func endsWord(before, mark, after byte) bool {
	switch mark {
	case ' ', ',':
		return after != ' '
	case '_', '/', '=', '?', ':', '-':
		letter := after >= 'a' && after <= 'z' || after >= 'A' && after <= 'Z' || after >= '0' && after <= '9' && mark != ':' // ports stay with their hosts
		return !strings.ContainsRune(" ._/=?:-", rune(before)) && (letter || after == '&' || after == '{')
	case '.':
		return after == '{'
	}
	return false
}
