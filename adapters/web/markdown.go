package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"hexarena/docs"
)

// renderGuides renders the Markdown pages of docs/.
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
	g := &guide{Name: name, markdown: markdownLink.ReplaceAllFunc(source, servedLink)}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(g, 100))),
		goldmark.WithRendererOptions(html.WithUnsafe()), // the pages are trusted, and HTML comments mark where figures belong
	)
	var b bytes.Buffer
	if err := markdown.Convert(source, &b); err != nil {
		return nil, err
	}
	g.HTML = template.HTML(finish(b.String()))
	return g, nil
}

// Transform implements parser.ASTTransformer. It adds ids to headings, and turns
// links to files into links to the arena's pages.
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
			n.Destination = []byte(siteLink(string(n.Destination)))
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

// The function plain() returns the text of a node, without formatting.
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

// anchorOf returns the id of a heading in GitHub's format. It keeps letters,
// digits, - and _, converts them to lower case, and replaces each space with -.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		}
		return -1 // remove the character
	}, strings.ToLower(heading))
}

// labelOf returns the title of a guide, for links whose text is only the file
// name.
func labelOf(file string) string {
	for _, l := range guideList {
		if strings.EqualFold(l.Name+".md", file) {
			return l.Label
		}
	}
	return ""
}

// markdownLink matches a link in Markdown, except one whose text contains brackets.
var markdownLink = regexp.MustCompile(`\[([^][]+)\]\(([^)\s]+)\)`)

// servedLink changes a Markdown link for readers of the site. Links between guides
// stay relative, so they lead to Markdown again. Links to files that the site does
// not serve become plain text.
func servedLink(link []byte) []byte {
	parts := markdownLink.FindSubmatch(link)
	file, _, _ := strings.Cut(string(parts[2]), "#")
	switch to := siteLink(string(parts[2])); {
	case to == "":
		return parts[1]
	case siteLinks[file] != "":
		return fmt.Appendf(nil, "[%s](%s)", parts[1], to)
	}
	return link
}

// siteLink returns the address on the site for a link in a Markdown page. For files
// that the site does not serve, such as decision records, it returns "".
func siteLink(link string) string {
	file, anchor, hasAnchor := strings.Cut(link, "#")
	if strings.Contains(link, "://") || file == "" || strings.HasPrefix(link, "/") {
		return link
	}
	if to, ok := siteLinks[file]; ok {
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
	anyCode       = regexp.MustCompile(`(<pre>)?<code>([^<]*)</code>`)
)

// The variable figures contains the templates from which figures are drawn.
var figures = template.Must(template.New("").Funcs(boardFuncs).ParseFS(templateFiles, "templates/shared/board.html"))

// longCode is a length in bytes. A line may break inside longer code at any
// screen width, and inside shorter code only on narrow screens.
const longCode = 44

// finish completes the HTML of a guide. It draws the figures, makes wide tables and
// code blocks scrollable by keyboard, and marks where code may break. It also
// removes links without a destination.
func finish(page string) string {
	page = figureComment.ReplaceAllStringFunc(page, func(comment string) string {
		name := figureComment.FindStringSubmatch(comment)[1]
		var figure strings.Builder
		if err := figures.ExecuteTemplate(&figure, "figure "+name, nil); err != nil {
			return comment
		}
		return `<figure>` + figure.String() + `<figcaption>The ` + name + `</figcaption></figure>`
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
	return strings.ReplaceAll(page, `<pre>`, `<pre tabindex="0">`)
}

// hexLine is the number of hex digits of a hash after which a line may break.
const hexLine = 16

// The function breakable() adds <wbr> between the words of code, where a line may
// break. Otherwise, browsers would break after the dashes of a flag. A line may also
// break inside a long hash.
func breakable(code string) string {
	var b strings.Builder
	digits := 0
	for i := range len(code) {
		b.WriteByte(code[i])
		if digits++; !strings.ContainsRune("0123456789abcdef", rune(code[i])) {
			digits = 0
		}
		if i > 0 && i+1 < len(code) && (endsWord(code[i-1], code[i], code[i+1]) || digits == hexLine) {
			b.WriteString("<wbr>")
			digits = 0
		}
	}
	return b.String()
}

// endsWord reports whether a line may break after a character, the parameter mark. The
// other parameters are the characters before and after it. An & is the start of an HTML
// character reference.
func endsWord(before, mark, after byte) bool {
	switch mark {
	case ' ', ',':
		return after != ' '
	case '_', '/', '=', '?', ':', '-':
		letter := after >= 'a' && after <= 'z' || after >= 'A' && after <= 'Z' || after >= '0' && after <= '9' && mark != ':' // no break between a host and its port
		return !strings.ContainsRune(" ._/=?:-", rune(before)) && (letter || after == '&' || after == '{')
	case '.':
		return after == '{'
	}
	return false
}
