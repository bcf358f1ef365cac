package secrets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The function fixed() returns the same secrets in every run.
func fixed() contents {
	return contents{
		Version:      1,
		PlatformSeed: secret{1},
		EmailKey:     secret{2},
		SeedKeys:     []seedKey{{ID: "a", Key: secret{3}}, {ID: "b", Key: secret{4}}},
	}
}

func encoded(tb testing.TB, c contents) []byte {
	tb.Helper()
	data, err := c.encode()
	require.NoError(tb, err)
	return data
}

func TestFileFormat(t *testing.T) {
	zeros := strings.Repeat("00", 31)
	require.Equal(t, `{
  "version": 1,
  "platformSeed": "01`+zeros+`",
  "emailKey": "02`+zeros+`",
  "seedKeys": [
    {
      "id": "a",
      "key": "03`+zeros+`"
    },
    {
      "id": "b",
      "key": "04`+zeros+`"
    }
  ]
}
`, string(encoded(t, fixed())))
	back, err := parse(encoded(t, fixed()))
	require.NoError(t, err)
	require.Equal(t, fixed(), back)
}

func TestGenerateIsNewEachTime(t *testing.T) {
	a, b := generate(), generate()
	require.NoError(t, a.check())
	require.NotEqual(t, a.PlatformSeed, b.PlatformSeed)
	require.NotEqual(t, a.EmailKey, b.EmailKey)
	require.NotEqual(t, a.SeedKeys, b.SeedKeys)
	require.NotEqual(t, a.PlatformSeed, a.EmailKey)
}

func TestParseRejectsInvalidFiles(t *testing.T) {
	changed := func(change func(*contents)) []byte {
		c := fixed()
		change(&c)
		return encoded(t, c)
	}
	good := encoded(t, fixed())
	tests := map[string]struct {
		data []byte
		want string
	}{
		"an empty file":            {nil, "EOF"},
		"a half file":              {good[:len(good)/2], "unexpected EOF"},
		"another version":          {changed(func(c *contents) { c.Version = 2 }), "version 2: this program reads version 1"},
		"no platform seed":         {changed(func(c *contents) { c.PlatformSeed = secret{} }), "platformSeed"},
		"no email key":             {changed(func(c *contents) { c.EmailKey = secret{} }), "emailKey"},
		"no seed keys":             {changed(func(c *contents) { c.SeedKeys = nil }), "seedKeys is empty"},
		"a seed key without id":    {changed(func(c *contents) { c.SeedKeys[1].ID = "" }), "seedKeys[1] has no id"},
		"a seed key of zeros":      {changed(func(c *contents) { c.SeedKeys[0].Key = secret{} }), "seedKeys[0] has no id"},
		"a repeated id":            {changed(func(c *contents) { c.SeedKeys[1].ID = "a" }), "seedKeys[1] has the same id"},
		"a short key":              {bytes.Replace(good, []byte(`"020`), []byte(`"0`), 1), "64 lower-case hex digits"},
		"upper-case hex":           {bytes.Replace(good, []byte(`"02`), []byte(`"AB`), 1), "64 lower-case hex digits"},
		"an unknown field":         {bytes.Replace(good, []byte(`emailKey`), []byte(`mailKey`), 1), "unknown field"},
		"text after the object":    {append(bytes.Clone(good), '1'), "there is text after the JSON object"},
		"a second object after it": {append(bytes.Clone(good), '{'), "there is text after the JSON object"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tt.data)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), strings.Repeat("00", 8), "no key is shown")
		})
	}
}

func TestSecretsCannotBePrintedOrEncoded(t *testing.T) {
	s := Secrets{&store{}}
	s.current.Store(&current{file: fixed()})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		require.Equal(t, "[secrets]", fmt.Sprintf(verb, s), verb)
		require.Equal(t, "[secrets]", fmt.Sprintf(verb, &s), verb)
	}
	_, err := json.Marshal(struct{ S *Secrets }{&s})
	require.ErrorContains(t, err, "cannot be encoded")
}

// FuzzParse checks that parse accepts only complete files, and that encoding and
// parsing an accepted file again does not change it.
func FuzzParse(f *testing.F) {
	good := encoded(f, fixed())
	f.Add(good)
	f.Add(encoded(f, generate()))
	f.Add(good[:len(good)-3])
	f.Add([]byte(`{"version":1,"seedKeys":null}`))
	f.Add([]byte(`{"version":1,"VERSION":1}`))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data)
		if err != nil {
			return
		}
		require.NoError(t, c.check())
		require.Len(t, c.held().Seeds, len(c.SeedKeys))
		back, err := parse(encoded(t, c))
		require.NoError(t, err)
		require.Equal(t, c, back)
	})
}
