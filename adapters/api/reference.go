package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template and the style of pages
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The reference is a page without a script: it is rendered once, from the
// document itself, and asks for nothing from anywhere.

//go:embed reference.html
var referenceHTML string

//go:embed reference.css
var referenceCSS string

var referenceTemplate = template.Must(template.New("reference").Funcs(template.FuncMap{
	"prose": prose, "path": breakablePath, "type": typeOf, "anchor": anchor, "json": indented, "limits": limitsOf, "lines": func(s string) []string { return strings.Split(s, "\n\n") },
}).Parse(referenceHTML))

// stylePolicy lets a page show itself, with the one style.
func stylePolicy() string {
	sum := sha256.Sum256([]byte(referenceCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func newPageDocument(html []byte) document {
	d := newDocument("text/html; charset=utf-8", html)
	d.policy = stylePolicy()
	return d
}

// referenceOperation is one operation as the page shows it.
type referenceOperation struct {
	*huma.Operation
	Body    *huma.Schema
	Sample  any
	Answers []referenceAnswer
	Calls   string // how it is shown who calls
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

func referencePage(doc *huma.OpenAPI) (document, error) {
	var b bytes.Buffer
	err := referenceTemplate.Execute(&b, map[string]any{
		"Style": template.CSS(referenceCSS), "Info": doc.Info, "Tags": referenceTags(doc), "Schemas": referenceSchemas(doc),
		"Webhooks": referenceWebhooks(doc), "Security": doc.Components.SecuritySchemes,
	})
	return newPageDocument(b.Bytes()), err
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
		m := op.RequestBody.Content["application/json"]
		shown.Body, shown.Sample = m.Schema, m.Example
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		a := referenceAnswer{Status: status, Text: op.Responses[status].Description}
		if m := op.Responses[status].Content["application/json"]; m != nil {
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

// capital begins a word of a name, where its line may end.
var capital = regexp.MustCompile(`([a-z])([A-Z])`)

// breakablePath lets a line end before each part of a path.
func breakablePath(path string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(path), "/", "<wbr>/"))
}

// typeOf writes what a schema takes, with links to named ones.
func typeOf(s *huma.Schema) template.HTML {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, schemaPrefix)
		return template.HTML(fmt.Sprintf(`<a href="#%s">%s</a>`, anchor("schema", name), capital.ReplaceAllString(template.HTMLEscapeString(name), "$1<wbr>$2")))
	case s.OneOf != nil || s.AnyOf != nil:
		var parts []string
		for _, part := range append(s.OneOf, s.AnyOf...) {
			parts = append(parts, string(typeOf(part)))
		}
		return template.HTML(strings.Join(parts, " or "))
	case s.Type == huma.TypeArray:
		return "array of " + typeOf(s.Items) + nullable(s)
	case s.Type == "":
		return "anything"
	}
	return template.HTML(template.HTMLEscapeString(s.Type)) + nullable(s)
}

func nullable(s *huma.Schema) template.HTML {
	if s.Nullable {
		return " or null"
	}
	return ""
}

// limitsOf writes what bounds a value.
func limitsOf(s *huma.Schema) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.Type == huma.TypeArray && s.Items != nil && s.Items.Ref == "" {
		if inner := limitsOf(s.Items); inner != "" {
			add("each %s", inner)
		}
	}
	if len(s.Enum) > 0 {
		names := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			names[i] = fmt.Sprint(v)
			if v == nil {
				names[i] = "null"
			}
		}
		if len(names) == 1 {
			add("always %s", names[0])
		} else {
			add("one of %s", strings.Join(names, ", "))
		}
	}
	switch low, high := s.Minimum, s.Maximum; {
	case low != nil && high != nil && *low == *high:
		add("always %v", *low)
	case low != nil && high != nil:
		add("%v to %v", *low, *high)
	case low != nil:
		add("at least %v", *low)
	case high != nil:
		add("at most %v", *high)
	}
	switch low, high := either(s.MinLength, s.MinItems), either(s.MaxLength, s.MaxItems); {
	case low != nil && high != nil && *low == *high:
		add("%d long", *low)
	case low != nil && high != nil:
		add("%d to %d long", *low, *high)
	case high != nil:
		add("at most %d long", *high)
	case low != nil:
		add("at least %d long", *low)
	}
	if s.Pattern != "" {
		add("matches %s", s.Pattern)
	}
	if s.Format != "" && s.Format != "int64" && s.Format != "int32" && s.Format != "double" {
		add("%s", s.Format)
	}
	return strings.Join(parts, "; ")
}

func either(a, b *int) *int {
	if a != nil {
		return a
	}
	return b
}

// anchor names a place of the page.
func anchor(kind, name string) string { return kind + "-" + name }

// prose writes a sentence in which code stands in backticks.
func prose(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(template.HTMLEscapeString(text), "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

func indented(v any) (string, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return string(b), err
}
