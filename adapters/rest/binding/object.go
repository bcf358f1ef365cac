package binding

import (
	"encoding/json"
	"errors"

	"hexarena/adapters/rest/problem"
	"hexarena/domain/strictjson"
)

// maxDepth is the maximum nesting depth of a body's JSON.
const maxDepth = 16

// Object is a JSON object whose values are not decoded yet. It is nil for a
// JSON value that is not an object.
type Object map[string]json.RawMessage

// ParseObject parses a body. The body must be a single JSON value, in which no object
// has duplicate keys; otherwise, the error matches problem.ErrMalformed. If the value
// is not an object, ParseObject returns nil.
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
