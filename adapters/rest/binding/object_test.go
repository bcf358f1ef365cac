package binding

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest/problem"
)

func TestParseObject(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want Object
		ok   bool
	}{
		"empty":                          {`{}`, Object{}, true},
		"values as written":              {` {"a": 1.50 , "b":[ ]}`, Object{"a": json.RawMessage(`1.50`), "b": json.RawMessage(`[ ]`)}, true},
		"not an object":                  {`[1]`, nil, true},
		"null":                           {` null `, nil, true},
		"a key twice":                    {`{"a":1,"a":2}`, nil, false},
		"a key twice in a nested object": {`{"a":{"b":[{"c":1,"c":1}]}}`, nil, false},
		"the same key in two objects":    {`{"a":{"b":1},"b":1}`, Object{"a": json.RawMessage(`{"b":1}`), "b": json.RawMessage(`1`)}, true},
		"case matters":                   {`{"a":1,"A":2}`, Object{"a": json.RawMessage(`1`), "A": json.RawMessage(`2`)}, true},
		"a trailing comma":               {`{"a":1,}`, nil, false},
		"NaN":                            {`{"a":NaN}`, nil, false},
		"at the depth limit":             {strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth), nil, true},
		"beyond the depth limit":         {strings.Repeat("[", maxDepth+1) + "1" + strings.Repeat("]", maxDepth+1), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseObject([]byte(c.body))
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.Equal(t, c.want, got)
			if err != nil {
				require.ErrorIs(t, err, problem.ErrMalformed)
			}
		})
	}
}

func FuzzParseObject(f *testing.F) {
	for _, body := range []string{`{}`, `{"a":1,"b":[{}]}`, `{"a":1,"\u0061":1}`, `null`, `[[[[`, "\xff", `{"a":1e999}`, `"x" 1`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := ParseObject(body)
		if err != nil {
			require.ErrorIs(t, err, problem.ErrMalformed)
			return
		}
		require.True(t, json.Valid(body))
		if o == nil {
			return
		}
		var plain map[string]any
		if json.Unmarshal(body, &plain) == nil { // fails if a number is out of range
			require.Len(t, o, len(plain))
		}
	})
}
