// Package apitest checks the API's responses against the API's own description,
// /openapi.json. Tests in any package may use it. Call New first, and then call Judge
// with each response. The package uses neither the handlers nor the Go types that the
// description is generated from.
package apitest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Contract checks responses against a description of the API, with a JSON Schema
// validator. A Contract is stricter than the description: it rejects a response with a
// field that the schema does not list. It is safe for concurrent use.
type Contract struct {
	Longest int // JSON bodies of this many bytes or more are not validated; 0 means no limit

	paths    map[string]map[string]Operation
	routes   *http.ServeMux // finds the described path that matches a call
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by JSON pointer into the document
}

// New returns the contract that an OpenAPI document describes.
func New(document []byte) (*Contract, error) {
	var parsed struct {
		Paths map[string]map[string]Operation `json:"paths"`
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	tree, _ := value.(map[string]any)
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for name, s := range schemas {
		schema, ok := s.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the schema %s is not an object", name)
		}
		closed(schema)
		chosen(schema)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", tree); err != nil {
		return nil, err
	}
	c := &Contract{paths: parsed.Paths, routes: http.NewServeMux(), compiler: compiler, schemas: map[string]*jsonschema.Schema{}}
	c.Operations(func(path, method string, _ Operation) { // a parameter called path may contain slashes, which OpenAPI cannot express
		c.routes.Handle(strings.ToUpper(method)+" "+strings.Replace(path, "{path}", "{path...}", 1), http.NotFoundHandler())
	})
	return c, nil
}

// Operation is a described endpoint.
type Operation struct {
	ID          string              `json:"operationId"`
	Responses   map[string]Response `json:"responses"`
	Parameters  []Parameter         `json:"parameters"`
	RequestBody struct {
		Content map[string]Media `json:"content"`
	} `json:"requestBody"`
	Security []map[string][]string `json:"security"`
}

// Parameter is a parameter of an operation's path or query.
type Parameter struct {
	Name string `json:"name"`
	In   string `json:"in"`
}

// Response describes an operation's responses with one status.
type Response struct {
	Content map[string]Media `json:"content"`
}

// Media describes a body of one content type.
type Media struct {
	Schema   any                `json:"schema"`
	Example  any                `json:"example"`
	Examples map[string]Example `json:"examples"`
}

// Example is one example of a Media.
type Example struct {
	Value any `json:"value"`
}

// Answer is the response to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// The function closed() changes an object's schema to reject fields that the schema
// does not list.
func closed(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	properties, ok := s["properties"].(map[string]any)
	if ok && s["additionalProperties"] == nil {
		s["additionalProperties"] = false
	}
	for _, p := range properties {
		closed(p)
	}
	closed(s["items"])
}

// The function chosen() rewrites the schema of a union so that the validator tries only
// the schema that the discriminator names. The result is the same as if it tried all of
// them, but the check is faster.
func chosen(s map[string]any) {
	d, ok := s["discriminator"].(map[string]any)
	if !ok {
		return
	}
	var cases, names []any
	for value, at := range d["mapping"].(map[string]any) {
		is := map[string]any{"properties": map[string]any{d["propertyName"].(string): map[string]any{"const": value}}}
		cases = append(cases, map[string]any{"if": is, "then": map[string]any{"$ref": at}})
		names = append(names, value)
	}
	delete(s, "oneOf")
	s["allOf"], s["type"], s["required"] = cases, "object", []any{d["propertyName"]}
	s["properties"] = map[string]any{d["propertyName"].(string): map[string]any{"enum": names}}
}

// find returns the operation that a call uses, and the operation's path template.
func (c *Contract) find(method string, u *url.URL) (template string, op Operation, ok bool) {
	_, pattern := c.routes.Handler(&http.Request{Method: method, URL: u})
	_, template, _ = strings.Cut(pattern, " ")
	template = strings.Replace(template, "{path...}", "{path}", 1)
	op, ok = c.paths[template][strings.ToLower(method)]
	return template, op, ok
}

// Judge returns an error if a response does not match the description.
func (c *Contract) Judge(method, target string, a Answer) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if a.Header.Get("X-Request-Id") == "" {
		return fmt.Errorf("no request id")
	}
	body, err := a.plain()
	if err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	var problem struct{ Code, Detail string }
	if kind == "application/problem+json" {
		if err := json.Unmarshal(body, &problem); err != nil {
			return err
		}
	}
	template, op, ok := c.find(method, u)
	if !ok || a.Status == http.StatusMethodNotAllowed || a.Status == http.StatusNotFound && problem.Detail == "there is nothing at this path" {
		return c.judgeStray(kind, a)
	}
	status := strconv.Itoa(a.Status)
	r, ok := op.Responses[status]
	if !ok {
		return fmt.Errorf("%s is not described with status %s", op.ID, status)
	}
	if a.Status >= 400 && kind == "text/html" {
		return nil // the response to a form that a browser sent
	}
	if len(r.Content) == 0 {
		if len(a.Body) > 0 {
			return fmt.Errorf("%s %s: the body has %d bytes, but no body is described", op.ID, status, len(a.Body))
		}
		return nil
	}
	m, ok := r.Content[kind]
	if !ok {
		return fmt.Errorf("%s %s: the content type %q is not described", op.ID, status, kind)
	}
	if a.Status >= 400 {
		if _, ok := m.Examples[problem.Code]; !ok {
			return fmt.Errorf("%s %s: the code %q is not described", op.ID, status, problem.Code)
		}
	}
	if !strings.HasSuffix(kind, "json") || c.Longest > 0 && len(body) >= c.Longest {
		return nil
	}
	values := [][]byte{body}
	if kind == "application/x-ndjson" {
		values = slices.Collect(bytes.Lines(body))
	}
	for _, value := range values {
		if err := c.Validate(Pointer("paths", template, strings.ToLower(method), "responses", status, "content", kind, "schema"), value); err != nil {
			return err
		}
	}
	return nil
}

// plain returns the body uncompressed.
func (a Answer) plain() ([]byte, error) {
	if a.Header.Get("Content-Encoding") != "gzip" {
		return a.Body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// judgeStray checks the response to a call that matches no described operation.
func (c *Contract) judgeStray(kind string, a Answer) error {
	if kind == "application/problem+json" {
		return c.Validate(Pointer("components", "schemas", "Problem"), a.Body)
	}
	if kind != "text/html" && a.Status != http.StatusNotModified {
		return fmt.Errorf("%q without a description", kind)
	}
	return nil
}

// Pointer returns a JSON pointer to a part of the document.
func Pointer(tokens ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for i, token := range tokens {
		tokens[i] = url.PathEscape(escape.Replace(token))
	}
	return "openapi.json#/" + strings.Join(tokens, "/")
}

// Validate checks a JSON document against the schema at a pointer.
func (c *Contract) Validate(at string, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	schema, err := c.Schema(at)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// Schema returns the schema at a pointer.
func (c *Contract) Schema(at string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.schemas[at]; ok {
		return s, nil
	}
	s, err := c.compiler.Compile(at)
	if err == nil {
		c.schemas[at] = s
	}
	return s, err
}

// Operations passes every described operation to the function each.
func (c *Contract) Operations(each func(path, method string, op Operation)) {
	for path, methods := range c.paths {
		for method, op := range methods {
			each(path, method, op)
		}
	}
}

// IDs returns the ids of all operations, sorted.
func (c *Contract) IDs() []string {
	var ids []string
	c.Operations(func(_, _ string, op Operation) { ids = append(ids, op.ID) })
	slices.Sort(ids)
	return ids
}
