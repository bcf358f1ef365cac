package strictjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Reader reads values in order: objects with known keys and types, and integers
// without fraction or exponent. It rejects null, except where OrNull allows it. After
// the first error, every read returns the zero value. Reader skips the values of
// unknown fields without looking into them, so these values may be nested to any
// depth.
type Reader struct {
	text string // valid JSON; the returned strings and raw values share its memory
	at   int
	err  error
}

// New returns a Reader for text, which must contain exactly one JSON value.
func New(text []byte) *Reader {
	r := &Reader{text: string(text)}
	r.err = check(r.text)
	return r
}

// Try lets f read the next value, and returns the value's text. If f fails, Try skips the
// value and returns the error, which is then not an error of the Reader.
func (r *Reader) Try(f func()) (raw string, err error) {
	r.next()
	from := r.at
	f()
	if err = r.err; err != nil {
		r.at, r.err = from, nil
		r.skip()
	}
	return r.text[from:r.at], err
}

// Within lets f read a value that Raw returned, and returns the error. After that, the
// Reader continues where it was. An error in the value is not an error of the Reader.
func (r *Reader) Within(raw string, f func()) error {
	outer := *r
	r.text, r.at, r.err = raw, 0, nil
	f()
	err := r.err
	*r = outer
	return err
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail records an error, unless an earlier error is already recorded.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// Want records an error if ok is false. The parameter what names the missing
// value.
func (r *Reader) Want(ok bool, what string) {
	if !ok {
		r.Fail("%s is missing", what)
	}
}

// next returns the byte that begins the next value or ends a list, or 0 after
// an error. The text is valid JSON, so the separators need no check.
func (r *Reader) next() byte {
	if r.err != nil {
		return 0
	}
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			r.at++
		default:
			return c
		}
	}
	r.Fail("the text ends too early")
	return 0
}

// Field is a field of an object, with a pointer to the variable for its value.
// Instead of a pointer, it may have a func(), which Reader calls to read the value.
type Field struct {
	name     string
	into     any
	optional bool
	nullable bool
}

// Need returns a field that must be present.
func Need(name string, into any) Field { return Field{name: name, into: into} }

// May returns a field that may be absent.
func May(name string, into any) Field { return Field{name: name, into: into, optional: true} }

// OrNull returns f as a field that may be null. A null leaves the variable
// unchanged.
func (f Field) OrNull() Field {
	f.nullable = true
	return f
}

// Object reads an object that may have only these fields.
func (r *Reader) Object(fields ...Field) { r.object(false, fields) }

// OpenObject reads an object that may also have other fields.
func (r *Reader) OpenObject(fields ...Field) { r.object(true, fields) }

// maxUnknown limits the number of unknown keys in an object, so that scanning a list
// is a fast way to find duplicates.
const maxUnknown = 24

func (r *Reader) object(open bool, fields []Field) {
	if r.next() != '{' {
		r.Fail("want an object")
		return
	}
	r.at++
	var list [maxUnknown]string
	unknown, found, last := list[:0], uint64(0), -1
	for c := r.next(); c != '}' && c != 0; c = r.next() {
		key := r.Text()
		if r.next() == 0 {
			return
		}
		if i := find(fields, key, last+1); i >= 0 {
			r.once(key, found&(1<<i) != 0)
			found, last = found|1<<i, i
			r.read(&fields[i])
			continue
		}
		if !open || len(unknown) == maxUnknown {
			r.Fail("there is no field %q", key)
		}
		r.once(key, slices.Contains(unknown, key))
		unknown = append(unknown, key)
		r.skip()
	}
	r.at++
	for i := range fields {
		if !fields[i].optional && found&(1<<i) == 0 {
			r.Want(false, strings.Clone(fields[i].name)) // cloned, so that the fields' pointers do not escape
		}
	}
}

// The method once() records an error if the key has already occurred in the object.
func (r *Reader) once(key string, before bool) {
	if before && r.err == nil {
		r.err = DuplicateKeyError(key)
	}
}

// find returns the index of a name, or -1 if it is missing. It first tries the
// likely index, because most objects have their fields in order.
func find(fields []Field, name string, likely int) int {
	if likely < len(fields) && fields[likely].name == name {
		return likely
	}
	for i := range fields {
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

// read reads a field's value.
func (r *Reader) read(f *Field) {
	if f.nullable && r.null() {
		return
	}
	switch into := f.into.(type) {
	case func():
		into()
	case *string:
		*into = r.Text()
	case *int:
		*into = r.Integer()
	case *int64:
		*into = int64(r.Integer())
	case *uint64:
		*into = uint64(r.Integer())
	case *bool:
		*into = r.Bool()
	case *float64:
		*into = r.Number()
	case *[]int:
		*into = List(r, r.Integer)
	case *[]string:
		*into = List(r, r.Text)
	default:
		panic("strictjson: no reader for the type of field " + f.name) // not %T, which would make all pointers escape
	}
}

// Array reads an array. It calls item to read each value.
func (r *Reader) Array(item func()) {
	if r.next() != '[' {
		r.Fail("want an array")
		return
	}
	r.at++
	for c := r.next(); c != ']' && c != 0; c = r.next() {
		item()
	}
	r.at++
}

// List reads an array of values of one type. The list is never nil.
func List[T any](r *Reader, item func() T) []T {
	list := make([]T, 0, 4) // most lists have an entry for each seat
	r.Array(func() { list = append(list, item()) })
	return list
}

// Raw returns the next value exactly as written in the text.
func (r *Reader) Raw() string {
	if r.next() == 0 {
		return ""
	}
	from := r.at
	r.skip()
	return r.text[from:min(r.at, len(r.text))]
}

// The method skip() skips a value. Because no caller reads the value, the method does
// not look for duplicate keys inside.
func (r *Reader) skip() {
	switch r.next() {
	case 0:
	case '{', '[':
		r.skipNested()
	case '"':
		r.at += quotedLen(r.text[r.at:])
	default:
		r.at += scalarLen(r.text[r.at:])
	}
}

func (r *Reader) skipNested() {
	depth := 0
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				r.at++
				return
			}
		case '"':
			r.at += quotedLen(r.text[r.at:]) - 1
		}
		r.at++
	}
}

// The method null() reports whether the next value is null. If so, it skips the value.
func (r *Reader) null() bool {
	if r.next() != 'n' {
		return false
	}
	r.at += len("null")
	return true
}

// Text reads a string.
func (r *Reader) Text() string {
	if r.next() != '"' {
		r.Fail("want a string")
		return ""
	}
	// Most strings contain no escape, so they end at the next quote.
	rest := r.text[r.at+1:]
	if end := strings.IndexByte(rest, '"'); strings.IndexByte(rest[:end], '\\') < 0 {
		r.at += end + 2
		return rest[:end]
	}
	raw := r.quoted(false)
	if r.err != nil {
		return ""
	}
	return Unquote(raw)
}

// The method quoted() reads a string and returns it, including its quotes.
func (r *Reader) quoted(halfPairs bool) string {
	raw := r.text[r.at : r.at+quotedLen(r.text[r.at:])]
	r.at += len(raw)
	if !halfPairs && halfPair(raw) && r.err == nil {
		r.err = ErrSurrogate
	}
	return raw
}

// maxInt is the largest integer that a Reader accepts. Programs in other
// languages round larger integers.
const maxInt = 1 << 53

// Integer reads an integer from 0 to 2⁵³.
func (r *Reader) Integer() int {
	if c := r.next(); c < '0' || c > '9' {
		r.Fail("want an integer of at least 0")
		return 0
	}
	from := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	v, err := strconv.ParseInt(r.text[from:r.at], 10, 64)
	if err != nil || v > maxInt || r.at < len(r.text) && strings.IndexByte(".eE", r.text[r.at]) >= 0 {
		r.Fail("want an integer from 0 to 2⁵³")
		return 0
	}
	return int(v)
}

// Number reads any number.
func (r *Reader) Number() float64 {
	c := r.next()
	if c != '-' && (c < '0' || c > '9') {
		r.Fail("want a number")
		return 0
	}
	raw := r.Raw()
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		r.Fail("%q is too large a number", raw)
	}
	return v
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	c := r.next()
	if c != 't' && c != 'f' {
		r.Fail("want true or false")
		return false
	}
	r.skip()
	return c == 't'
}
