package api_test

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
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
)

// contract is the arena's own description, by which every answer in the tests
// of this package is judged: a JSON Schema validator knows nothing of the types
// that the description was made from. It is stricter than the description: what
// an answer's schema does not name must not be there.
type contract struct {
	paths    map[string]map[string]operation
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by pointer into the document
	seen    map[string]bool               // operation and status
}

// longUnderRace is how long an answer is that the race detector makes too slow
// to judge; it is judged without.
const longUnderRace = 16 << 10

type operation struct {
	ID          string              `json:"operationId"`
	Responses   map[string]response `json:"responses"`
	RequestBody struct {
		Content map[string]mediaType `json:"content"`
	} `json:"requestBody"`
	Security []map[string][]string `json:"security"`
}

type response struct {
	Content map[string]mediaType `json:"content"`
}

type mediaType struct {
	Schema   any                     `json:"schema"`
	Example  any                     `json:"example"`
	Examples map[string]valueExample `json:"examples"`
}

type valueExample struct {
	Value any `json:"value"`
}

var theContract struct {
	once sync.Once
	*contract
}

// contractOf reads the description that a server answers with; it is the same
// for all of them.
func contractOf(t *testing.T, server http.Handler) *contract {
	t.Helper()
	theContract.once.Do(func() {
		document := fetch(t, server, "/openapi.json")
		var parsed struct {
			Paths map[string]map[string]operation `json:"paths"`
		}
		require.NoError(t, json.Unmarshal(document, &parsed))
		tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
		require.NoError(t, err)
		for _, s := range tree.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
			closed(s)
			chosen(s.(map[string]any))
		}
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		require.NoError(t, compiler.AddResource("openapi.json", tree))
		theContract.contract = &contract{paths: parsed.Paths, compiler: compiler, schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	})
	require.NotNil(t, theContract.contract, "the description was not read")
	return theContract.contract
}

// closed forbids fields that an object's schema does not name.
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

// chosen has a union judged by the schema that its discriminator names, which
// is the same as by all of them, and faster.
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

// find returns the operation of a call, and the path it is described under.
func (c *contract) find(method, path string) (template string, op operation, ok bool) {
	segments := strings.Split(path, "/")
	best := -1
	for candidate, operations := range c.paths {
		found, described := operations[strings.ToLower(method)]
		if n := fixedSegments(strings.Split(candidate, "/"), segments); described && n > best {
			best, template, op, ok = n, candidate, found, true
		}
	}
	return template, op, ok
}

// fixedSegments counts those of a template that a path has literally; -1: it is
// not one of the template's.
func fixedSegments(template, path []string) int {
	if len(template) != len(path) {
		return -1
	}
	fixed := 0
	for i, segment := range template {
		switch {
		case strings.HasPrefix(segment, "{") && path[i] != "":
		case segment == path[i]:
			fixed++
		default:
			return -1
		}
	}
	return fixed
}

// judge says what an answer has that the description does not tell.
func (c *contract) judge(method, target string, a *answer) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if a.header.Get("X-Request-Id") == "" {
		return fmt.Errorf("no request id")
	}
	body, err := a.plain()
	if err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	template, op, ok := c.find(method, u.EscapedPath())
	if !ok || a.status == http.StatusMethodNotAllowed || a.status == http.StatusNotFound && a.json["detail"] == "there is nothing at this path" {
		return c.judgeStray(kind, a)
	}
	status := strconv.Itoa(a.status)
	r, ok := op.Responses[status]
	if !ok {
		return fmt.Errorf("%s does not answer with %s", op.ID, status)
	}
	c.mu.Lock()
	c.seen[op.ID+" "+status] = true
	c.mu.Unlock()
	if a.status >= 400 && kind == "text/html" {
		return nil // a browser's form
	}
	if len(r.Content) == 0 {
		if len(a.body) > 0 {
			return fmt.Errorf("%s %s: %d bytes where none are described", op.ID, status, len(a.body))
		}
		return nil
	}
	m, ok := r.Content[kind]
	if !ok {
		return fmt.Errorf("%s %s: %q is not described", op.ID, status, kind)
	}
	if a.status >= 400 {
		if _, ok := m.Examples[fmt.Sprint(a.json["code"])]; !ok {
			return fmt.Errorf("%s %s does not tell of the code %v", op.ID, status, a.json["code"])
		}
	}
	if strings.HasSuffix(kind, "json") && (len(body) < longUnderRace || !api.RaceEnabled) {
		return c.validate(pointer("paths", template, strings.ToLower(method), "responses", status, "content", kind, "schema"), body)
	}
	return nil
}

// plain is the body as it was before it was compressed, if the caller asked for
// that itself.
func (a *answer) plain() ([]byte, error) {
	if a.header.Get("Content-Encoding") != "gzip" {
		return a.body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// judgeStray judges what answers a call that is not described.
func (c *contract) judgeStray(kind string, a *answer) error {
	if kind == "application/problem+json" {
		return c.validate(pointer("components", "schemas", "Problem"), a.body)
	}
	if kind != "text/html" && a.status != http.StatusNotModified {
		return fmt.Errorf("%q without a description", kind)
	}
	return nil
}

func pointer(tokens ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for i, token := range tokens {
		tokens[i] = url.PathEscape(escape.Replace(token))
	}
	return "openapi.json#/" + strings.Join(tokens, "/")
}

// validate judges a JSON text by a schema of the document.
func (c *contract) validate(at string, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	schema, err := c.schema(at)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (c *contract) schema(at string) (*jsonschema.Schema, error) {
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

// operations are all that are described, by path and method.
func (c *contract) operations(each func(path, method string, op operation)) {
	for path, methods := range c.paths {
		for method, op := range methods {
			each(path, method, op)
		}
	}
}

func (c *contract) ids() []string {
	var ids []string
	c.operations(func(_, _ string, op operation) { ids = append(ids, op.ID) })
	slices.Sort(ids)
	return ids
}
