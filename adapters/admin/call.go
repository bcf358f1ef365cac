package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// maxBody bounds the body of an order, in bytes.
const maxBody = 64 << 10

// headerRequestID holds the id of the request, which is also in logs and events.
const headerRequestID = "X-Request-Id"

// call is one request.
type call struct {
	ctx     context.Context
	request *http.Request
	id      string
	meta    eventstore.Metadata // of the events that the call stores
}

// answer serves the result of f as JSON, or its error as a problem.
func (s *Server) answer(f func(*call) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), callTime)
		defer cancel()
		c := &call{ctx: ctx, request: r, id: uuid.NewString()}
		c.meta = eventstore.Metadata{At: time.Now(), Correlation: c.id}
		w.Header().Set(headerRequestID, c.id)
		w.Header().Set("Cache-Control", "no-store")
		result, err := f(c)
		if err != nil {
			s.refuse(w, c, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // a client that left needs no answer
	})
}

// takeOrder serves an order. Unknown fields of its body are errors.
func takeOrder[In interface{ check() error }](s *Server, f func(*call, In) (any, error)) http.Handler {
	return s.answer(func(c *call) (any, error) {
		var in In
		if err := c.read(&in); err != nil {
			return nil, err
		}
		if err := in.check(); err != nil {
			return nil, err
		}
		return f(c, in)
	})
}

func (c *call) read(into any) error {
	if kind, _, err := mime.ParseMediaType(c.request.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errMediaType
	}
	body, err := io.ReadAll(io.LimitReader(c.request.Body, maxBody+1))
	switch {
	case err != nil:
		return errMalformed
	case len(body) > maxBody:
		return errBodyTooLarge
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	field, unknown := strings.CutPrefix(errorText(err), "json: unknown field ")
	var wrong *json.UnmarshalTypeError
	switch {
	case unknown:
		return &fieldError{strings.Trim(field, `"`), "is unknown"}
	case errors.As(err, &wrong) && wrong.Field != "":
		return &fieldError{wrong.Field, "must be a string"}
	case err != nil:
		return errMalformed
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errMalformed
	}
	return nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// onlyByAddress refuses calls by a host name other than localhost. Any site can
// make its name resolve to this machine.
func (s *Server) onlyByAddress(h http.Handler) http.Handler {
	refuse := s.answer(func(*call) (any, error) { return nil, errByName })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && host != "localhost" {
			refuse.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
