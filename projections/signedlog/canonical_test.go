package signedlog

import (
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
)

// Two independent libraries for RFC 8785 agree. A leaf's hash must never change.
func TestCanonicalForm(t *testing.T) {
	for _, text := range []string{
		`null`, `0`, `-0`, `-1`, `1.0`, `1e3`, `1e21`, `1e-7`, `0.1`, `-12.345678901234567`, `123456789012345`, `9007199254740993`, `""`,
		`"a\u0062<>&/"`, `"\u2028ä\u00e4\ud83d\ude00😀"`, `"\\\"\b\f\n\r\t\u0001\u007f"`,
		`[]`, `{}`, `[[],{},[1,-2,0.5,true,false,null]]`,
		`{"b":1,"a":2}`, `{"b":{"d":1,"c":[{"f":"x","e":"\n"}]},"a":{}}`,
		`{"ö":1,"o":2,"\ufb33":3,"\ud83d\ude00":4}`, `{"a!":1,"a":2}`, `{"b\"":1,"a":2}`, `{"aa":1,"a":2,"":3,"B":4}`,
		" {\n\t\"b\" : [ 1 , 2 ] ,\r\n \"a\" : \"x y\" } ",
	} {
		want, err := jcs.Transform([]byte(text))
		require.NoError(t, err, "%s", text)
		got, err := canonical([]byte(text))
		require.NoError(t, err, "%s", text)
		require.Equal(t, string(want), string(got), "%s", text)
	}
	for _, text := range []string{``, `{`, `{"a":1,"a":2}`, `[1] 2`} {
		_, err := canonical([]byte(text))
		require.Error(t, err, "%s", text)
	}
}
