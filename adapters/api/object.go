package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
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
// A value that is no object is nil.
func parseObject(body []byte) (object, error) {
	if err := checkJSON(body); err != nil {
		return nil, &detailed{errMalformed, err.Error()}
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); trimmed[0] != '{' {
		return nil, nil
	}
	o := object{}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, &detailed{errMalformed, "the body is not valid JSON"}
	}
	return o, nil
}

var errNotJSON = errors.New("the body is not valid JSON")

// checkJSON says what keeps a body from being one JSON value whose objects name
// each key once.
func checkJSON(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("the body is not valid UTF-8")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return errors.New("the body is empty")
	}
	if !json.Valid(body) {
		return errNotJSON
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := checkValue(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errNotJSON
	}
	return nil
}

func checkValue(d *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the body nests deeper than %d", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return errNotJSON
	}
	switch token {
	case json.Delim('{'):
		return checkKeys(d, depth)
	case json.Delim('['):
		for d.More() {
			if err := checkValue(d, depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

func checkKeys(d *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return errNotJSON
		}
		key, _ := token.(string)
		if seen[key] {
			return fmt.Errorf("the key %q is given twice", key)
		}
		seen[key] = true
		if err := checkValue(d, depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
