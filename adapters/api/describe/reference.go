package describe

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style of the page
	"encoding/base64"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The reference is a web page that has no script and loads no other files
// (docs/adr/0016-the-api-reference-has-no-script.md). It is rendered once, from
// the OpenAPI document.

//go:embed reference.css
var referenceCSS string

var referenceTemplate = template.Must(template.New("reference.html").Funcs(template.FuncMap{
	"prose": prose, "path": breakablePath, "type": typeOf, "json": indented, "limits": limitsOf,
	"paragraphs": func(s string) []string { return strings.Split(s, "\n\n") },
	"style":      func() template.CSS { return template.CSS(referenceCSS) },
	"has":        slices.Contains[[]string], "operations": operations, "tagged": tagged,
}).ParseFS(files, "reference.html"))

// stylePolicy returns the Content-Security-Policy of the reference page. The
// policy allows only the page's own style.
func stylePolicy() string {
	sum := sha256.Sum256([]byte(referenceCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func referencePage(doc *huma.OpenAPI) ([]byte, error) {
	var b bytes.Buffer
	err := referenceTemplate.Execute(&b, doc)
	return b.Bytes(), err
}

// The function tagged() returns the operations with a tag, in the order of their paths.
func tagged(doc *huma.OpenAPI, tag string) []*huma.Operation {
	var list []*huma.Operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		list = append(list, operations(doc.Paths[path])...)
	}
	return slices.DeleteFunc(list, func(op *huma.Operation) bool { return op.Tags[0] != tag })
}

func operations(p *huma.PathItem) []*huma.Operation {
	return slices.DeleteFunc([]*huma.Operation{p.Get, p.Post, p.Patch, p.Delete}, func(op *huma.Operation) bool { return op == nil })
}
