package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
)

// What this package refuses by itself.
var (
	errPathUnknown    = errors.New("there is nothing at this path")
	errMethod         = errors.New("this path does not take this method; the Allow header lists those that it takes")
	errCrossSite      = errors.New("the request comes from another site")
	errBodyTooLarge   = errors.New("a body may have at most 65,536 bytes")
	errScope          = errors.New("the key lacks the scope")
	errSessionNeeded  = errors.New("this needs a session, not a signature")
	errMediaType      = errors.New("the content type is not one that this path takes")
	errMalformed      = errors.New("the body is malformed")
	errUnexpectedBody = errors.New("this method takes no body")
	errNotFound       = errors.New("no such thing")
	errRateLimited    = errors.New("too many calls")
)

// table says how each error is answered. The first row that matches counts; an
// error without a row is an internal one. Codes are for ever, and listed in
// docs/errors.md.
var table = []struct {
	err    error
	status int
	code   string
}{
	{errPathUnknown, http.StatusNotFound, "not_found"},
	{errMethod, http.StatusMethodNotAllowed, "method_not_allowed"},
	{errCrossSite, http.StatusForbidden, "cross_site"},
	{errBodyTooLarge, http.StatusRequestEntityTooLarge, "body_too_large"},
	{errRateLimited, http.StatusTooManyRequests, "rate_limited"},
	{owner.ErrUnauthenticated, http.StatusUnauthorized, "unauthenticated"},
	{owner.ErrLinkInvalid, http.StatusUnauthorized, "link_invalid"},
	{errScope, http.StatusForbidden, "scope_missing"},
	{errSessionNeeded, http.StatusForbidden, "session_needed"},
	{owner.ErrScopeMissing, http.StatusForbidden, "scope_exceeded"},
	{owner.ErrOwnerSuspended, http.StatusForbidden, "suspended"},
	{errMediaType, http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{errMalformed, http.StatusBadRequest, "malformed"},
	{errUnexpectedBody, http.StatusBadRequest, "unexpected_body"},
	{errNotFound, http.StatusNotFound, "not_found"},
	{owner.ErrBotUnknown, http.StatusNotFound, "not_found"},
	{owner.ErrKeyUnknown, http.StatusNotFound, "not_found"},
	{owner.ErrBotLimit, http.StatusConflict, "bot_limit"},
	{owner.ErrKeyLimit, http.StatusConflict, "key_limit"},
	{owner.ErrKeyExists, http.StatusConflict, "key_exists"},
	{owner.ErrBotSuspended, http.StatusConflict, "suspended"},
	{owner.ErrHandleTaken, http.StatusConflict, "handle_taken"},
	{eventstore.ErrUnavailable, http.StatusServiceUnavailable, "log_unavailable"},
	{projections.ErrStopped, http.StatusServiceUnavailable, "out_of_date"},
	{projections.ErrBehind, http.StatusServiceUnavailable, "out_of_date"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "log_unavailable"},
}

// Problem is the body of every refusal (RFC 9457).
type Problem struct {
	Title     string       `json:"title" doc:"The status in words."`
	Status    int          `json:"status" minimum:"400" maximum:"599"`
	Code      string       `json:"code" doc:"A stable code to act on."`
	Detail    string       `json:"detail" doc:"A sentence for a person."`
	RequestID string       `json:"requestId" doc:"Names this request when you ask about it."`
	Errors    []FieldError `json:"errors,omitempty" doc:"The fields that are wrong."`
	Steps     []stepBody   `json:"steps,omitempty" doc:"The steps of the deploy check that failed."`
}

// FieldError says what is wrong with one field.
type FieldError struct {
	In      string `json:"in" enum:"body,query,path"`
	Field   string `json:"field" doc:"As it is named on the wire; empty for the whole."`
	Message string `json:"message" doc:"A sentence for a person."`
}

// inputError says which parts of a request do not fit its schema.
type inputError struct{ faults []FieldError }

func (e *inputError) Error() string {
	messages := make([]string, len(e.faults))
	for i, f := range e.faults {
		if messages[i] = f.Message; f.Field != "" {
			messages[i] = f.Field + " " + f.Message
		}
	}
	return strings.Join(messages, "; ")
}

// invalidQuery makes an error of one query parameter.
func invalidQuery(field, message string) error {
	return &inputError{[]FieldError{{In: "query", Field: field, Message: message}}}
}

// detailed is one of the table's errors with a detail of its own.
type detailed struct {
	kind   error
	detail string
}

func (e *detailed) Error() string { return e.detail }
func (e *detailed) Unwrap() error { return e.kind }

// checkFailed says which step of a deploy check failed.
type checkFailed struct{ steps []Step }

func (e *checkFailed) Error() string {
	for _, step := range e.steps {
		if !step.OK {
			return "the bot did not pass the deploy check at the step " + step.Name + ": " + step.Detail
		}
	}
	return "the deploy check did not run"
}

// problemOf says how an error is answered; what is not in the table tells
// nothing of itself.
func problemOf(err error) Problem {
	var input *inputError
	var invalid *owner.InvalidError
	var failed *checkFailed
	switch {
	case errors.As(err, &input):
		return Problem{Status: http.StatusUnprocessableEntity, Code: owner.CodeInvalid, Detail: input.Error(), Errors: input.faults}
	case errors.As(err, &invalid):
		p := Problem{Status: http.StatusUnprocessableEntity, Code: invalid.Code}
		for _, f := range invalid.Faults {
			p.Errors = append(p.Errors, FieldError{In: "body", Field: f.Field, Message: f.Message})
		}
		p.Detail = (&inputError{p.Errors}).Error()
		return p
	case errors.As(err, &failed):
		fault := FieldError{In: "body", Field: "url", Message: failed.Error()}
		return Problem{
			Status: http.StatusUnprocessableEntity, Code: "deploy_check_failed", Detail: failed.Error(),
			Errors: []FieldError{fault}, Steps: stepBodies(failed.steps),
		}
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return Problem{Status: row.status, Code: row.code, Detail: detailOf(err, row.err)}
		}
	}
	if eventstore.IsWrongVersion(err) {
		return Problem{Status: http.StatusServiceUnavailable, Code: "busy", Detail: "others write at the same time: try again"}
	}
	return Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "internal error"}
}

// detailOf is the error's own sentence where it has one, else its kind's: what
// wraps it is for the log alone.
func detailOf(err, kind error) string {
	var d *detailed
	var l *rateLimited
	switch {
	case errors.As(err, &d):
		return d.detail
	case errors.As(err, &l):
		return l.Error()
	case errors.Is(kind, context.DeadlineExceeded):
		return eventstore.ErrUnavailable.Error()
	}
	return kind.Error()
}

// refuse answers with an error.
func (s *Server) refuse(c echo.Context, err error) {
	p := problemOf(err)
	if c.Request().Context().Err() != nil && p.Status >= http.StatusInternalServerError {
		panic(http.ErrAbortHandler) // the caller went away, and must not read an empty 200
	}
	s.logRefusal(c, p.Status, err)
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	p.Title = http.StatusText(p.Status)
	p.RequestID = h.Get(headerRequestID)
	h.Set("Cache-Control", "no-store")
	var limited *rateLimited
	switch {
	case errors.As(err, &limited):
		h.Set("Retry-After", strconv.Itoa(limited.after))
	case p.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Arena-Signature")
	case p.Status == http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	writeProblem(c.Response(), p)
}

func writeProblem(w http.ResponseWriter, p Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and integers alone: it cannot fail
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // who went away needs no answer
}
