package api

import (
	"cmp"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"hexarena/domain/owner"
)

// endpoint is one route. In is a struct: its fields tagged `path` and `query`
// are the request's parameters (see binding), and its field Body, if it has
// one, the JSON object that the request must hold. Out is a struct whose field
// Body is answered as JSON; without one, the answer is 204.
type endpoint[In, Out any] struct {
	id, method, path string // the path as OpenAPI writes it: /bots/{id}
	tag, summary     string
	status           int              // of the answer; 0: 200, or 204 without a body
	scope            owner.Scope      // what the caller must have; empty: anyone may call
	session          bool             // the caller must have a session
	forms            bool             // described as taking HTML forms beside JSON: the pages make calls of them
	hidden           bool             // left out of the description
	stream           bool             // the answer goes on; an address may have some at a time
	tagged           bool             // there are answers with an ETag
	dials            func(*call) bool // whether a call has a bot's URL tried; nil: none does

	// find refuses what is not there (404), before the fields are judged
	// (422). It may be nil.
	find func(*call, *In) error
	run  func(*call, *In) (*Out, error)

	answers []media // for the description; nil: JSON as Out says
}

// register adds a route and its description. What is described are huma's
// schemas of the endpoint's types; requests are read by serve, since the order
// of refusals is settled otherwise than huma's.
func register[In, Out any](s *Server, e endpoint[In, Out]) {
	b := bindingOf(reflect.TypeFor[In]())
	if e.status == 0 {
		e.status = http.StatusNoContent
		if _, ok := reflect.TypeFor[Out]().FieldByName("Body"); ok {
			e.status = http.StatusOK
		}
	}
	op := &huma.Operation{
		OperationID: e.id, Method: e.method, Path: e.path, Tags: []string{e.tag}, Summary: e.summary, DefaultStatus: e.status,
	}
	if !e.hidden {
		e.describe(s, op, b)
	}
	s.api.Adapter().Handle(op, func(ctx huma.Context) {
		c := s.newCall(humaecho.Unwrap(ctx))
		defer c.cancel()
		if err := e.serve(c, b); err != nil {
			s.refuse(c.echo, err)
		}
	})
}

// serve answers a call. If several errors apply, docs/protocol.md, "Order of
// errors", decides which one it returns.
func (e *endpoint[In, Out]) serve(c *call, b binding) error {
	early := c.server.crossSite.Check(c.request)
	if early != nil {
		early = errCrossSite
	} else {
		early = c.readBody()
	}
	c.class = e.class(c)
	t, limited := c.limitAddress()
	if e.stream && early == nil && limited == nil {
		var closed func()
		closed, limited = c.openStream()
		defer closed()
	}
	if err := cmp.Or(early, limited); err != nil {
		return err
	}
	if err := e.authorize(c, t); err != nil {
		return err
	}
	fields, err := c.fields(b.hasBody)
	if err != nil {
		return err
	}
	var in In
	invalid := b.bind(reflect.ValueOf(&in).Elem(), c, fields)
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

// class is what a call counts against (decisions.md, "Rate limits").
func (e *endpoint[In, Out]) class(c *call) class {
	counted := anyCall
	if e.method != http.MethodGet {
		counted |= write
	}
	if e.readsMatches() {
		counted |= matchRead
	}
	if e.dials != nil && e.dials(c) {
		counted |= registration
	}
	return counted
}

func (e *endpoint[In, Out]) readsMatches() bool {
	return strings.HasPrefix(e.path, "/matches") || strings.HasPrefix(e.path, "/live") ||
		strings.HasSuffix(e.path, "/history") || strings.HasSuffix(e.path, "/decisions")
}

// always is for an endpoint of which every call has a bot's URL tried.
func always(*call) bool { return true }

// authorize finds who calls, where the endpoint is not for everyone, and
// whether they may. Once it is known who calls, the call counts against the
// account, and no longer against the address.
func (e *endpoint[In, Out]) authorize(c *call, atAddress taken) error {
	if e.scope == "" && !e.session {
		return nil
	}
	caller, err := c.server.Auth.Verify(c.ctx, c.received(), c.body, c.meta)
	if err != nil {
		return err
	}
	c.caller = caller
	limited := c.limitAccount(atAddress)
	switch {
	case e.session && caller.Session == "":
		return errSessionNeeded
	case e.scope != "" && !caller.May(e.scope):
		return &detailed{errScope, "the key lacks the scope " + string(e.scope)}
	case e.scope != "" && e.method != http.MethodGet && caller.Suspended:
		return owner.ErrOwnerSuspended
	}
	return limited
}
