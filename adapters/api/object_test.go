package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseObject(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want object
		ok   bool
	}{
		"empty":             {`{}`, object{}, true},
		"values as written": {` {"a": 1.50 , "b":[ ]}`, object{"a": json.RawMessage(`1.50`), "b": json.RawMessage(`[ ]`)}, true},
		"no object":         {`[1]`, nil, true},
		"null":              {` null `, nil, true},
		"twice":             {`{"a":1,"a":2}`, nil, false},
		"twice, deeper":     {`{"a":{"b":[{"c":1,"c":1}]}}`, nil, false},
		"same, apart":       {`{"a":{"b":1},"b":1}`, object{"a": json.RawMessage(`{"b":1}`), "b": json.RawMessage(`1`)}, true},
		"case matters":      {`{"a":1,"A":2}`, object{"a": json.RawMessage(`1`), "A": json.RawMessage(`2`)}, true},
		"a trailing comma":  {`{"a":1,}`, nil, false},
		"NaN":               {`{"a":NaN}`, nil, false},
		"as deep as it may": {strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth), nil, true},
		"deeper":            {strings.Repeat("[", maxDepth+1) + "1" + strings.Repeat("]", maxDepth+1), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseObject([]byte(c.body))
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.Equal(t, c.want, got)
			if err != nil {
				require.ErrorIs(t, err, errMalformed)
			}
		})
	}
}

func FuzzParseObject(f *testing.F) {
	for _, body := range []string{`{}`, `{"a":1,"b":[{}]}`, `{"a":1,"\u0061":1}`, `null`, `[[[[`, "\xff", `{"a":1e999}`, `"x" 1`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := parseObject(body)
		if err != nil {
			require.ErrorIs(t, err, errMalformed)
			return
		}
		require.True(t, json.Valid(body))
		if o == nil {
			return
		}
		var plain map[string]any
		if json.Unmarshal(body, &plain) == nil { // numbers may be out of range
			require.Len(t, o, len(plain))
		}
	})
}
