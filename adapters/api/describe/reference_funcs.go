package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The variable capital finds the boundaries between the words of a camelCase name. A
// line may break there.
var capital = regexp.MustCompile(`([a-z])([A-Z])`)

// breakablePath allows a line break before each part of a path.
func breakablePath(path string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(path), "/", "<wbr>/"))
}

// typeOf formats the type of a schema, with links to named schemas.
func typeOf(s *huma.Schema) template.HTML {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, schemaPrefix)
		return template.HTML(fmt.Sprintf(`<a href="#schema-%s">%s</a>`, name, capital.ReplaceAllString(template.HTMLEscapeString(name), "$1<wbr>$2")))
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

// limitsOf formats the bounds that a schema sets for a value.
func limitsOf(s *huma.Schema) string {
	var parts []string
	if s.Type == huma.TypeArray && s.Items != nil && s.Items.Ref == "" {
		if inner := limitsOf(s.Items); inner != "" {
			parts = append(parts, "each "+inner)
		}
	}
	if names := enumNames(s.Enum); len(names) == 1 {
		parts = append(parts, "always "+names[0])
	} else if len(names) > 1 {
		parts = append(parts, "one of "+strings.Join(names, ", "))
	}
	parts = append(parts, rangeOf("", s.Minimum, s.Maximum)...)
	parts = append(parts, rangeOf(" long", cmp.Or(s.MinLength, s.MinItems), cmp.Or(s.MaxLength, s.MaxItems))...)
	if s.Pattern != "" {
		parts = append(parts, "matches "+s.Pattern)
	}
	if s.Format != "" && s.Format != "int64" && s.Format != "int32" && s.Format != "double" {
		parts = append(parts, s.Format)
	}
	return strings.Join(parts, "; ")
}

func enumNames(values []any) []string {
	var names []string
	for _, v := range values {
		if v == nil {
			v = "null"
		}
		names = append(names, fmt.Sprint(v))
	}
	return names
}

// rangeOf formats a range of values; nil means no bound.
func rangeOf[N int | float64](unit string, low, high *N) []string {
	switch {
	case low != nil && high != nil && *low == *high && unit == "":
		return []string{fmt.Sprintf("always %v", *low)}
	case low != nil && high != nil && *low == *high:
		return []string{fmt.Sprintf("%v%s", *low, unit)}
	case low != nil && high != nil:
		return []string{fmt.Sprintf("%v to %v%s", *low, *high, unit)}
	case low != nil:
		return []string{fmt.Sprintf("at least %v%s", *low, unit)}
	case high != nil:
		return []string{fmt.Sprintf("at most %v%s", *high, unit)}
	}
	return nil
}

// prose escapes a sentence, and formats the parts in backticks as code.
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
