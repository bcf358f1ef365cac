package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest"
	"hexarena/adapters/rest/binding"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

const (
	// A request's body must arrive within bodyTime. The work on the answer may
	// take callTime, and the client has readTime to read the answer.
	bodyTime = 10 * time.Second
	callTime = 30 * time.Second
	readTime = 30 * time.Second
)

// call is one request in progress.
type call struct {
	server  *Server
	echo    echo.Context
	request *http.Request
	ctx     context.Context
	cancel  context.CancelFunc
	meta    eventstore.Metadata // of the events that the call causes; At is the current time
	body    []byte
	class   ratelimit.Class // the limits that the call counts against

	caller  owner.Caller  // not set if anyone may call the endpoint
	account owner.Account // the caller's, if find loaded it

	closeStream func() // set if the answer is a stream
}

func (s *Server) newCall(c echo.Context) *call {
	ctx, cancel := context.WithTimeout(c.Request().Context(), callTime)
	return &call{
		server: s, echo: c, request: c.Request(), ctx: ctx, cancel: cancel,
		meta: eventstore.Metadata{At: s.Now(), Correlation: c.Response().Header().Get(rest.HeaderRequestID)},
	}
}

// end releases the call's resources.
func (c *call) end() {
	c.cancel()
	if c.closeStream != nil {
		c.closeStream()
	}
}

// received returns the request with the method that the caller sent and signed.
// The method differs if the request is a HEAD, which is served as GET.
func (c *call) received() *http.Request {
	if !isHead(c.request.Context()) {
		return c.request
	}
	r := c.request.WithContext(c.request.Context())
	r.Method = http.MethodHead
	return r
}

// header returns the header of the answer.
func (c *call) header() http.Header { return c.echo.Response().Header() }

// countAddress counts the call against its address, before any part of the call
// is verified.
func (c *call) countAddress() (ratelimit.Counted, error) {
	if c.isInternalRead() {
		return ratelimit.Counted{}, nil
	}
	return c.server.limiter.CountAddress(c.header(), c.request, c.class)
}

// countAccount counts a verified call against the caller's account instead of
// its address.
func (c *call) countAccount(atAddress ratelimit.Counted) error {
	if c.isInternalRead() {
		return nil
	}
	return c.server.limiter.CountAccount(c.header(), c.caller.OwnerID, c.class, atAddress)
}

// readBody returns the body exactly as received. It clears the read deadline
// (see prepare) only after it has read the whole body. If it refuses a body,
// net/http still reads the rest, before and after the answer.
func (c *call) readBody() error {
	w := c.echo.Response().Writer
	body, err := binding.ReadBody(w, c.request)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // some writers in tests do not support deadlines
	c.body = body
	return nil
}

// bodyObject parses the body. GET and DELETE accept no body. A POST or PATCH
// may leave the body out if the endpoint does not need one.
func (c *call) bodyObject(required bool) (binding.Object, error) {
	if method := c.request.Method; method == http.MethodGet || method == http.MethodDelete {
		if len(c.body) > 0 {
			return nil, problem.ErrUnexpectedBody
		}
		return binding.Object{}, nil
	}
	if len(c.body) == 0 && !required {
		return binding.Object{}, nil
	}
	return binding.ParseBody(c.request.Header, c.body)
}
