package record

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A value of the wrong type makes the whole metadata empty. An integer below 1
// is ignored.
func TestParseMetadata(t *testing.T) {
	empty := Metadata{Exists: true}
	counted := Metadata{Exists: true, maxCount: 7}
	tests := []struct {
		data string
		want Metadata
	}{
		{`{"$maxCount":7,"$tb":3,"$maxAge":60,"$cacheControl":5}`, Metadata{Exists: true, maxCount: 7, TruncateBefore: 3, maxAge: 60}},
		{`{"$maxCount":7,"mine":{"$tb":1}}`, counted},
		{`{"$maxCount":7,"$tb":0}`, counted},
		{`{"$maxCount":7,"$tb":-3,"$maxAge":0,"$cacheControl":-1}`, counted},
		{`{"$maxCount":7,"$tb":"3"}`, empty},
		{`{"$maxCount":7,"$tb":3.0}`, empty},
		{`{"$maxCount":7,"$tb":1e3}`, empty},
		{`{"$maxCount":7,"$tb":null}`, empty},
		{`{"$maxCount":7,"$tb":true}`, empty},
		{`{"$maxCount":7,"$tb":[1]}`, empty},
		{`{"$maxCount":7,"$tb":9223372036854775807}`, Metadata{Exists: true, maxCount: 7, TruncateBefore: math.MaxInt64}},
		{`{"$maxCount":7,"$tb":9223372036854775808}`, empty},
		{`{"$maxCount":7,"$maxAge":"1"}`, empty},
		{`{"$maxCount":7,"$cacheControl":"1"}`, empty},
		{`{"$maxCount":7,"$acl":{"$r":"all","$w":["a","b"]}}`, counted},
		{`{"$maxCount":7,"$acl":{}}`, counted},
		{`{"$maxCount":7,"$acl":null}`, empty},
		{`{"$maxCount":7,"$acl":[]}`, empty},
		{`{"$maxCount":7,"$acl":"x"}`, empty},
		{`{"$maxCount":7,"$acl":{"$r":1}}`, empty},
		{`{"$maxCount":7,"$acl":{"$r":null}}`, empty},
		{`{"$maxCount":7,"$acl":{"$r":[null]}}`, empty},
		{`{"$maxCount":7,"$acl":{"$r":[1]}}`, empty},
		{`[]`, empty},
		{`null`, empty},
		{``, empty},
		{`{"$maxCount":7`, empty},
	}
	for _, test := range tests {
		t.Run(test.data, func(t *testing.T) { require.Equal(t, test.want, ParseMetadata(test.data)) })
	}
}

func FuzzParseMeta(f *testing.F) {
	for _, seed := range []string{`{"$maxCount":7,"$tb":3}`, `{"$acl":{"$r":["a"]}}`, `{"$tb":9223372036854775807}`, `[]`, `{"$acl":`, `{"a":[[[[]]]]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		m := ParseMetadata(data)
		require.True(t, m.Exists)
		require.GreaterOrEqual(t, m.First(10), int64(0))
		merged := ParseMetadata(WithTruncateBefore(data, 42))
		if m.TruncateBefore != 0 {
			require.EqualValues(t, 42, merged.TruncateBefore)
			require.Equal(t, m.maxCount, merged.maxCount)
			require.Equal(t, m.maxAge, merged.maxAge)
		}
	})
}
