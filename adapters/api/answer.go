package api

import (
	"encoding/json"
	"fmt"
	"reflect"

	"hexarena/adapters/rest/httpgzip"
)

// answer is a result of an endpoint that writes itself. Other results are
// encoded as JSON.
type answer interface {
	write(c *call, status int)
}

// nothing is the answer without a body, and the input without fields.
type nothing struct{}

func (nothing) write(c *call, status int) { c.echo.Response().WriteHeader(status) }

// maybeEncoded is an answer of type T that may be encoded already.
type maybeEncoded[T any] struct {
	encoded answer // nil: value is the answer
	value   T
}

// shape returns the type that the description shows.
func (maybeEncoded[T]) shape() reflect.Type { return reflect.TypeFor[T]() }

func (m maybeEncoded[T]) result() any {
	if m.encoded != nil {
		return m.encoded
	}
	return m.value
}

// encodedJSON is an answer that is encoded already, and may differ next time.
type encodedJSON []byte

func (e encodedJSON) write(c *call, status int) {
	w := c.echo.Response()
	w.Header().Set("Content-Type", "application/json")
	if c.compresses(len(e)) {
		httpgzip.Answer(w, status, e)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(e) // a client that left needs no answer
}

// answer writes the result of an endpoint.
func (c *call) answer(status int, out any) error {
	if m, ok := out.(interface{ result() any }); ok {
		out = m.result()
	}
	if a, ok := out.(answer); ok {
		a.write(c, status)
		return nil
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	encodedJSON(encoded).write(c, status)
	return nil
}

// compresses reports whether an answer of size bytes is compressed. An answer to
// an identified caller never is: its length would tell about its secrets.
func (c *call) compresses(size int) bool {
	if c.caller.OwnerID != "" || size < httpgzip.MinSize {
		return false
	}
	c.header().Add("Vary", "Accept-Encoding")
	return httpgzip.Accepted(c.request.Header)
}
