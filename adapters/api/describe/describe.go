// Package describe produces the texts that describe the API: the OpenAPI document,
// the reference page, the changelog and llms.txt.
//
// [New] begins a document, [Document.Add] adds an endpoint, and
// [Document.Finish] returns the texts. The huma library derives the schemas
// from the Go types that the API encodes. Everything else comes from files. The
// file openapi.yaml describes the API as a whole, and operations.yaml describes
// each operation. The file schemas.yaml contains the parts of the schemas that a
// Go type cannot express. The package handles no requests.
package describe

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/binding"
	"hexarena/domain/owner"
)

// Operation is one endpoint.
type Operation struct {
	ID, Method, Path string // Path as OpenAPI writes it: /bots/{id}
	Status           int    // status of a successful answer
	Request          binding.Binding
	Answer           reflect.Type // type of a JSON response; nil: none
	Text             string       // the content type of a text response; empty: none
	Scope            owner.Scope  // the scope that the caller needs; empty: none
	Session          bool         // the caller needs a session
	Forms            bool         // browsers may send forms instead of JSON
	ETag             bool         // some answers have an ETag
	Heavy            bool         // some calls are expensive and wait for their turn
}

// Texts are the texts that describe the API.
type Texts struct {
	OpenAPI         []byte
	Changelog       []byte // JSON
	LLMs            []byte // Markdown; see llmstxt.org
	Reference       []byte // HTML
	ReferencePolicy string // the Content-Security-Policy of Reference
}

// Document is a description under construction.
type Document struct {
	baseURL    string
	operations []Operation

	// Finish fills the fields below.
	api  *huma.OpenAPI
	docs map[string]operationDocs // by operation id
}

// operationDocs is an entry of operations.yaml.
type operationDocs struct {
	Tag, Summary, About   string
	Request, Answer, Text any
}

//go:embed *.yaml llms.md reference.html
var files embed.FS

// decode decodes an embedded YAML file.
func decode(name string, into any) error {
	text, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}
	return nil
}

// New returns a Document without endpoints. baseURL is the arena's own address.
func New(baseURL string) *Document { return &Document{baseURL: baseURL} }

// Add adds an endpoint. It is fast, because every start of an arena calls it.
func (d *Document) Add(o Operation) { d.operations = append(d.operations, o) }

// Finish returns the texts. Call it once, after adding every endpoint.
func (d *Document) Finish() (Texts, error) {
	d.api = &huma.OpenAPI{}
	if err := errors.Join(decode("openapi.yaml", d.api), decode("operations.yaml", &d.docs)); err != nil {
		return Texts{}, err
	}
	d.api.Servers = []*huma.Server{{URL: d.baseURL}}
	d.api.Components.Schemas = newRegistry()
	for _, o := range d.operations {
		d.describe(o)
	}
	if err := d.finishSchemas(); err != nil {
		return Texts{}, err
	}
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
	llms, err := files.ReadFile("llms.md")
	if err != nil {
		return Texts{}, err
	}
	base := strings.TrimSuffix(d.baseURL, "/")
	return Texts{
		OpenAPI: openAPI, Changelog: changes, LLMs: bytes.ReplaceAll(llms, []byte("](/"), []byte("]("+base+"/")),
		Reference: reference, ReferencePolicy: stylePolicy(),
	}, nil
}

// describe adds an endpoint to the OpenAPI document.
func (d *Document) describe(o Operation) {
	docs := d.docs[o.ID]
	op := &huma.Operation{
		OperationID: o.ID, Method: o.Method, Path: o.Path, Tags: []string{docs.Tag}, Summary: docs.Summary, DefaultStatus: o.Status,
		Description: docs.About, Security: o.security(), Responses: d.refusals(o),
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
		op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: "If-None-Match names the current version: nothing has changed.", Headers: headers()}
	}
	if o.Forms {
		op.Responses[strconv.Itoa(http.StatusSeeOther)] = &huma.Response{Description: "The response to a browser that submitted a form. Location names the next page.", Headers: headers()}
	}
	d.api.AddOperation(op)
}

const jsonType = "application/json"

func (d *Document) requestBody(o Operation, docs operationDocs) *huma.RequestBody {
	schema := huma.SchemaFromField(d.schemas(), *o.Request.BodyField, "")
	body := map[string]*huma.MediaType{jsonType: {Schema: schema, Example: docs.Request}}
	if o.Forms {
		body["application/x-www-form-urlencoded"] = &huma.MediaType{Schema: schema}
	}
	return &huma.RequestBody{Required: true, Content: body}
}

// response describes the successful answer.
func (d *Document) response(o Operation, docs operationDocs) *huma.Response {
	r := &huma.Response{Description: http.StatusText(o.Status), Headers: headers(), Content: map[string]*huma.MediaType{}}
	if o.Answer != nil {
		kind := jsonType
		if o.Text == rest.LinesType {
			kind = rest.LinesType // the schema and the example are those of one line
		}
		r.Content[kind] = &huma.MediaType{Schema: d.schemas().Schema(o.Answer, true, ""), Example: docs.Answer}
	}
	if o.Text != "" && o.Text != rest.LinesType {
		r.Content[o.Text] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: docs.Text}
	}
	return r
}

// security lists the credentials that the endpoint accepts: a session, or the
// three headers of a signature with the required scope. The list of a public
// endpoint is empty, not nil: the document then says that no credentials are needed.
func (o Operation) security() []map[string][]string {
	session := map[string][]string{"session": {}}
	switch {
	case o.Session:
		return []map[string][]string{session}
	case o.Scope != "":
		return []map[string][]string{{"key": {string(o.Scope)}, "timestamp": {}, "signature": {}}, session}
	}
	return []map[string][]string{}
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

// The function headers() returns references to the headers that every response has, and
// to those that the parameter more lists. The file openapi.yaml describes all these
// headers.
func headers(more ...string) map[string]*huma.Param {
	all := map[string]*huma.Param{}
	for _, name := range append(more, "X-Request-Id", "RateLimit-Policy", "RateLimit") {
		all[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return all
}
