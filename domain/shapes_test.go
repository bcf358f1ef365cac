// Package domain_test checks that this program can still read every event shape
// that was ever stored.
package domain_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
)

var update = flag.Bool("update", false, "append new shapes; existing shapes do not change")

// The type stored is an event of any stream.
type stored interface{ EventType() string }

func any1[E stored](decode func(string, []byte) (E, error)) func(string, []byte) (stored, error) {
	return func(name string, data []byte) (stored, error) { return decode(name, data) }
}

// The map decoders lists the Decode functions of each package. Each event type belongs
// to exactly one of them.
var decoders = map[string][]func(string, []byte) (stored, error){
	"match":  {any1(match.Decode), any1(match.DecodeDetail)},
	"ladder": {any1(ladder.Decode), any1(ladder.DecodeSnapshot)},
	"owner":  {any1(owner.Decode)},
	"arena":  {any1(arena.DecodeKeys), any1(arena.DecodeSealedKeys), any1(arena.DecodePlayer), any1(arena.DecodeOperations), any1(arena.DecodeMember), any1(arena.DecodeAssignments)},
}

func decode(kind, name string, data []byte) (e stored, err error) {
	err = fmt.Errorf("there is no package %q", kind)
	for _, d := range decoders[kind] {
		if e, err = d(name, data); err == nil {
			return e, nil
		}
	}
	return nil, err
}

// shape is one line of the golden file. Each line holds a stored event. If the event's
// shape has changed, the field "reads" holds the same event in today's shape.
type shape struct{ kind, name, data, reads string }

const golden = "testdata/shapes.golden"

func goldenShapes(t *testing.T) []shape {
	t.Helper()
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	var list []shape
	for line := range strings.Lines(string(text)) {
		data, reads, _ := strings.Cut(strings.TrimSpace(line), " reads ")
		words := strings.SplitN(data, " ", 3)
		require.Len(t, words, 3, line)
		list = append(list, shape{words[0], words[1], words[2], reads})
	}
	return list
}

// The event in every line of the golden file can be decoded. If it is encoded again, it
// has today's shape, as that line shows it.
func TestEveryStoredShapeCanBeRead(t *testing.T) {
	for _, s := range goldenShapes(t) {
		e, err := decode(s.kind, s.name, []byte(s.data))
		require.NoError(t, err, "%s %s", s.name, s.data)
		today, err := json.Marshal(e)
		require.NoError(t, err)
		want := s.data
		if s.reads != "" {
			want = s.reads
		}
		require.Equal(t, want, string(today), s.name)
	}
}

// If a shape changes, this test fails until a new line in the golden file holds the
// new shape. The older lines stay, because they must remain readable.
func TestNoShapeChangesSilently(t *testing.T) {
	latest := map[string]string{}
	for _, s := range goldenShapes(t) {
		latest[s.kind+" "+s.name] = s.data
	}
	var added strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(decoders)) {
		for _, name := range typesOf(t, kind) {
			e, err := decode(kind, name, []byte("{}"))
			require.NoError(t, err, "%s is stored, but no Decode function reads it", name)
			filled := reflect.New(reflect.TypeOf(e))
			fill(t, filled.Elem())
			data, err := json.Marshal(filled.Interface())
			require.NoError(t, err)
			if key := kind + " " + name; latest[key] != string(data) {
				fmt.Fprintf(&added, "%s %s\n", key, data)
			}
			delete(latest, kind+" "+name)
		}
	}
	if added.Len() > 0 && *update {
		f, err := os.OpenFile(golden, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(added.String())
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return
	}
	require.Empty(t, added.String(), "stored shapes have changed. If you only added a field, run this test with -update, which appends the new shape. "+
		"Then add the word reads and today's JSON at the end of the old line. For any other change, give the event a new name and let Decode read the old name too")
	for key := range latest {
		name := strings.Fields(key)[1]
		_, err := decode(strings.Fields(key)[0], name, []byte(latest[key]))
		require.NoError(t, err, "%s is no longer stored, but it must remain readable", name)
	}
}

var eventType = regexp.MustCompile(`EventType\(\) string +\{ return "(\w+)" \}`)

// typesOf returns the types of the events that a package stores.
func typesOf(t *testing.T, kind string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kind, "*.go"))
	require.NoError(t, err)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, found := range eventType.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	require.NotEmpty(t, names, kind)
	return names
}

// fill sets every field to a value other than zero, because omitempty leaves
// out zero values.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = json.RawMessage(`{"type":"end_turn"}`)
		return
	case *time.Time:
		*x = time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1.5)
	default:
		require.Fail(t, "a field of a kind that is not stored yet", v.Type().String())
	}
}
