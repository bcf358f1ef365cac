// Package binding reads a request into the input struct of an endpoint. It is strict:
// it reports every field that is unknown, missing or of the wrong type.
//
// [Of] analyzes a struct type once, and [Binding.Bind] fills values of that type. The
// huma library uses the same struct tags to describe the input (see
// docs/adr/0010-huma-describes-the-api-our-binding-parses.md). The errors are those of
// package problem.
package binding

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
)

// Binding describes how a request fills a struct:
//
//   - fields tagged `path:"name"` are strings;
//   - fields tagged `query:"name"` are strings or integers, or pointers to
//     these types if absence matters; the tags `required:"true"`, `enum:"a,b"`,
//     `minLength:"1"`, `minimum` and `maximum` restrict the values;
//   - the fields of Body are named by their `json` tags; fields without
//     `omitempty` are required, and no field accepts null. The same holds for the
//     fields of a struct in Body.
type Binding struct {
	Path, Query []Parameter
	Body        []Parameter
	BodyField   *reflect.StructField // nil if the request has no body
}

// Parameter is one field of a request.
type Parameter struct {
	Name     string
	Field    reflect.StructField
	Required bool

	nonEmpty bool
	enum     []string
	min, max *int
}

// Of returns the binding of a struct type. It panics if a tag is malformed.
func Of(in reflect.Type) Binding {
	var b Binding
	for _, f := range reflect.VisibleFields(in) {
		if name := f.Tag.Get("path"); name != "" {
			b.Path = append(b.Path, Parameter{Name: name, Field: f, Required: true})
		}
		if name := f.Tag.Get("query"); name != "" {
			b.Query = append(b.Query, queryParameter(name, f))
		}
	}
	body, ok := in.FieldByName("Body")
	if !ok {
		return b
	}
	b.BodyField = &body
	b.Body = membersOf(body.Type)
	return b
}

// membersOf returns the fields of a struct that a JSON object fills.
func membersOf(t reflect.Type) (list []Parameter) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			continue // VisibleFields lists the fields of the embedded struct separately
		}
		list = append(list, Parameter{Name: name, Field: f, Required: !strings.Contains(options, "omitempty")})
	}
	return list
}

func queryParameter(name string, f reflect.StructField) Parameter {
	p := Parameter{Name: name, Field: f, Required: f.Tag.Get("required") == "true", nonEmpty: f.Tag.Get("minLength") == "1"}
	if enum := f.Tag.Get("enum"); enum != "" {
		p.enum = strings.Split(enum, ",")
	}
	p.min, p.max = bound(f, "minimum"), bound(f, "maximum")
	return p
}

func bound(f reflect.StructField, tag string) *int {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("field %s: %s %q is not an integer", f.Name, tag, text))
	}
	return &n
}

// Bind fills a struct from the parts of a request: the path parameters by name, the raw
// query, and the object in the body. The error is a *problem.InvalidInput that lists
// every invalid field.
func (b Binding) Bind(in reflect.Value, path func(name string) string, rawQuery string, body Object) error {
	for _, p := range b.Path {
		in.FieldByIndex(p.Field.Index).SetString(path(p.Name))
	}
	faults := append(b.bindQuery(in, rawQuery), b.bindBody(in, body)...)
	if len(faults) > 0 {
		return &problem.InvalidInput{Fields: faults}
	}
	return nil
}

func (b Binding) bindQuery(in reflect.Value, raw string) []rest.FieldError {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return []rest.FieldError{{In: "query", Field: "", Message: "the query is malformed"}}
	}
	faults := unknown("query", values, b.Query)
	for _, p := range b.Query {
		if message := p.setQuery(in.FieldByIndex(p.Field.Index), values[p.Name]); message != "" {
			faults = append(faults, rest.FieldError{In: "query", Field: p.Name, Message: message})
		}
	}
	return faults
}

// The function unknown() returns an error for each given name that is not the name of a
// parameter.
func unknown[V any](in string, given map[string]V, parameters []Parameter) []rest.FieldError {
	var faults []rest.FieldError
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(parameters, func(p Parameter) bool { return p.Name == name }) {
			faults = append(faults, rest.FieldError{In: in, Field: name, Message: "is unknown: check the spelling"})
		}
	}
	return faults
}

// setQuery sets a field to a parameter's value. If the value is invalid, it
// returns a message.
func (p Parameter) setQuery(field reflect.Value, given []string) string {
	switch {
	case len(given) > 1:
		return "is given twice"
	case len(given) == 0 && p.Required:
		return "is missing"
	case len(given) == 0:
		return ""
	case p.enum != nil && !slices.Contains(p.enum, given[0]):
		return "must be one of " + strings.Join(p.enum, ", ")
	case p.nonEmpty && given[0] == "":
		return "must not be empty"
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if field.Kind() == reflect.String {
		field.SetString(given[0])
		return ""
	}
	n, err := strconv.Atoi(given[0])
	switch {
	case err != nil || strconv.Itoa(n) != given[0]:
		return "must be an integer"
	case p.min != nil && n < *p.min:
		return fmt.Sprintf("must be at least %d", *p.min)
	case p.max != nil && n > *p.max:
		return fmt.Sprintf("must be at most %d", *p.max)
	}
	field.SetInt(int64(n))
	return ""
}

func (b Binding) bindBody(in reflect.Value, body Object) []rest.FieldError {
	if body == nil {
		return []rest.FieldError{{In: "body", Field: "", Message: "the body must be a JSON object"}}
	}
	if b.BodyField == nil {
		return unknown("body", body, nil)
	}
	return bindObject(in.FieldByIndex(b.BodyField.Index), b.Body, body)
}

// bindObject fills a struct from a JSON object.
func bindObject(in reflect.Value, members []Parameter, object Object) []rest.FieldError {
	faults := unknown("body", object, members)
	for _, p := range members {
		raw, given := object[p.Name]
		switch field := in.FieldByIndex(p.Field.Index); {
		case given && (string(raw) == "null" || json.Unmarshal(raw, field.Addr().Interface()) != nil):
			faults = append(faults, rest.FieldError{In: "body", Field: p.Name, Message: "must be " + kindName(field.Type())})
		case given:
			faults = append(faults, bindNested(field, p.Name, raw)...)
		case p.Required:
			faults = append(faults, rest.FieldError{In: "body", Field: p.Name, Message: "is missing"})
		}
	}
	return faults
}

// bindNested fills a field whose type is a struct, which json.Unmarshal has already
// accepted. It returns the faults of the struct's own fields, such as "mails.failing".
func bindNested(field reflect.Value, name string, raw json.RawMessage) []rest.FieldError {
	field = reflect.Indirect(field)
	var object Object
	if field.Kind() != reflect.Struct || json.Unmarshal(raw, &object) != nil {
		return nil
	}
	faults := bindObject(field, membersOf(field.Type()), object)
	for i := range faults {
		faults[i].Field = name + "." + faults[i].Field
	}
	return faults
}

// kindName returns the name of the JSON type that a field accepts.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array, each item " + kindName(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "an integer"
	}
}
