// Package problem turns the errors of refused calls into problems (RFC 9457), for
// the API and for the operators' endpoints. A [Table] maps errors to statuses and
// codes. [Of] uses the API's own table. docs/errors.md lists the codes of that
// table for callers.
//
// If an error is not in the table, the caller sees only "internal error". The service
// logs the cause.
package problem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
)

// These errors belong to the API, not to a domain package.
var (
	ErrPathUnknown      = errors.New("there is nothing at this path")
	ErrMethodNotAllowed = errors.New("this path does not accept this method; the Allow header lists the methods that it accepts")
	ErrCrossSite        = errors.New("the request comes from another site: send it from the arena's own pages, or from a program")
	ErrBodyTooLarge     = errors.New("a body may have at most 65,536 bytes")
	ErrScopeMissing     = errors.New("the key lacks the scope")
	ErrSessionNeeded    = errors.New("this call needs a session, not a signature: sign in")
	ErrMediaType        = errors.New("this path does not accept this content type")
	ErrMalformed        = errors.New("the body is malformed")
	ErrUnexpectedBody   = errors.New("this method does not accept a body: send the request without one")
	ErrNotFound         = errors.New("the requested resource does not exist")
	ErrRateLimited      = errors.New("too many calls")
	ErrBotInMatch       = errors.New("the bot is still in a match: wait until the match has ended")
	ErrMatchRunning     = errors.New("the match is still running: wait until it has ended")
	ErrEventGone        = errors.New("the arena no longer keeps the event in Last-Event-ID: send Last-Event-ID: 0 to get all events that it keeps")
	ErrBusy             = errors.New("too many expensive calls at the same time: try again")
)

// Table maps errors to statuses and codes. The first row that matches decides. A
// code never changes.
type Table []Row

// Row contains the status and the code of one error.
type Row struct {
	Err    error
	Status int
	Code   string
}

// table maps the API's errors.
var table = Table{
	{ErrPathUnknown, http.StatusNotFound, "not_found"},
	{ErrMethodNotAllowed, http.StatusMethodNotAllowed, "method_not_allowed"},
	{ErrCrossSite, http.StatusForbidden, "cross_site"},
	{ErrBodyTooLarge, http.StatusRequestEntityTooLarge, "body_too_large"},
	{ErrRateLimited, http.StatusTooManyRequests, "rate_limited"},
	{owner.ErrUnauthenticated, http.StatusUnauthorized, "unauthenticated"},
	{owner.ErrLinkInvalid, http.StatusUnauthorized, "link_invalid"},
	{ErrScopeMissing, http.StatusForbidden, "scope_missing"},
	{ErrSessionNeeded, http.StatusForbidden, "session_needed"},
	{owner.ErrScopeMissing, http.StatusForbidden, "scope_exceeded"},
	{owner.ErrOwnerSuspended, http.StatusForbidden, "suspended"},
	{ErrEventGone, http.StatusGone, "event_gone"},
	{ErrMediaType, http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{ErrMalformed, http.StatusBadRequest, "malformed"},
	{ErrUnexpectedBody, http.StatusBadRequest, "unexpected_body"},
	{ErrNotFound, http.StatusNotFound, "not_found"},
	{owner.ErrBotUnknown, http.StatusNotFound, "not_found"},
	{owner.ErrKeyUnknown, http.StatusNotFound, "not_found"},
	{owner.ErrBotLimit, http.StatusConflict, "bot_limit"},
	{owner.ErrKeyLimit, http.StatusConflict, "key_limit"},
	{owner.ErrKeyExists, http.StatusConflict, "key_exists"},
	{owner.ErrProofNeeded, http.StatusConflict, "proof_needed"},
	{owner.ErrKeyContested, http.StatusServiceUnavailable, "busy"},
	{owner.ErrBotSuspended, http.StatusConflict, "suspended"},
	{owner.ErrBotNotPaused, http.StatusConflict, "bot_not_paused"},
	{owner.ErrBotInTrial, http.StatusConflict, "bot_in_trial"},
	{ErrBotInMatch, http.StatusConflict, "bot_in_match"},
	{ErrMatchRunning, http.StatusConflict, "match_running"},
	{owner.ErrHandleTaken, http.StatusConflict, "handle_taken"},
	{eventstore.ErrUnavailable, http.StatusServiceUnavailable, "log_unavailable"},
	{projections.ErrStopped, http.StatusServiceUnavailable, "out_of_date"},
	{projections.ErrBehind, http.StatusServiceUnavailable, "out_of_date"},
	{ErrBusy, http.StatusServiceUnavailable, "busy"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "log_unavailable"},
	{eventstore.ErrEventsLost, http.StatusServiceUnavailable, "log_unavailable"},
}

// InvalidInput is an error that lists the invalid fields of a request.
type InvalidInput struct{ Fields []rest.FieldError }

func (e *InvalidInput) Error() string {
	messages := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		if messages[i] = f.Message; f.Field != "" {
			messages[i] = f.Field + " " + f.Message
		}
	}
	return strings.Join(messages, "; ")
}

// InvalidField returns an error about one field of the body.
func InvalidField(name, message string) *InvalidInput {
	return &InvalidInput{[]rest.FieldError{{In: "body", Field: name, Message: message}}}
}

// InvalidQuery returns an error about one query parameter.
func InvalidQuery(name, message string) error {
	return &InvalidInput{[]rest.FieldError{{In: "query", Field: name, Message: message}}}
}

// InvalidHeader returns an error about one header.
func InvalidHeader(name, message string) error {
	return &InvalidInput{[]rest.FieldError{{In: "header", Field: name, Message: message}}}
}

// WithDetail returns an error with the given detail, and with the status and the code
// of the parameter kind. That parameter must be an error in the table.
func WithDetail(kind error, detail string) error { return &detailed{kind, detail} }

type detailed struct {
	kind   error
	detail string
}

func (e *detailed) Error() string { return e.detail }
func (e *detailed) Unwrap() error { return e.kind }

// CheckFailed is the error for a bot that does not pass the deploy check.
type CheckFailed struct{ Steps []rest.Step }

func (e *CheckFailed) Error() string {
	for _, step := range e.Steps {
		if !step.OK {
			return "the bot did not pass the deploy check at the step " + step.Name + ": " + step.Detail
		}
	}
	return "the deploy check did not run"
}

// RateLimited is the error for a call that is over a limit.
type RateLimited struct {
	Limits  []string // the limits that the call exceeds, such as "600 calls"
	Within  string   // the time for which the limits apply; empty: 60 s
	Streams int      // the limit on open streams, if the call exceeds it
	After   int      // number of seconds after which the same call will be accepted
}

func (e *RateLimited) Error() string {
	if e.Streams > 0 {
		return fmt.Sprintf("%d streams are open from this address: close one, or try again in %d s", e.Streams, e.After)
	}
	return fmt.Sprintf("more than %s within %s: try again in %d s", strings.Join(e.Limits, " and "), cmp.Or(e.Within, "60 s"), e.After)
}

// Unwrap makes the error match ErrRateLimited.
func (e *RateLimited) Unwrap() error { return ErrRateLimited }

// Of returns the API's problem for an error, without a title or a request id.
func Of(err error) rest.Problem {
	var invalid *owner.InvalidError
	var failed *CheckFailed
	switch {
	case errors.As(err, &invalid):
		var input InvalidInput
		for _, f := range invalid.Faults {
			input.Fields = append(input.Fields, rest.FieldError{In: "body", Field: f.Field, Message: f.Message})
		}
		return invalidInput(invalid.Code, &input)
	case errors.As(err, &failed):
		p := invalidInput("deploy_check_failed", InvalidField("url", failed.Error()))
		p.Detail, p.Steps = failed.Error(), failed.Steps
		return p
	case eventstore.IsWrongVersion(err):
		return rest.Problem{Status: http.StatusServiceUnavailable, Code: "busy", Detail: "too many writes at the same time: try again"}
	}
	return table.Of(err)
}

// Of returns the problem for an error, without a title or a request id.
func (t Table) Of(err error) rest.Problem {
	var input *InvalidInput
	if errors.As(err, &input) {
		return invalidInput(owner.CodeInvalid, input)
	}
	for _, row := range t {
		if errors.Is(err, row.Err) {
			return rest.Problem{Status: row.Status, Code: row.Code, Detail: detailOf(err, row.Err)}
		}
	}
	return rest.Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "internal error"}
}

// Write responds with a problem. It adds the title, and the request id from the
// response header.
func Write(w http.ResponseWriter, p rest.Problem) {
	h := w.Header()
	p.Title, p.RequestID = http.StatusText(p.Status), h.Get(rest.HeaderRequestID)
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and integers always encode
	}
	h.Set("Content-Type", rest.ProblemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may be gone
}

func invalidInput(code string, e *InvalidInput) rest.Problem {
	return rest.Problem{Status: http.StatusUnprocessableEntity, Code: code, Detail: e.Error(), Errors: e.Fields}
}

// detailOf returns the error's own detail if it has one, and the message of kind
// otherwise. It leaves out the text of wrapping errors, which is meant only for the
// service's log.
func detailOf(err, kind error) string {
	var d *detailed
	var l *RateLimited
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

// These are example errors, one of each kind, for the API's description and for tests.
var (
	ExampleInvalidField = InvalidField("name", "is missing")
	ExampleInvalidQuery = &InvalidInput{[]rest.FieldError{{In: "query", Field: "modus", Message: "is unknown: check the spelling"}}}
	ExampleFailedCheck  = &CheckFailed{[]rest.Step{{Name: "ping", Detail: "the connection was refused"}}}
	ExampleDeniedURL    = owner.InvalidURL("is refused: the address is not allowed; use a public address that is not the arena's own")
	ExampleRateLimited  = &RateLimited{Limits: []string{"600 calls"}, After: 12}
	ExampleConflict     = &eventstore.WrongVersionError{}
	ErrUnknown          = errors.New("an error that is not in the table")
)

// Codes returns all codes that the API may return, sorted.
func Codes() []string {
	var codes []string
	for _, err := range []error{ExampleInvalidField, ExampleFailedCheck, ExampleDeniedURL, ExampleConflict, ErrUnknown} {
		codes = append(codes, Of(err).Code)
	}
	for _, row := range table {
		codes = append(codes, row.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
