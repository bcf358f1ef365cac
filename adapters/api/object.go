package api

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"hexarena/domain/strictjson"
)

// maxDepth is how deep a body's JSON may nest.
const maxDepth = 16

// object is a JSON object whose values are not decoded yet. nil stands for a
// value that is no object.
type object map[string]json.RawMessage

// fields reads the body's object: 415 and 400 are decided here. A body that an
// endpoint has no use for must be absent, or on a POST or PATCH an object.
func (c *call) fields(hasBody bool) (object, error) {
	if method := c.request.Method; method == http.MethodGet || method == http.MethodDelete {
		if len(c.body) > 0 {
			return nil, errUnexpectedBody
		}
		return object{}, nil
	}
	if len(c.body) == 0 && !hasBody {
		return object{}, nil
	}
	kind, err := c.mediaType()
	switch {
	case err != nil:
		return nil, err
	case kind == "application/json":
		return parseObject(c.body)
	}
	return nil, &detailed{errMediaType, "the content type must be application/json"}
}

// mediaType is the body's content type without parameters. JSON is UTF-8
// here, and not compressed.
func (c *call) mediaType() (string, error) {
	h := c.request.Header
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", &detailed{errMediaType, "bodies must not be compressed"}
	}
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || len(h.Values("Content-Type")) > 1 {
		return "", &detailed{errMediaType, "the content type is missing or malformed"}
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", &detailed{errMediaType, "the character set must be UTF-8"}
	}
	return kind, nil
}

// parseObject reads a body of one JSON value, without duplicate keys anywhere.
// It returns nil for a value that is not an object.
func parseObject(body []byte) (object, error) {
	v, err := strictjson.Parse(body, strictjson.Options{MaxDepth: maxDepth, HalfPairs: true})
	var twice strictjson.DuplicateKeyError
	switch {
	case errors.As(err, &twice):
		return nil, &detailed{errMalformed, twice.Error()}
	case err != nil:
		return nil, &detailed{errMalformed, "the body is " + err.Error()}
	case v.Kind() != '{':
		return nil, nil
	}
	o := object{}
	for _, m := range v.Members {
		o[m.Key] = json.RawMessage(m.Raw)
	}
	return o, nil
}
