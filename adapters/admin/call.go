package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/google/uuid"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/binding"
	"hexarena/adapters/rest/problem"
	"hexarena/eventstore"
)

// call is one request.
type call struct {
	ctx     context.Context
	answer  http.ResponseWriter
	request *http.Request
	id      string
	meta    eventstore.Metadata // metadata of the events that the call stores
}

// answer returns a handler that calls f. It sends the result as JSON, or the error as a
// problem.
func (s *Server) answer(f func(*call) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), callTime)
		defer cancel()
		c := &call{ctx: ctx, answer: w, request: r, id: uuid.NewString()}
		c.meta = eventstore.Metadata{At: time.Now(), Correlation: c.id}
		w.Header().Set(rest.HeaderRequestID, c.id)
		w.Header().Set("Cache-Control", "no-store")
		result, err := f(c)
		if err != nil {
			s.refuse(c, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // the client may be gone
	})
}

// takeOrder returns the handler for one kind of order. The handler rejects unknown
// fields in the body.
func takeOrder[In interface{ check() error }](s *Server, f func(*call, In) (any, error)) http.Handler {
	type input struct{ Body In }
	b := binding.Of(reflect.TypeFor[input]())
	return s.answer(func(c *call) (any, error) {
		body, err := binding.ReadBody(c.answer, c.request)
		if err != nil {
			return nil, err
		}
		fields, err := binding.ParseBody(c.request.Header, body)
		if err == nil && fields == nil {
			err = problem.WithDetail(problem.ErrMalformed, "the body is not a JSON object")
		}
		if err != nil {
			return nil, err
		}
		var in input
		if err := b.Bind(reflect.ValueOf(&in).Elem(), nil, "", fields); err != nil {
			return nil, err
		}
		if err := in.Body.check(); err != nil {
			return nil, err
		}
		return f(c, in.Body)
	})
}
