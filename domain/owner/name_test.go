package owner

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

func TestParseName(t *testing.T) {
	for name, c := range map[string]struct {
		raw, want string // want is empty if ParseName must reject raw
	}{
		"plain":                            {"Ada", "Ada"},
		"trimmed":                          {" \tAda L. \n", "Ada L."},
		"one letter":                       {"ß", "ß"},
		"40 code points":                   {strings.Repeat("é", 40), strings.Repeat("é", 40)},
		"41 code points":                   {strings.Repeat("é", 41), ""},
		"empty":                            {"", ""},
		"spaces":                           {" \u2003 ", ""},
		"NUL":                              {"a\x00b", ""},
		"a line break":                     {"a\nb", ""},
		"a right-to-left override":         {"a\u202eb", ""},
		"a right-to-left mark":             {"a\u200fb", ""},
		"a zero-width joiner":              {"a\u200db", ""},
		"a line separator":                 {"a\u2028b", ""},
		"a soft hyphen":                    {"a\u00adb", ""},
		"a control character beyond ASCII": {"a\u0085b", ""},
		"invalid UTF-8":                    {"a\xffb", ""},
		"HTML is only text":                {"<b>", "<b>"},
		"an emoji":                         {"🐝", "🐝"},
		"an emoji with a presentation":     {"❤\ufe0f", "❤\ufe0f"},
		"a letter with a mark":             {"e\u0301", "e\u0301"},
		"punctuation":                      {"…", "…"},
		"blanks around a letter":           {"\u3164a\u2800", "\u3164a\u2800"},
		"a Hangul filler":                  {"\u3164", ""},
		"a halfwidth Hangul filler":        {"\uffa0", ""},
		"Hangul jamo fillers":              {"\u115f\u1160", ""},
		"a blank braille pattern":          {"\u2800", ""},
		"a null notehead":                  {"\U0001d159", ""},
		"blank hieroglyphs":                {"\U00013441\U00013442", ""},
		"a grapheme joiner":                {"\u034f", ""},
		"a Khmer inherent vowel":           {"\u17b4", ""},
		"variation selectors":              {"\ufe0f\U000e0100", ""},
		"a mark on a blank":                {"\u2800\u0301", ""},
		"blanks of all kinds":              {"\u3164 \u2800\u00a0\uffa0\u3000\u034f", ""},
		"an object replacement":            {"\ufffc", ""},
		"a private character":              {"\ue000", ""},
		"an unassigned character":          {"\U000e0fff", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseName(c.raw)
			require.Equal(t, c.want, got)
			require.Equal(t, c.want == "", err != nil)
		})
	}
}

// A text that contains only white space and characters that Unicode calls
// default-ignorable is not a name, whatever their order.
func TestParseNameRejectsEveryInvisibleCharacter(t *testing.T) {
	var invisible []rune
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.White_Space, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.M) {
			_, err := ParseName(string(r))
			require.Error(t, err, "%U", r)
			invisible = append(invisible, r)
		}
	}
	require.Greater(t, len(invisible), 4000)
	random := logtest.Random(t)
	for range 2000 {
		var name strings.Builder
		for range 1 + random.IntN(NameMax) {
			name.WriteRune(invisible[random.IntN(len(invisible))])
		}
		_, err := ParseName(name.String())
		require.Error(t, err, "%+q", name.String())
	}
}

func TestParseHandle(t *testing.T) {
	for name, c := range map[string]struct {
		handle string
		ok     bool
	}{
		"three":             {"ada", true},
		"twenty":            {strings.Repeat("a", 20), true},
		"two":               {"ad", false},
		"twenty-one":        {strings.Repeat("a", 21), false},
		"all characters":    {"az09-_", true},
		"a capital":         {"Ada", false},
		"blanks":            {"\u3164\u3164\u2800", false},
		"a space":           {"ada l", false},
		"a space before it": {" ada", false},
		"an @":              {"@ada", false},
		"a line break":      {"ada\n", false},
		"CR LF":             {"ada\r\nx", false},
		"another script":    {"аda", false},
		"empty":             {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseHandle(c.handle)
			require.Equal(t, c.ok, err == nil)
		})
	}
}

func TestParseURL(t *testing.T) {
	for name, c := range map[string]struct {
		url string
		ok  bool
	}{
		"https":                {"https://bots.example", true},
		"http":                 {"http://bots.example:9001/a/b?c=d&e", true},
		"a capital scheme":     {"HTTPS://bots.example", true},
		"IPv4":                 {"http://127.0.0.1:9001", true},
		"IPv6":                 {"http://[::1]:9001/", true},
		"as long as allowed":   {"http://a.example/" + strings.Repeat("x", URLMax-17), true},
		"longer":               {"http://a.example/" + strings.Repeat("x", URLMax-16), false},
		"empty":                {"", false},
		"no scheme":            {"bots.example/a", false},
		"ws":                   {"ws://bots.example", false},
		"wss":                  {"wss://bots.example", false},
		"javascript":           {"javascript:alert(1)", false},
		"opaque":               {"http:bots.example", false},
		"no host":              {"http:///a", false},
		"only a port":          {"http://:80/", false},
		"a colon without port": {"http://bots.example:/", false},
		"userinfo":             {"http://ada@bots.example", false},
		"a password":           {"http://ada:secret@bots.example", false},
		"empty userinfo":       {"http://@bots.example", false},
		"a fragment":           {"http://bots.example/#a", false},
		"an empty fragment":    {"http://bots.example/#", false},
		"white space":          {" http://bots.example", false},
		"a line break":         {"http://bots.example/\r\nx", false},
		"invalid UTF-8":        {"http://bots.example/\xff", false},
		"a bad port":           {"http://bots.example:port", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseURL(c.url)
			if c.ok {
				require.NoError(t, err)
				require.Equal(t, c.url, got)
				return
			}
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, CodeURLNotAllowed, invalid.Code)
			require.Equal(t, "url", invalid.Faults[0].Field)
		})
	}
}

func TestParseURLWithoutASchemeAsksForOne(t *testing.T) {
	for _, raw := range []string{"localhost:9001", "127.0.0.1:9001", "bots.example/a", "//bots.example"} {
		_, err := ParseURL(raw)
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid, raw)
		require.Equal(t, "must begin with http:// or https://: add it in front of the host", invalid.Faults[0].Message, raw)
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"Ada", "", " x ", "a\u202eb", strings.Repeat("é", 41), "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		name, err := ParseName(raw)
		if err != nil {
			return
		}
		n := utf8.RuneCountInString(name)
		require.True(t, n >= 1 && n <= NameMax)
		again, err := ParseName(name)
		require.NoError(t, err)
		require.Equal(t, name, again, "parsing an accepted name again does not change it")
	})
}

func FuzzParseHandle(f *testing.F) {
	for _, s := range []string{"ada", "az09-_", "Ada", "a", "ada\r\n", "аda"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, handle string) {
		if _, err := ParseHandle(handle); err == nil {
			require.Regexp(t, `\A[a-z0-9_-]{3,20}\z`, handle)
		}
	})
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"https://bots.example", "http://[::1]:9001/a?b", "http://a@b", "http://a#b", "//a", "http://%41"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := ParseURL(raw)
		if err != nil {
			return
		}
		require.Equal(t, raw, got)
		require.NotContains(t, got, "#")
		require.NotContains(t, got, "\n")
		require.Regexp(t, `(?i)\Ahttps?://`, got)
	})
}
