package signedlog

import (
	"encoding/json"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
)

// sameAsJCS checks the canonical form of a JSON text.
func sameAsJCS(t *testing.T, text []byte) {
	t.Helper()
	if !json.Valid(text) {
		return
	}
	compact, err := json.Marshal(json.RawMessage(text))
	require.NoError(t, err)
	want, wantErr := jcs.Transform(compact)
	got, err := canonical(compact)
	require.Equal(t, wantErr, err, "%s", compact)
	require.Equal(t, string(want), string(got), "%s", compact)
}

var canonicalTexts = []string{
	`null`, `0`, `-0`, `-1`, `1.0`, `1e3`, `1E400`, `123456789012345`, `1234567890123456789`, `""`, `"a\u0062<"`, `"ä"`, `"\ud800"`, `"\\"`, `"\""`,
	`[]`, `{}`, `[[],{},[1,-2,0.5,true,false,null]]`,
	`{"b":1,"a":2}`, `{"b":{"d":1,"c":[{"f":"x","e":"\n"}]},"a":{}}`, `{"a":1,"a":2}`, `{"b":1,"a":1,"b":2}`, `{"a":1,"\u0061":2}`,
	`{"ö":1,"o":2,"\ufb33":3,"\ud83d\ude00":4}`, `{"x":{"b":1,"b":2}}`, `{"a!":1,"a":2}`, `{"a":1,"a!":2}`, `{"b\"":1,"a":2}`, `{"aa":1,"a":2,"":3,"B":4}`,
	`{"q":1,"p":1,"o":1,"n":1,"m":1,"l":1,"k":1,"j":1,"i":1,"h":1,"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1,"A":1}`,
}

func TestCanonicalFormIsThatOfJCS(t *testing.T) {
	for _, text := range canonicalTexts {
		sameAsJCS(t, []byte(text))
	}
}

func FuzzCanonical(f *testing.F) {
	for _, text := range canonicalTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameAsJCS(t, text) })
}
