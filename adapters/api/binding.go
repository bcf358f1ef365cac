package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// binding is how a request fills an endpoint's input, read from its type once:
//
//   - fields tagged `path:"name"` are strings;
//   - fields tagged `query:"name"` are strings or integers, or pointers to them
//     where absence matters; `required:"true"`, `enum:"a,b"`, `minLength:"1"`,
//     `minimum` and `maximum` bound them;
//   - the fields of Body are what their `json` tags name; those without
//     `omitempty` are required, and null is a value for none.
//
// The tags are those by which huma describes the same.
type binding struct {
	path, query []parameter
	hasBody     bool
	body        []parameter
	bodyField   reflect.StructField
}

type parameter struct {
	name     string
	field    reflect.StructField
	required bool
	nonEmpty bool
	enum     []string
	min, max *int
}

func bindingOf(in reflect.Type) binding {
	var b binding
	for _, f := range reflect.VisibleFields(in) {
		if name := f.Tag.Get("path"); name != "" {
			b.path = append(b.path, parameter{name: name, field: f, required: true})
		}
		if name := f.Tag.Get("query"); name != "" {
			b.query = append(b.query, queryParameter(name, f))
		}
	}
	body, ok := in.FieldByName("Body")
	if !ok {
		return b
	}
	b.hasBody, b.bodyField = true, body
	for _, f := range reflect.VisibleFields(body.Type) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		b.body = append(b.body, parameter{name: name, field: f, required: !strings.Contains(options, "omitempty")})
	}
	return b
}

func queryParameter(name string, f reflect.StructField) parameter {
	p := parameter{name: name, field: f, required: f.Tag.Get("required") == "true", nonEmpty: f.Tag.Get("minLength") == "1"}
	if enum := f.Tag.Get("enum"); enum != "" {
		p.enum = strings.Split(enum, ",")
	}
	p.min, p.max = bound(f, "minimum"), bound(f, "maximum")
	return p
}

// bound reads a tag of a type of ours; one that is no integer is our mistake.
func bound(f reflect.StructField, tag string) *int {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("field %s: %s %q is no integer", f.Name, tag, text))
	}
	return &n
}

// bind fills in from a call. The error is an *inputError that names every
// field that is wrong.
func (b binding) bind(in reflect.Value, c *call, fields object) error {
	for _, p := range b.path {
		in.FieldByIndex(p.field.Index).SetString(c.echo.Param(p.name))
	}
	faults := b.bindQuery(in, c.request.URL.RawQuery)
	faults = append(faults, b.bindBody(in, fields)...)
	if len(faults) > 0 {
		return &inputError{faults}
	}
	return nil
}

func (b binding) bindQuery(in reflect.Value, raw string) []FieldError {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return []FieldError{{In: "query", Field: "", Message: "the query is malformed"}}
	}
	var faults []FieldError
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(b.query, func(p parameter) bool { return p.name == name }) {
			faults = append(faults, FieldError{"query", name, "is not known here"})
		}
	}
	for _, p := range b.query {
		if message := p.setQuery(in.FieldByIndex(p.field.Index), values[p.name]); message != "" {
			faults = append(faults, FieldError{"query", p.name, message})
		}
	}
	return faults
}

// setQuery sets a field to a parameter's value, or says what is wrong with it.
func (p parameter) setQuery(field reflect.Value, given []string) string {
	switch {
	case len(given) > 1:
		return "is given twice"
	case len(given) == 0 && p.required:
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

func (b binding) bindBody(in reflect.Value, fields object) []FieldError {
	if fields == nil {
		return []FieldError{{In: "body", Field: "", Message: "the body must be a JSON object"}}
	}
	var faults []FieldError
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.ContainsFunc(b.body, func(p parameter) bool { return p.name == name }) {
			faults = append(faults, FieldError{"body", name, "is not known here"})
		}
	}
	for _, p := range b.body {
		raw, given := fields[p.name]
		switch field := in.FieldByIndex(b.bodyField.Index).FieldByIndex(p.field.Index); {
		case given && (string(raw) == "null" || json.Unmarshal(raw, field.Addr().Interface()) != nil):
			faults = append(faults, FieldError{"body", p.name, "must be " + kindName(field.Type())})
		case !given && p.required:
			faults = append(faults, FieldError{"body", p.name, "is missing"})
		}
	}
	return faults
}

// kindName names a field's type to who sent another.
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
