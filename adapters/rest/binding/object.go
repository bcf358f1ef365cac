package binding

import (
	"encoding/json"
	"errors"

	"hexarena/adapters/rest/problem"
	"hexarena/domain/strictjson"
)

// maxDepth is the maximum nesting depth of a body's JSON.
const maxDepth = 16

// Object is a JSON object whose values are not decoded yet. nil stands for a
// JSON value that is not an object.
type Object map[string]json.RawMessage

// ParseObject parses a body that is one JSON value without duplicate keys at
// any depth. It returns nil for a value that is not an object. An error matches
// problem.ErrMalformed.
func ParseObject(body []byte) (Object, error) {
	v, err := strictjson.Parse(body, strictjson.Options{MaxDepth: maxDepth, HalfPairs: true})
	var twice strictjson.DuplicateKeyError
	switch {
	case errors.As(err, &twice):
		return nil, problem.WithDetail(problem.ErrMalformed, twice.Error())
	case err != nil:
		return nil, problem.WithDetail(problem.ErrMalformed, "the body is "+err.Error())
	case v.Kind() != '{':
		return nil, nil
	}
	o := Object{}
	for _, m := range v.Members {
		o[m.Key] = json.RawMessage(m.Raw)
	}
	return o, nil
}
