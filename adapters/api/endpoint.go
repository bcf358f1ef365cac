package api

import (
	"cmp"
	"net/http"
	"reflect"
	"strings"

	"github.com/labstack/echo/v4"

	"hexarena/adapters/api/binding"
	"hexarena/adapters/api/describe"
	"hexarena/adapters/api/problem"
	"hexarena/adapters/api/ratelimit"
	"hexarena/domain/owner"
)

// endpoint is one route. In is a struct: its fields tagged `path` and `query`
// are the request's parameters (see binding.Binding), and its field Body, if it
// has one, is the JSON object that the request must have. Out is encoded as
// JSON, unless it is an answer.
type endpoint[In, Out any] struct {
	id, method, path string // the path as OpenAPI writes it: /bots/{id}
	tag, summary     string
	status           int              // of the answer; 0: 200, or 204 for nothing
	scope            owner.Scope      // that the caller needs; empty: anyone may call
	session          bool             // the caller needs a session
	forms            bool             // described as taking HTML forms as well as JSON: the pages turn them into calls
	hidden           bool             // left out of the description
	stream           bool             // the answer does not end; the number of them for each address is limited
	etag             bool             // some answers have an ETag
	dials            func(*call) bool // whether a call makes the arena connect to a bot; nil: never

	// find returns an error if a resource of the path does not exist (404). It
	// runs before invalid fields are refused (422). It may be nil.
	find func(*call, *In) error
	run  func(*call, *In) (Out, error)

	media []describe.Media // of an answer that is not encoded from Out
}

// register adds a route and its description.
func register[In, Out any](s *Server, e endpoint[In, Out]) {
	b := binding.Of(reflect.TypeFor[In]())
	var out Out
	shape := reflect.TypeFor[Out]()
	switch out := any(out).(type) {
	case interface{ shape() reflect.Type }:
		shape = out.shape()
	case answer:
		shape = nil
	}
	if e.status == 0 {
		e.status = http.StatusOK
		if shape == nil && e.media == nil {
			e.status = http.StatusNoContent
		}
	}
	if !e.hidden {
		s.description.Add(describe.Operation{
			ID: e.id, Method: e.method, Path: e.path, Tag: e.tag, Summary: e.summary, Status: e.status,
			Request: b, Answer: shape, Media: e.media, Scope: e.scope, Session: e.session, Forms: e.forms, ETag: e.etag,
		})
	}
	s.echo.Add(e.method, strings.NewReplacer("{", ":", "}", "").Replace(e.path), func(ec echo.Context) error {
		c := s.newCall(ec)
		defer c.cancel()
		if err := e.serve(c, b); err != nil {
			s.refuse(ec, err)
		}
		return nil
	})
}

// serve answers a call. If several errors apply, docs/protocol.md, "Order of
// errors", decides which one it returns.
func (e *endpoint[In, Out]) serve(c *call, b binding.Binding) error {
	early := c.server.crossSite.Check(c.request)
	if early != nil {
		early = problem.ErrCrossSite
	} else {
		early = c.readBody()
	}
	c.class = e.class(c)
	counted, limited := c.countAddress()
	if e.stream && early == nil && limited == nil {
		var closed func()
		if closed, limited = c.server.limiter.OpenStream(c.request); limited == nil {
			defer closed()
		}
	}
	if err := cmp.Or(early, limited); err != nil {
		return err
	}
	if err := e.authorize(c, counted); err != nil {
		return err
	}
	fields, err := c.bodyObject(b.BodyField != nil)
	if err != nil {
		return err
	}
	var in In
	invalid := b.Bind(reflect.ValueOf(&in).Elem(), c.echo.Param, c.request.URL.RawQuery, fields)
	if e.find != nil {
		if err := e.find(c, &in); err != nil {
			return err
		}
	}
	if invalid != nil {
		return invalid
	}
	out, err := e.run(c, &in)
	if err != nil {
		return err
	}
	return c.answer(e.status, out)
}

// class returns the limits that a call counts against.
func (e *endpoint[In, Out]) class(c *call) ratelimit.Class {
	class := ratelimit.AnyCall
	if e.method != http.MethodGet {
		class |= ratelimit.Write
	}
	if e.readsMatches() {
		class |= ratelimit.MatchRead
	}
	if e.dials != nil && e.dials(c) {
		class |= ratelimit.Registration
	}
	return class
}

func (e *endpoint[In, Out]) readsMatches() bool {
	return strings.HasPrefix(e.path, "/matches") || strings.HasPrefix(e.path, "/live") ||
		strings.HasSuffix(e.path, "/history") || strings.HasSuffix(e.path, "/decisions")
}

// always is for an endpoint whose every call makes the arena connect to a bot.
func always(*call) bool { return true }

// authorize identifies the caller, if the endpoint is not for everyone, and
// checks what the caller may do. An identified call counts against the account,
// no longer against the address.
func (e *endpoint[In, Out]) authorize(c *call, atAddress ratelimit.Counted) error {
	if e.scope == "" && !e.session {
		return nil
	}
	caller, err := c.server.Auth.Verify(c.ctx, c.received(), c.body, c.meta)
	if err != nil {
		return err
	}
	c.caller = caller
	limited := c.countAccount(atAddress)
	switch {
	case e.session && caller.Session == "":
		return problem.ErrSessionNeeded
	case e.scope != "" && !caller.May(e.scope):
		return problem.WithDetail(problem.ErrScopeMissing, "the key lacks the scope "+string(e.scope))
	case e.scope != "" && e.method != http.MethodGet && caller.Suspended:
		return owner.ErrOwnerSuspended
	}
	return limited
}
