package api

import (
	"context"
	"fmt"
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
	// A request's body must arrive within bodyTime. After that, the handler has
	// answerTime to do its work, or callTime if it may dial a bot. The client has
	// readTime to read the response.
	bodyTime   = 10 * time.Second
	answerTime = 4500 * time.Millisecond
	callTime   = 30 * time.Second
	readTime   = 30 * time.Second
)

// call is one request in progress.
type call struct {
	server   *Server
	endpoint *endpoint
	echo     echo.Context
	request  *http.Request
	ctx      context.Context
	cancel   context.CancelFunc
	meta     eventstore.Metadata // metadata of the events that the call causes; At is the current time
	body     []byte
	class    ratelimit.Class // the limits that the call counts against

	caller  owner.Caller  // empty if anyone may call the endpoint
	account owner.Account // the caller's account, if find loaded it

	closeStream func() // set if the response is a stream
	endTurn     func() // set by heavy
}

func (s *Server) newCall(c echo.Context, e *endpoint) *call {
	call := &call{
		server: s, endpoint: e, echo: c, request: c.Request(), cancel: func() {},
		meta: eventstore.Metadata{At: s.Now(), Correlation: c.Response().Header().Get(rest.HeaderRequestID)},
	}
	call.startTimer()
	return call
}

// startTimer begins the time that the handler has for its work.
func (c *call) startTimer() {
	limit := answerTime
	if c.endpoint.dials != nil {
		limit = callTime
	}
	c.cancel()
	c.ctx, c.cancel = context.WithTimeout(c.request.Context(), limit)
}

// end releases the call's resources.
func (c *call) end() {
	c.cancel()
	c.giveUpTurn()
	if c.closeStream != nil {
		c.closeStream()
	}
}

// giveUpTurn ends the call's turn. Call it before writing the response, because a slow
// client could otherwise occupy the turn.
func (c *call) giveUpTurn() {
	if c.endTurn != nil {
		c.endTurn()
		c.endTurn = nil
	}
}

// The method received() returns the request with the method that the caller sent and
// signed. It differs from c.request only for a HEAD request, where c.request has the
// method GET.
func (c *call) received() *http.Request {
	if !isHead(c.request.Context()) {
		return c.request
	}
	r := c.request.WithContext(c.request.Context())
	r.Method = http.MethodHead
	return r
}

// header returns the header of the response.
func (c *call) header() http.Header { return c.echo.Response().Header() }

func (c *call) setCookies(cookies ...*http.Cookie) {
	for _, cookie := range cookies {
		c.header().Add("Set-Cookie", cookie.String())
	}
}

// countAddress counts the call against the caller's address. The server calls it before
// it verifies any part of the call.
func (c *call) countAddress() (ratelimit.Counted, error) {
	if c.isInternalRead() {
		return ratelimit.Counted{}, nil
	}
	return c.server.limiter.CountAddress(c.header(), c.request, c.class, 1)
}

// The method heavy() counts an expensive call as n additional calls, and waits for its
// turn. Handlers call it before the expensive part. The call counts against the account
// if the endpoint needs credentials, and otherwise against the address. The OpenAPI
// document describes the refusals of endpoints that are declared heavy, so heavy fails
// for every other endpoint.
func (c *call) heavy(n int) (err error) {
	if !c.endpoint.heavy {
		return fmt.Errorf("the endpoint %s is not declared heavy", c.endpoint.id)
	}
	if n == 0 || c.isInternalRead() {
		return nil
	}
	if c.caller.OwnerID != "" {
		err = c.server.limiter.CountMore(c.header(), c.caller.OwnerID, c.class, n)
	} else {
		_, err = c.server.limiter.CountAddress(c.header(), c.request, c.class, n)
	}
	if err == nil && c.endTurn == nil {
		c.endTurn, err = c.server.Turn(c.ctx)
	}
	return err
}

// countAccount counts a verified call against the caller's account instead of the
// caller's address.
func (c *call) countAccount(atAddress ratelimit.Counted) error {
	if c.isInternalRead() {
		return nil
	}
	return c.server.limiter.CountAccount(c.header(), c.caller.OwnerID, c.class, atAddress)
}

// readBody stores the body exactly as received. It clears the read deadline (see
// prepare) only after it has read the whole body. If readBody refuses the body,
// net/http still reads the remaining bytes, so the deadline must stay.
func (c *call) readBody() error {
	w := c.echo.Response().Writer
	body, err := binding.ReadBody(w, c.request)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // fails only for test writers that do not support deadlines
	c.body = body
	c.startTimer()
	return nil
}

// bodyObject parses the body as a JSON object. GET and DELETE do not accept a body.
// POST and PATCH need a body only if required is true.
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
