package api

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// description is what the document says of the API as a whole.
func (s *Server) description() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.1",
			Info:    &huma.Info{Title: "Hex Arena", Version: "1"},
			Servers: []*huma.Server{{URL: s.BaseURL}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			},
		},
		Formats:       huma.DefaultFormats,
		DefaultFormat: "application/json",
	}
}

// describe adds an operation to the document: its parameters and bodies as the
// endpoint's types and their tags say.
func (s *Server) describe(op *huma.Operation, b binding, out reflect.Type, forms bool) {
	for _, p := range b.path {
		op.Parameters = append(op.Parameters, s.parameter("path", p))
	}
	for _, p := range b.query {
		op.Parameters = append(op.Parameters, s.parameter("query", p))
	}
	if b.hasBody {
		op.RequestBody = &huma.RequestBody{Required: true, Content: content("application/json", s.schema(b.bodyField, op.OperationID+"-request"))}
		if forms {
			op.RequestBody.Content["application/x-www-form-urlencoded"] = op.RequestBody.Content["application/json"]
		}
	}
	answer := &huma.Response{Description: http.StatusText(op.DefaultStatus)}
	if body, ok := out.FieldByName("Body"); ok {
		answer.Content = content("application/json", s.schema(body, op.OperationID+"-response"))
	}
	problem := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	op.Responses = map[string]*huma.Response{
		strconv.Itoa(op.DefaultStatus): answer,
		"default":                      {Description: "Refused", Content: content("application/problem+json", problem)},
	}
	s.api.OpenAPI().AddOperation(op)
}

func (s *Server) parameter(in string, p parameter) *huma.Param {
	field := p.field
	if field.Type.Kind() == reflect.Pointer {
		field.Type = field.Type.Elem()
	}
	schema := s.schema(field, p.name)
	return &huma.Param{Name: p.name, In: in, Required: p.required, Schema: schema, Description: schema.Description}
}

// schema describes a field's type; a type without a name is named by hint.
func (s *Server) schema(field reflect.StructField, hint string) *huma.Schema {
	return huma.SchemaFromField(s.api.OpenAPI().Components.Schemas, field, hint)
}

func content(kind string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{kind: {Schema: schema}}
}
