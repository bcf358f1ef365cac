// Package describe makes the texts that describe the API: the OpenAPI document,
// the reference page, the changelog and llms.txt.
//
// [New] begins a document, [Document.Add] adds each endpoint, and
// [Document.Finish] returns the texts. huma makes the schemas from the types
// that are encoded; the package adds what a Go type cannot express
// (refinements.go) and what an operation means (operation_docs.go). It handles
// no requests.
package describe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hexarena/adapters/api/binding"
	"hexarena/domain/owner"
)

// Operation is one endpoint.
type Operation struct {
	ID, Method, Path string // the path as OpenAPI writes it: /bots/{id}
	Tag, Summary     string
	Status           int // of the answer that is not a refusal
	Request          binding.Binding
	Answer           reflect.Type // encoded as JSON; nil: Media applies, or the answer has no body
	Media            []Media      // the content types of an answer that is not encoded from a type
	Scope            owner.Scope  // that the caller needs; empty: none
	Session          bool         // the caller needs a session
	Forms            bool         // browsers may send forms instead of JSON
	ETag             bool         // some answers have an ETag
}

// Media is one content type of an answer. Without a Schema it is text.
type Media struct {
	Type   string
	Schema reflect.Type
}

// Texts are the texts that describe the API.
type Texts struct {
	OpenAPI         []byte
	Changelog       []byte // JSON
	LLMs            []byte // Markdown; see llmstxt.org
	Reference       []byte // HTML
	ReferencePolicy string // the Content-Security-Policy of Reference
}

// Document is a description in the making.
type Document struct {
	api  *huma.OpenAPI
	docs map[string]operationDocs // by operation
}

// New returns a Document without endpoints. baseURL is the arena's own address.
func New(baseURL string) (*Document, error) {
	docs, err := allOperationDocs()
	if err != nil {
		return nil, fmt.Errorf("make the examples: %w", err)
	}
	return &Document{api: overview(baseURL), docs: docs}, nil
}

// Finish returns the texts. Every endpoint must have been added.
func (d *Document) Finish() (Texts, error) {
	d.finishSchemas()
	openAPI, err := json.Marshal(d.api)
	if err != nil {
		return Texts{}, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	changes, err := changelog()
	if err != nil {
		return Texts{}, err
	}
	reference, err := referencePage(d.api)
	if err != nil {
		return Texts{}, fmt.Errorf("render the reference: %w", err)
	}
	return Texts{
		OpenAPI: openAPI, Changelog: changes, LLMs: llmsText(d.api.Servers[0].URL),
		Reference: reference, ReferencePolicy: stylePolicy(),
	}, nil
}

// Add adds an endpoint.
func (d *Document) Add(o Operation) {
	docs := d.docs[o.ID]
	op := &huma.Operation{
		OperationID: o.ID, Method: o.Method, Path: o.Path, Tags: []string{o.Tag}, Summary: o.Summary, DefaultStatus: o.Status,
		Description: docs.about, Security: o.security(), Responses: d.refusals(o),
	}
	for _, p := range o.Request.Path {
		op.Parameters = append(op.Parameters, d.parameter("path", p))
	}
	for _, p := range o.Request.Query {
		op.Parameters = append(op.Parameters, d.parameter("query", p))
	}
	if o.Request.BodyField != nil {
		op.RequestBody = d.requestBody(o, docs)
	}
	if o.Scope != "" {
		op.Description = strings.TrimSpace(op.Description + "\n\nScope: `" + string(o.Scope) + "`.")
	}
	op.Responses[strconv.Itoa(o.Status)] = d.response(o, docs)
	if o.ETag {
		op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: "The caller has the current version, as If-None-Match shows.", Headers: headers()}
	}
	if o.Forms {
		op.Responses[strconv.Itoa(http.StatusSeeOther)] = &huma.Response{Description: "The same for a browser that sent a form: Location names the next page.", Headers: headers()}
	}
	d.api.AddOperation(op)
}

func (d *Document) requestBody(o Operation, docs operationDocs) *huma.RequestBody {
	m := &huma.MediaType{Schema: huma.SchemaFromField(d.schemas(), *o.Request.BodyField, "")}
	body := map[string]*huma.MediaType{jsonType: m}
	if o.Forms {
		body["application/x-www-form-urlencoded"] = &huma.MediaType{Schema: m.Schema}
	}
	if docs.request != nil {
		m.Example = asJSON(docs.request)
	}
	return &huma.RequestBody{Required: true, Content: body}
}

// response describes the answer that is not a refusal.
func (d *Document) response(o Operation, docs operationDocs) *huma.Response {
	r := &huma.Response{Description: http.StatusText(o.Status), Headers: headers()}
	if o.Answer != nil {
		r.Content = content(jsonType, d.schemas().Schema(o.Answer, true, ""))
	} else if o.Media != nil {
		r.Content = map[string]*huma.MediaType{}
	}
	for _, m := range o.Media {
		schema := &huma.Schema{Type: huma.TypeString}
		if m.Schema != nil {
			schema = d.schemas().Schema(m.Schema, true, "")
		}
		r.Content[m.Type] = &huma.MediaType{Schema: schema}
	}
	if docs.text != "" {
		r.Content[o.Media[0].Type].Example = docs.text
	}
	if docs.answer != nil {
		r.Content[jsonType].Example = asJSON(docs.answer)
	}
	return r
}

// security lists the credentials that the endpoint takes: a session, or the
// three headers of a signature, whose scope is named.
func (o Operation) security() []map[string][]string {
	session := map[string][]string{schemeSession: {}}
	switch {
	case o.Session:
		return []map[string][]string{session}
	case o.Scope != "":
		return []map[string][]string{{schemeKey: {string(o.Scope)}, schemeTimestamp: {}, schemeSignature: {}}, session}
	}
	return nil
}

func (d *Document) parameter(in string, p binding.Parameter) *huma.Param {
	field := p.Field
	if field.Type.Kind() == reflect.Pointer {
		field.Type = field.Type.Elem()
	}
	schema := huma.SchemaFromField(d.schemas(), field, p.Name)
	about := schema.Description
	schema.Description = ""
	if in == "path" && schema.Enum == nil {
		schema.Examples = []any{exampleID}
	}
	return &huma.Param{Name: p.Name, In: in, Required: p.Required, Schema: schema, Description: about}
}

func (d *Document) schemas() huma.Registry { return d.api.Components.Schemas }

const jsonType = "application/json"

func content(kind string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{kind: {Schema: schema}}
}

// headers are those of every answer, and more.
func headers(more ...string) map[string]*huma.Param {
	all := map[string]*huma.Param{}
	for _, name := range append(more, headerRequestID, headerPolicy, headerQuota) {
		all[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return all
}

// asJSON returns an example as a JSON decoder sees it. It panics if the example
// has no JSON: every start of the program makes all examples.
func asJSON(example any) any {
	encoded, err := json.Marshal(example)
	if err != nil {
		panic(err)
	}
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		panic(err)
	}
	return decoded
}
