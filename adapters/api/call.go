package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/labstack/echo/v4"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

const (
	// maxBody is how many bytes a body may have.
	maxBody = 64 << 10
	// bodyTime is how long a body may take to come, callTime how long the work
	// on an answer, and takeTime how long its reader may take to take it.
	bodyTime = 10 * time.Second
	callTime = 30 * time.Second
	takeTime = 30 * time.Second
)

// call is one request on its way to its answer.
type call struct {
	server  *Server
	echo    echo.Context
	request *http.Request
	ctx     context.Context
	cancel  context.CancelFunc
	meta    eventstore.Metadata // of the events that the call causes; At is now
	body    []byte
	address addressKey
	class   class // what the call counts against

	caller  owner.Caller  // where the endpoint is not for everyone
	account owner.Account // the caller's, where find loaded it
}

func (s *Server) newCall(c echo.Context) *call {
	ctx, cancel := context.WithTimeout(c.Request().Context(), callTime)
	return &call{
		server: s, echo: c, request: c.Request(), ctx: ctx, cancel: cancel,
		meta: eventstore.Metadata{At: s.Now(), Correlation: c.Response().Header().Get(headerRequestID)},
	}
}

// received is the request with the method that its caller sent, and signed: a
// HEAD is served as GET.
func (c *call) received() *http.Request {
	if !isHead(c.request.Context()) {
		return c.request
	}
	r := c.request.WithContext(c.request.Context())
	r.Method = http.MethodHead
	return r
}

// header is that of the answer.
func (c *call) header() http.Header { return c.echo.Response().Header() }

// readBody reads the body as it was received. Only one that came whole takes
// away its deadline (prepare): what is left of a refused one is read by
// net/http, before it answers and after.
func (c *call) readBody() error {
	if c.request.ContentLength > maxBody {
		return errBodyTooLarge
	}
	w := c.echo.Response().Writer
	body, err := io.ReadAll(http.MaxBytesReader(w, c.request.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return errBodyTooLarge
	case err != nil:
		return &detailed{errMalformed, "the body could not be read to its end"}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // not every test's writer has one
	c.body = body
	return nil
}

// answer writes out's Body as JSON, or as the document that it is.
func (c *call) answer(status int, out any) error {
	w := c.echo.Response()
	if p, ok := out.(interface{ prepared() prepared }); ok && p.prepared() != nil {
		p.prepared().write(c, status)
		return nil
	}
	body := reflect.ValueOf(out).Elem().FieldByName("Body")
	if !body.IsValid() {
		w.WriteHeader(status)
		return nil
	}
	switch body := body.Interface().(type) {
	case document:
		c.writeDocument(status, body)
		return nil
	case stream:
		body.serve(c)
		return nil
	}
	encoded, err := json.Marshal(body.Interface())
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	if c.compresses(len(encoded)) {
		writeCompressed(w, status, encoded)
		return nil
	}
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // who went away needs no answer
	return nil
}
