package owner

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameMax is the maximum length of a bot's or a key's name, in code points.
// HandleMin and HandleMax are the limits for the length of a handle. URLMax is
// the maximum length of a bot's URL, in bytes.
const (
	NameMax   = 40
	HandleMin = 3
	HandleMax = 20
	URLMax    = 2048
)

// ParseName trims a bot's or a key's name and checks it: 1 to 40 code points,
// at least one of them visible, without control, format, bidi or line-separating
// characters.
func ParseName(raw string) (string, error) {
	name := strings.TrimSpace(raw)
	switch n := utf8.RuneCountInString(name); {
	case !utf8.ValidString(name):
		return "", Invalid("name", "must be valid UTF-8")
	case n == 0:
		return "", Invalid("name", "must not be empty")
	case n > NameMax:
		return "", Invalid("name", fmt.Sprintf("has %d characters, more than %d", n, NameMax))
	case strings.ContainsFunc(name, unseen):
		return "", Invalid("name", "must not contain control, format or text-direction characters")
	case !strings.ContainsFunc(name, visible):
		return "", Invalid("name", "must contain a visible character")
	}
	return name, nil
}

func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// The table blank contains letters and symbols that are invisible, although Unicode
// does not mark them as default-ignorable.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // braille pattern blank
		{Lo: 0xfffc, Hi: 0xfffc, Stride: 1}, // object replacement character
	},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // Egyptian hieroglyph full blank and half blank
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // musical symbol null notehead
	},
}

// The function visible() reports whether a character is visible by itself. Marks do not
// count as visible, because they only change another character. Private and unassigned
// characters do not count either, because their appearance depends on the reader's fonts.
func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blank)
}

// ParseHandle checks a handle: 3 to 20 characters from a–z, 0–9, "-" and "_".
func ParseHandle(handle string) (string, error) {
	if n := utf8.RuneCountInString(handle); n < HandleMin || n > HandleMax {
		return "", Invalid("name", fmt.Sprintf("must have %d to %d characters", HandleMin, HandleMax))
	}
	if strings.ContainsFunc(handle, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return "", Invalid("name", "may contain only a to z (no capitals), 0 to 9, - and _")
	}
	return handle, nil
}

// ParseURL checks the form of a bot's URL: http or https, with a host, without
// userinfo or fragment. It does not check whether the arena may dial the
// address.
func ParseURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > URLMax:
		return "", InvalidURL(fmt.Sprintf("is longer than %d bytes", URLMax))
	case !strings.Contains(raw, "://"):
		return "", InvalidURL("must begin with http:// or https://: add it in front of the host")
	case err != nil || u.Opaque != "" || !utf8.ValidString(raw):
		return "", InvalidURL("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", InvalidURL("must begin with http:// or https://")
	case u.Hostname() == "" || strings.HasSuffix(u.Host, ":"):
		return "", InvalidURL("must name a host")
	case u.User != nil:
		return "", InvalidURL("must not contain a user name or password")
	case strings.Contains(raw, "#"):
		return "", InvalidURL("must not have a fragment")
	}
	return raw, nil
}

// InvalidURL returns an InvalidError for a bot's URL that is not allowed.
func InvalidURL(message string) error {
	return &InvalidError{Code: CodeURLNotAllowed, Faults: []Fault{{"url", message}}}
}
