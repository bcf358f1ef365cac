package strictjson

import "slices"

// Value is one JSON value.
type Value struct {
	Raw     string   // exactly as written in the text
	Members []Member // members of an object, in the order of the text
	Items   []Value  // of an array
}

// Member is a key of an object and its value.
type Member struct {
	Key string
	Value
}

// Kind returns the first byte of the value, which is one of { [ " t f n - or a digit.
func (v Value) Kind() byte { return v.Raw[0] }

// Get returns the value of the member with the given key.
func (v Value) Get(key string) (Value, bool) {
	for _, m := range v.Members {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Options are the limits of Parse.
type Options struct {
	MaxDepth  int  // of nested objects and arrays
	HalfPairs bool // accept escapes of half a surrogate pair
}

// Parse reads exactly one value. If text is not JSON, the error is ErrEmpty,
// ErrNotUTF8 or ErrSyntax.
func Parse(text []byte, o Options) (Value, error) {
	p := parser{Reader: Reader{text: string(text)}, options: o}
	if err := check(p.text); err != nil {
		return Value{}, err
	}
	v := p.value(0)
	return v, p.err
}

type parser struct {
	Reader
	options Options
}

func (p *parser) value(depth int) (v Value) {
	first := p.next()
	from := p.at
	switch first {
	case 0:
	case '{':
		v.Members = p.members(depth + 1)
	case '[':
		v.Items = p.items(depth + 1)
	case '"':
		p.quoted(p.options.HalfPairs)
	default:
		p.skip()
	}
	if p.err == nil {
		v.Raw = p.text[from:p.at]
	}
	return v
}

// enter consumes the bracket that opens an object or array.
func (p *parser) enter(depth int) {
	if depth > p.options.MaxDepth {
		p.Fail("%w %d", ErrTooDeep, p.options.MaxDepth)
	}
	p.at++
}

func (p *parser) members(depth int) (list []Member) {
	p.enter(depth)
	list = make([]Member, 0, 4) // enough for most objects
	var seen keys
	for c := p.next(); c != '}' && c != 0; c = p.next() {
		key := Unquote(p.quoted(p.options.HalfPairs))
		if p.err == nil && seen.add(key, list) {
			p.err = DuplicateKeyError(key)
		}
		list = append(list, Member{key, p.value(depth)})
	}
	p.at++
	return list
}

func (p *parser) items(depth int) (list []Value) {
	p.enter(depth)
	for c := p.next(); c != ']' && c != 0; c = p.next() {
		list = append(list, p.value(depth))
	}
	p.at++
	return list
}

// The type keys finds duplicate keys. In a short list, it scans all keys. For a long
// list, which only a hostile text contains, it uses a map.
type keys map[string]bool

const fewKeys = 16

// add reports whether the key is in list or was added by an earlier call.
func (k *keys) add(key string, list []Member) bool {
	if len(list) < fewKeys {
		return slices.ContainsFunc(list, func(m Member) bool { return m.Key == key })
	}
	if *k == nil {
		*k = keys{}
		for _, m := range list {
			(*k)[m.Key] = true
		}
	}
	found := (*k)[key]
	(*k)[key] = true
	return found
}
