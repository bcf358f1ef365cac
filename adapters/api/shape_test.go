package api_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// shape checks a decoded JSON value. Its error says what is wrong and where.
type shape func(v any) error

// object requires an object with exactly these fields. A field whose name ends in ? may
// be absent.
func object(fields map[string]shape) shape {
	return func(v any) error {
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("is %T, not an object", v)
		}
		left := maps.Clone(m)
		for name, s := range fields {
			name, optional := strings.CutSuffix(name, "?")
			value, there := m[name]
			if delete(left, name); !there && optional {
				continue
			} else if !there {
				return fmt.Errorf(".%s is missing", name)
			}
			if err := s(value); err != nil {
				return fmt.Errorf(".%s%w", name, err)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf(" has unknown fields %v", slices.Sorted(maps.Keys(left)))
		}
		return nil
	}
}

// The function with() returns the union of two sets of fields.
func with(fields, more map[string]shape) map[string]shape {
	all := maps.Clone(fields)
	maps.Copy(all, more)
	return all
}

func list(item shape) shape {
	return func(v any) error {
		l, ok := v.([]any)
		if !ok {
			return fmt.Errorf(" is %T, not a list", v)
		}
		for i, value := range l {
			if err := item(value); err != nil {
				return fmt.Errorf("[%d]%w", i, err)
			}
		}
		return nil
	}
}

// listOf requires a list of one of the given lengths, in which every item has
// the given shape.
func listOf(item shape, lengths ...int) shape {
	return func(v any) error {
		if err := list(item)(v); err != nil {
			return err
		}
		if n := len(v.([]any)); !slices.Contains(lengths, n) {
			return fmt.Errorf(" has %d entries, not %v", n, lengths)
		}
		return nil
	}
}

func null(v any) error {
	if v != nil {
		return fmt.Errorf(" is %v, not null", v)
	}
	return nil
}

func orNull(s shape) shape {
	return func(v any) error {
		if v == nil {
			return nil
		}
		return s(v)
	}
}

// oneDecimal requires a rating in the format that responses use.
func oneDecimal(v any) error {
	f, ok := v.(float64)
	if !ok || math.Round(f*10)/10 != f {
		return fmt.Errorf(" is %v, not a number with one decimal", v)
	}
	return nil
}

func integer(low, high int) shape {
	return func(v any) error {
		f, ok := v.(float64)
		if !ok || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
			return fmt.Errorf(" is %v, not an integer of %d to %d", v, low, high)
		}
		return nil
	}
}

func boolean(v any) error {
	if _, ok := v.(bool); !ok {
		return fmt.Errorf(" is %T, not a boolean", v)
	}
	return nil
}

func text(v any) error {
	if _, ok := v.(string); !ok {
		return fmt.Errorf(" is %T, not a string", v)
	}
	return nil
}

func matching(pattern string) shape {
	re := regexp.MustCompile("^(?:" + pattern + ")$")
	return func(v any) error {
		if s, ok := v.(string); !ok || !re.MatchString(s) {
			return fmt.Errorf(" is %v, not like %s", v, pattern)
		}
		return nil
	}
}

func oneOf(values ...string) shape { return matching(strings.Join(values, "|")) }

// The function either() requires that a value has one of several shapes. If the value
// has none of them, the error is that of the last shape.
func either(shapes ...shape) shape {
	return func(v any) error {
		var err error
		for _, s := range shapes {
			if err = s(v); err == nil {
				return nil
			}
		}
		return err
	}
}
