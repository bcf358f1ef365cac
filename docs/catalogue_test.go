package docs_test

import (
	"encoding"
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// field is a row of an event's table: a path, such as `seats[].mu`, and its
// JSON type.
type field struct{ path, kind string }

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// fieldsOf lists the fields of a stored event, by their tags.
func fieldsOf(t reflect.Type, prefix string) (all []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			all = append(all, fieldsOf(f.Type, prefix)...)
			continue
		}
		path, of := prefix+name, f.Type
		kind := kindOf(of)
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			kind = strings.TrimSuffix(kind, " or null") + ", may be absent"
		}
		all = append(all, field{path, kind})
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Array || of.Kind() == reflect.Pointer {
			if of.Kind() != reflect.Pointer {
				path += "[]"
			}
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && !encodes(of) {
			all = append(all, fieldsOf(of, path+".")...)
		}
	}
	return all
}

// The function encodes() reports whether a type defines its own JSON encoding.
func encodes(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshaler) || p.Implements(textMarshaler)
}

// kindOf returns the JSON type that encodes a Go type.
func kindOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem()) + " or null"
	case t == reflect.TypeFor[json.RawMessage]():
		return "object"
	case t == reflect.TypeFor[[]byte]():
		return "string"
	case encodes(t):
		text, err := json.Marshal(reflect.Zero(t).Interface())
		if err != nil || text[0] != '{' {
			return "string"
		}
		return "object"
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "array of " + kindOf(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}

var fieldRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|\n]+) \\|$")

// The table below each event's heading lists the event's stored fields. It
// gives the type and a description of each field.
func TestEveryFieldIsListed(t *testing.T) {
	page := read(t, "events.md")
	for _, d := range decoders {
		eventTypes := firsts(`(?m)^\tcase "(\w+)":\n\t\treturn event\.Decode\[`, read(t, "..", "domain", filepath.FromSlash(d.file)))
		require.NotEmpty(t, eventTypes, d.file)
		for _, eventType := range eventTypes {
			e, err := d.decode(eventType, []byte("{}"))
			require.NoError(t, err)
			var onPage []field
			for _, row := range fieldRow.FindAllStringSubmatch(section(t, page, "### `"+eventType+"`"), -1) {
				onPage = append(onPage, field{row[1], row[2]})
				require.NotEmpty(t, strings.TrimSpace(row[3]), "%s of %s", row[1], eventType)
			}
			require.Equal(t, fieldsOf(reflect.TypeOf(e), ""), onPage, eventType)
		}
	}
}

// The table of streams lists every stream that the code names.
func TestEveryStreamIsListed(t *testing.T) {
	var inCode []string
	for _, folder := range []string{"match", "ladder", "owner", "arena"} {
		files, err := filepath.Glob(filepath.Join("..", "domain", folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				inCode = append(inCode, firsts(`(?:Stream|Prefix)\s+= "([a-z]+-[a-z-]*)"`, read(t, file))...)
			}
		}
	}
	require.NotEmpty(t, inCode)
	require.ElementsMatch(t, inCode, firsts("(?m)^\\| \\[`([a-z-]+)[^|]*\\|", read(t, "events.md")))
}
