package api

import (
	"cmp"
	"net/http"
	"reflect"
	"strings"

	"github.com/labstack/echo/v4"

	"hexarena/adapters/api/describe"
	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest/binding"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
)

// endpoint is one route.
type endpoint struct {
	id      string
	route   string           // method and path, such as GET /bots/{id}; a final {path...} matches several segments
	status  int              // status of the response; 0 means 200, or 204 for a response without a body
	scope   owner.Scope      // the scope that the caller needs; empty if anyone may call
	session bool             // whether the caller needs a session
	forms   bool             // whether the description also lists HTML forms, which the web pages turn into calls
	hidden  bool             // whether the description leaves it out
	etag    bool             // whether some responses have an ETag
	text    string           // the content type of the response if the response is text
	dials   func(*call) bool // whether a call makes the arena connect to a bot; nil means never
	heavy   bool             // whether some calls are expensive; only then may the handler call call.heavy

	// register sets the fields below.
	method, path string
	stream       bool // whether the response is a stream; each address may have only a limited number of open streams
}

// finder is an input whose path parameters name a resource. If the resource does not
// exist, find returns an error, which leads to a 404. The server calls find before it
// checks for invalid fields (422).
type finder interface{ find(c *call) error }

// register adds a route and its description. In is a struct. Its fields with the tags
// `path` and `query` are the request's parameters (see binding.Binding). If In has a
// field Body, the request's body must be a JSON object of that type. Out is encoded as
// JSON unless it implements answer.
func register[In, Out any](s *Server, e endpoint, run func(*call, *In) (Out, error)) {
	e.method, e.path, _ = strings.Cut(e.route, " ")
	rest := restOf(e.path)
	pattern := strings.NewReplacer("{"+rest+"...}", "*", "{", ":", "}", "").Replace(e.path)
	e.path = strings.Replace(e.path, "...}", "}", 1) // as OpenAPI writes it
	b := binding.Of(reflect.TypeFor[In]())
	var out Out
	_, e.stream = any(out).(stream)
	shape := reflect.TypeFor[Out]()
	if shaped, ok := any(out).(interface{ shape() reflect.Type }); ok {
		shape = shaped.shape()
	}
	if shape.Implements(reflect.TypeFor[answer]()) {
		shape = nil
	}
	switch {
	case e.status != 0:
	case shape == nil && e.text == "":
		e.status = http.StatusNoContent
	default:
		e.status = http.StatusOK
	}
	if !e.hidden {
		s.description.Add(describe.Operation{
			ID: e.id, Method: e.method, Path: e.path, Status: e.status, Request: b, Answer: shape, Text: e.text,
			Scope: e.scope, Session: e.session, Forms: e.forms, ETag: e.etag,
			Heavy: e.heavy,
		})
	}
	s.echo.Add(e.method, pattern, func(ec echo.Context) error {
		parameter := func(name string) string {
			if name == rest {
				name = "*"
			}
			return ec.Param(name)
		}
		c := s.newCall(ec, &e)
		defer c.end()
		if err := serve(c, b, parameter, run); err != nil {
			s.refuse(ec, err)
		}
		return nil
	})
}

// restOf returns the name of the parameter that matches the rest of a path. If the
// path has no such parameter, restOf returns "".
func restOf(path string) string {
	before, found := strings.CutSuffix(path, "...}")
	if !found {
		return ""
	}
	return before[strings.LastIndexByte(before, '{')+1:]
}

// serve handles a call. If several errors apply, "Order of errors" in
// docs/protocol.md decides which error serve returns.
func serve[In, Out any](c *call, b binding.Binding, parameter func(name string) string, run func(*call, *In) (Out, error)) error {
	if err := c.endpoint.admit(c); err != nil {
		return err
	}
	fields, err := c.bodyObject(b.BodyField != nil)
	if err != nil {
		return err
	}
	var in In
	invalid := b.Bind(reflect.ValueOf(&in).Elem(), parameter, c.request.URL.RawQuery, fields)
	if f, ok := any(&in).(finder); ok {
		if err := f.find(c); err != nil {
			return err
		}
	}
	if invalid != nil {
		return invalid
	}
	out, err := run(c, &in)
	c.giveUpTurn()
	if err != nil {
		return err
	}
	return c.answer(c.endpoint.status, out)
}

// admit reads the body, counts the call, and checks the caller's credentials.
func (e *endpoint) admit(c *call) error {
	early := c.server.crossSite.Check(c.request)
	if early != nil {
		early = problem.ErrCrossSite
	} else {
		early = c.readBody()
	}
	c.class = e.class(c)
	counted, limited := c.countAddress()
	if e.stream && early == nil && limited == nil {
		c.closeStream, limited = c.server.limiter.OpenStream(c.request)
	}
	if err := cmp.Or(early, limited); err != nil {
		return err
	}
	return e.authorize(c, counted)
}

// class returns the limits that a call counts against.
func (e *endpoint) class(c *call) ratelimit.Class {
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

func (e *endpoint) readsMatches() bool {
	return strings.Contains(e.path, "/trials/") || strings.HasPrefix(e.path, "/matches") || strings.HasPrefix(e.path, "/live") ||
		strings.HasSuffix(e.path, "/history") || strings.HasSuffix(e.path, "/decisions") || e.id == "list-ladder-events"
}

// The function always() returns true: every call to the endpoint makes the arena
// connect to a bot.
func always(*call) bool { return true }

// authorize identifies the caller and checks the caller's permissions. It does neither
// if anyone may call the endpoint. Once the caller is identified, the call counts
// against the account instead of the address.
func (e *endpoint) authorize(c *call, atAddress ratelimit.Counted) error {
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
		return problem.WithDetail(problem.ErrScopeMissing, "the key lacks the scope "+string(e.scope)+": use a key that has it, or sign in")
	case e.scope != "" && e.method != http.MethodGet && caller.Suspended:
		return owner.ErrOwnerSuspended
	}
	return limited
}
