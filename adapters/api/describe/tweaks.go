package describe

import (
	"github.com/danielgtaylor/huma/v2"

	"hexarena/domain/ladder"
)

// tweak adds to the schema of a property what its Go type does not express.
type tweak func(*huma.Schema)

func number(n float64) *float64 { return &n }

func between(low, high float64) tweak {
	return func(s *huma.Schema) { s.Minimum, s.Maximum = &low, &high }
}

func atLeast(low float64) tweak { return func(s *huma.Schema) { s.Minimum = &low } }

func oneOf(values ...any) tweak { return func(s *huma.Schema) { s.Enum = values } }

func about(text string) tweak { return func(s *huma.Schema) { s.Description = text } }

func format(name string) tweak { return func(s *huma.Schema) { s.Format = name } }

// items tweaks the items of an array.
func items(t ...tweak) tweak {
	return func(s *huma.Schema) {
		for _, tweak := range t {
			tweak(s.Items)
		}
	}
}

// sized bounds the length of an array, or of a string in code points.
func sized(low, high int) tweak {
	return func(s *huma.Schema) {
		if s.Type == huma.TypeString {
			s.MaxLength = &high
			return
		}
		s.MinItems, s.MaxItems = &low, &high
	}
}

// orNull allows null.
func orNull(s *huma.Schema) {
	if s.Ref != "" {
		s.OneOf, s.Ref = []*huma.Schema{{Ref: s.Ref}, {Type: "null"}}, ""
		return
	}
	s.Nullable = true
}

// enumOrNull allows a closed set of values and null.
func enumOrNull(values ...any) tweak {
	return func(s *huma.Schema) { s.Enum, s.Nullable = append(values, nil), true }
}

// is replaces the schema by a named one.
func is(name string) tweak { return func(s *huma.Schema) { *s = *ref(name) } }

var (
	aSeat    = between(0, 3)
	aVertex  = between(0, 53)
	anEdge   = between(0, 71)
	aHex     = between(0, 18)
	bySeat   = sized(3, 4)
	aTime    = format("date-time")
	aMode    = oneOf(ladder.Standard, ladder.Parley)
	aKind    = oneOf("setup", "turn", "discard", "bandit", "trade")
	someDevs = items(oneOf("knight", "victory_point", "roadworks", "windfall", "embargo"))
)
