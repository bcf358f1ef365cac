package api

import (
	"reflect"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/httpgzip"
)

// answer is the result of an endpoint that writes its own response. All other results
// are encoded as JSON.
type answer interface {
	write(c *call, status int)
}

// The type nothing stands for a response without a body, or for an input without
// fields.
type nothing struct{}

func (nothing) write(c *call, status int) { c.echo.Response().WriteHeader(status) }

// maybeEncoded is a response of type T that may already be encoded.
type maybeEncoded[T any] struct {
	encoded answer // if nil, value is the response
	value   T
}

// shape returns the type that describes the response in the OpenAPI document.
func (maybeEncoded[T]) shape() reflect.Type { return reflect.TypeFor[T]() }

func (m maybeEncoded[T]) result() any {
	if m.encoded != nil {
		return m.encoded
	}
	return m.value
}

// encodedJSON is a JSON response that was encoded for one call. The response to a later
// call may be different.
type encodedJSON []byte

func (e encodedJSON) write(c *call, status int) {
	w := c.echo.Response()
	w.Header().Set("Content-Type", "application/json")
	if c.compresses(len(e)) {
		httpgzip.Answer(w, status, e)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(e) // the client may be gone
}

// The type lines is a response with one line of JSON for each value of type T.
type lines[T any] struct{ encoded []byte }

func newLines[T any](values []T) (lines[T], error) {
	var b []byte
	for _, v := range values {
		encoded, err := encodeJSON(v)
		if err != nil {
			return lines[T]{}, err
		}
		b = append(append(b, encoded...), '\n')
	}
	return lines[T]{b}, nil
}

// shape returns the type of one line.
func (lines[T]) shape() reflect.Type { return reflect.TypeFor[T]() }

func (l lines[T]) write(c *call, status int) {
	w := c.echo.Response()
	w.Header().Set("Content-Type", rest.LinesType)
	w.WriteHeader(status)
	_, _ = w.Write(l.encoded) // the client may be gone
}

// answer writes the result of an endpoint as the response.
func (c *call) answer(status int, out any) error {
	if m, ok := out.(interface{ result() any }); ok {
		out = m.result()
	}
	if a, ok := out.(answer); ok {
		a.write(c, status)
		return nil
	}
	encoded, err := encodeJSON(out)
	if err != nil {
		return err
	}
	encodedJSON(encoded).write(c, status)
	return nil
}

// The method compresses() reports whether to compress a response of size bytes.
// Responses to identified callers are never compressed, because the compressed length
// could reveal secrets in the response.
func (c *call) compresses(size int) bool {
	if c.caller.OwnerID != "" || size < httpgzip.MinSize {
		return false
	}
	c.header().Add("Vary", "Accept-Encoding")
	return httpgzip.Accepted(c.request.Header)
}
