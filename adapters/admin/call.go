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

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// maxBody is how many bytes an order may have.
const maxBody = 64 << 10

// headerRequestID names the request, in answers, logs and events.
const headerRequestID = "X-Request-Id"

// call is one request on its way to its answer.
type call struct {
	ctx     context.Context
	request *http.Request
	id      string
	meta    eventstore.Metadata // of the events that the call causes
}

// answers serves what f returns, or refuses.
func (s *Server) answers(f func(*call) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), callTime)
		defer cancel()
		c := &call{ctx: ctx, request: r, id: uuid.NewString()}
		c.meta = eventstore.Metadata{At: s.Now(), Correlation: c.id}
		w.Header().Set(headerRequestID, c.id)
		w.Header().Set("Cache-Control", "no-store")
		answer, err := f(c)
		if err != nil {
			s.refuse(w, c, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // who went away needs no answer
	})
}

// takes serves an order, whose body is read strictly: its fields and
// no others.
func takes[In interface{ check() error }](s *Server, f func(*call, In) (any, error)) http.Handler {
	return s.answers(func(c *call) (any, error) {
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
		return &fieldError{strings.Trim(field, `"`), "is not known here"}
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

// onlyByAddress refuses calls to a name that is not this machine's own: a site
// may have its name lead here.
func (s *Server) onlyByAddress(h http.Handler) http.Handler {
	refuse := s.answers(func(*call) (any, error) { return nil, errByName })
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
