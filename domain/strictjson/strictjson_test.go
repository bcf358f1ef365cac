package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"hexarena/domain/strictjson"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		fail string // "" if the text is accepted
	}{
		"an object":                {` {"a": [1, {"b": null}], "c": "d"} `, ""},
		"a scalar":                 {`7`, ""},
		"empty":                    {" \n", "empty"},
		"cut off":                  {`{"a":1`, "not valid JSON"},
		"two values":               {`1 2`, "not valid JSON"},
		"invalid UTF-8":            {"\"\xff\"", "not valid UTF-8"},
		"a duplicate key":          {`{"a":{"b":1,"b":2}}`, `the key "b" is given twice`},
		"an escaped duplicate":     {`{"a":1,"\u0061":2}`, `the key "a" is given twice`},
		"one key in two objects":   {`[{"a":1},{"a":1}]`, ""},
		"keys that differ in case": {`{"a":1,"A":1}`, ""},
		"as deep as allowed":       {`[[[[1]]]]`, ""},
		"too deep":                 {`[[[[[]]]]]`, "nested deeper than 4"},
		"half a surrogate pair":    {`["\ud800"]`, "half of a surrogate pair"},
		"half a pair in a key":     {`{"\ud800":1}`, "half of a surrogate pair"},
		"a whole surrogate pair":   {`"\ud83d\ude00"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := strictjson.Parse([]byte(c.text), strictjson.Options{MaxDepth: 4})
			if c.fail != "" {
				require.ErrorContains(t, err, c.fail)
				return
			}
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(c.text), v.Raw)
		})
	}
	_, err := strictjson.Parse([]byte(`{"\ud800":"\ud800"}`), strictjson.Options{MaxDepth: 4, HalfPairs: true})
	require.NoError(t, err)
}

// The syntax is exactly that of encoding/json, also after the change of one byte.
func TestSyntax(t *testing.T) {
	deep := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	texts := []string{
		" [ 0 , -0.0 , 12.5e3 , 1E-2 , 9e+10 ] ", "{\"a\" : { } ,\"b\":[ ],\n\"\\u00Af\":\t\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\uD83d\\uDe00\"}\r", "[true,false,null]", "-1", `"é"`,
		deep(10_000), deep(10_001),
	}
	check := func(text string) {
		err := strictjson.New([]byte(text)).Err()
		require.Equal(t, utf8.ValidString(text) && json.Valid([]byte(text)), err == nil, "%q", text)
	}
	for _, text := range texts {
		check(text)
		if len(text) > 1000 {
			continue
		}
		for i := range text {
			check(text[:i])
			check(text[:i] + text[i+1:])
			for c := range 256 {
				check(text[:i] + string(rune(c)) + text[i+1:])
				check(text[:i] + string([]byte{byte(c)}) + text[i:])
			}
		}
	}
}

// The time to read an object grows only linearly with its number of keys.
func TestDuplicatesAmongManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	_, err := strictjson.Parse([]byte("{"+b.String()+`"x":1}`), strictjson.Options{MaxDepth: 1})
	require.NoError(t, err)
	for _, again := range []string{"3", "8999"} {
		_, err = strictjson.Parse([]byte("{"+b.String()+`"`+again+`":1}`), strictjson.Options{MaxDepth: 1})
		require.ErrorContains(t, err, "twice")
	}
}

// read reads an object with fields of every type that Reader supports.
func read(text string, open bool) (err error) {
	r := strictjson.New([]byte(text))
	var (
		n      int
		s      string
		b      bool
		f      float64
		ints   []int
		texts  []string
		raw    string
		fields = []strictjson.Field{
			strictjson.Need("int", &n), strictjson.Need("text", &s), strictjson.May("bool", &b), strictjson.May("number", &f),
			strictjson.May("ints", &ints), strictjson.May("texts", &texts), strictjson.May("raw", func() { raw = r.Raw() }),
		}
	)
	if open {
		r.OpenObject(fields...)
	} else {
		r.Object(fields...)
	}
	_ = raw
	return r.Err()
}

func TestObjectsHaveTheirFields(t *testing.T) {
	whole := `{"int": 7, "text":"a\"b", "bool":true, "number":-1.5e3, "ints":[1,2], "texts":[], "raw":{"x":[{"y":"}"}]}}`
	for name, c := range map[string]struct{ text, fail string }{
		"every field":           {whole, ""},
		"another order":         {`{"text":"","int":0}`, ""},
		"not an object":         {`[]`, "want an object"},
		"a field is missing":    {`{"int":7}`, "text is missing"},
		"an unknown field":      {`{"int":7,"text":"","more":1}`, `there is no field "more"`},
		"a field twice":         {`{"int":7,"text":"","int":7}`, `the key "int" is given twice`},
		"null":                  {`{"int":null,"text":""}`, "want an integer"},
		"a fraction":            {`{"int":1.0,"text":""}`, "want an integer"},
		"a negative integer":    {`{"int":-1,"text":""}`, "want an integer"},
		"an integer beyond 2⁵³": {`{"int":9007199254740993,"text":""}`, "want an integer"},
		"a number for a text":   {`{"int":1,"text":1}`, "want a string"},
		"a text for a bool":     {`{"int":1,"text":"","bool":"true"}`, "want true or false"},
		"a text for a number":   {`{"int":1,"text":"","number":"1"}`, "want a number"},
		"too large a number":    {`{"int":1,"text":"","number":1e999}`, "too large"},
		"an object for a list":  {`{"int":1,"text":"","ints":{}}`, "want an array"},
		"half a surrogate pair": {`{"int":1,"text":"\udc00"}`, "half of a surrogate pair"},
		"not JSON":              {`{"int":1`, "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := read(c.text, false); c.fail != "" {
				require.ErrorContains(t, err, c.fail)
			} else {
				require.NoError(t, err)
			}
		})
	}
	require.NoError(t, read(`{"int":7,"more":{"x":[1]},"text":""}`, true), "an open object may have more fields")
	require.ErrorContains(t, read(`{"int":7,"text":"","more":1,"more":2}`, true), "twice")
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"\u0000"}]}`, `[[[[[`, `{"a":1,"\u0061":1}`, `"\ud800"`, "\xff", ` [ ] `, `{"a":-1.5E+3,"b":[true,false,null,0]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := strictjson.Parse(text, strictjson.Options{MaxDepth: 8})
		isJSON := !errors.Is(err, strictjson.ErrNotUTF8) && !errors.Is(err, strictjson.ErrEmpty) && !errors.Is(err, strictjson.ErrSyntax)
		require.Equal(t, utf8.Valid(text) && json.Valid(text), isJSON)
		if err != nil {
			return
		}
		var plain any
		if json.Unmarshal(text, &plain) != nil {
			return // a number is out of range
		}
		if object, ok := plain.(map[string]any); ok {
			require.Len(t, v.Members, len(object))
			for _, m := range v.Members {
				require.Contains(t, object, m.Key)
			}
		}
	})
}
