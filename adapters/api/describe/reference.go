package describe

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template and the style of pages
	"encoding/base64"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The reference is a page without a script. It is rendered once, from the
// document itself, and loads nothing
// (docs/adr/0016-the-api-reference-has-no-script.md).

//go:embed reference.html
var referenceHTML string

//go:embed reference.css
var referenceCSS string

var referenceTemplate = template.Must(template.New("reference").Funcs(template.FuncMap{
	"prose": prose, "path": breakablePath, "type": typeOf, "anchor": anchor, "json": indented, "limits": limitsOf, "lines": func(s string) []string { return strings.Split(s, "\n\n") },
}).Parse(referenceHTML))

// stylePolicy returns the Content-Security-Policy of the page: it may use its
// own style and load nothing.
func stylePolicy() string {
	sum := sha256.Sum256([]byte(referenceCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// referenceOperation is one operation as the page shows it.
type referenceOperation struct {
	*huma.Operation
	Body    *huma.Schema
	Sample  any
	Answers []referenceAnswer
	Calls   string // who may call it
}

type referenceAnswer struct {
	Status, Text string
	Schema       *huma.Schema
	Example      any
}

type referenceTag struct {
	*huma.Tag
	Operations []referenceOperation
}

type referenceSchema struct {
	Name string
	*huma.Schema
	Rows []referenceRow
}

type referenceRow struct {
	Name     string
	Schema   *huma.Schema
	Required bool
}

func referencePage(doc *huma.OpenAPI) ([]byte, error) {
	var b bytes.Buffer
	err := referenceTemplate.Execute(&b, map[string]any{
		"Style": template.CSS(referenceCSS), "Info": doc.Info, "Tags": referenceTags(doc), "Schemas": referenceSchemas(doc),
		"Webhooks": referenceWebhooks(doc), "Security": doc.Components.SecuritySchemes,
	})
	return b.Bytes(), err
}

func referenceTags(doc *huma.OpenAPI) []referenceTag {
	var tags []referenceTag
	for _, t := range doc.Tags {
		tag := referenceTag{Tag: t}
		for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
			for _, op := range operations(doc.Paths[path]) {
				if slices.Contains(op.Tags, t.Name) {
					tag.Operations = append(tag.Operations, showOperation(op))
				}
			}
		}
		tags = append(tags, tag)
	}
	return tags
}

func referenceWebhooks(doc *huma.OpenAPI) []referenceOperation {
	var list []referenceOperation
	for _, name := range slices.Sorted(maps.Keys(doc.Webhooks)) {
		for _, op := range operations(doc.Webhooks[name]) {
			list = append(list, showOperation(op))
		}
	}
	return list
}

func operations(p *huma.PathItem) []*huma.Operation {
	return slices.DeleteFunc([]*huma.Operation{p.Get, p.Post, p.Patch, p.Delete}, func(op *huma.Operation) bool { return op == nil })
}

func showOperation(op *huma.Operation) referenceOperation {
	shown := referenceOperation{Operation: op, Calls: "Anyone may call it."}
	if len(op.Security) > 1 {
		shown.Calls = "Signed by an API key, or with a session."
	} else if len(op.Security) == 1 {
		shown.Calls = "With a session."
	}
	if op.RequestBody != nil {
		m := op.RequestBody.Content[jsonType]
		shown.Body, shown.Sample = m.Schema, m.Example
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		a := referenceAnswer{Status: status, Text: op.Responses[status].Description}
		if m := op.Responses[status].Content[jsonType]; m != nil {
			a.Schema, a.Example = m.Schema, m.Example
		}
		shown.Answers = append(shown.Answers, a)
	}
	return shown
}

func referenceSchemas(doc *huma.OpenAPI) []referenceSchema {
	named := doc.Components.Schemas.Map()
	var list []referenceSchema
	for _, name := range slices.Sorted(maps.Keys(named)) {
		s := referenceSchema{Name: name, Schema: named[name]}
		for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
			s.Rows = append(s.Rows, referenceRow{property, s.Properties[property], slices.Contains(s.Required, property)})
		}
		list = append(list, s)
	}
	return list
}
