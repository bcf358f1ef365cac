package export_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
)

// docs/analysts.md lists the columns of every table in order, with their types. The
// columns have the same names in both formats.
func TestAnalystsPageListsEveryColumn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "analysts.md"))
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\| ([^|\n]+) \\|$")
	for name, table := range map[string]reflect.Type{
		"matches": reflect.TypeFor[export.Match](), "seats": reflect.TypeFor[export.Seat](), "events": reflect.TypeFor[export.Event](),
		"decisions": reflect.TypeFor[export.Decision](), "trades": reflect.TypeFor[export.Trade](), "rating_changes": reflect.TypeFor[export.RatingChange](),
	} {
		_, rest, found := strings.Cut(string(text), "### `"+name+"`\n")
		require.True(t, found, name)
		rest, _, _ = strings.Cut(rest, "\n### ")
		var onPage, inCode [][]string
		for _, r := range row.FindAllStringSubmatch(rest, -1) {
			onPage = append(onPage, r[1:3])
		}
		for i := range table.NumField() {
			f := table.Field(i)
			column, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
			require.Equal(t, column, f.Tag.Get("json"))
			inCode = append(inCode, []string{column, kindOf(f.Type)})
		}
		require.Equal(t, inCode, onPage, name)
	}
}

func kindOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem()) + " or null"
	case t.Name() == "instant":
		return "time"
	case t.Name() == "object":
		return "JSON"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}
