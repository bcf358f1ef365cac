package api

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Errors that stand for their kind in the document.
var (
	anInvalidField = &inputError{[]FieldError{{In: "body", Field: "name", Message: "is missing"}}}
	anInvalidQuery = &inputError{[]FieldError{{In: "query", Field: "modus", Message: "is not known here"}}}
	aFailedCheck   = &checkFailed{[]Step{{Name: "ping", Detail: "the connection was refused"}}}
	aDeniedURL     = owner.InvalidURL("is refused: the address is not allowed")
	aLimit         = &rateLimited{limits: []string{"600 calls"}, after: 12}
	aConflict      = &eventstore.WrongVersionError{}
	errFault       = errors.New("a fault")
)

// refusals are the errors that an endpoint may answer with: those of every
// endpoint like it, and its own.
func (e *endpoint[In, Out]) refusals(s *Server) []error {
	list := []error{errBodyTooLarge, aLimit, anInvalidQuery, errFault}
	if e.method == http.MethodGet || e.method == http.MethodDelete {
		list = append(list, errUnexpectedBody)
	} else {
		list = append(list, errMediaType, errMalformed)
	}
	if e.method != http.MethodGet {
		list = append(list, errCrossSite)
	}
	if strings.Contains(e.path, "{") {
		list = append(list, errNotFound)
	}
	if _, ok := reflect.TypeFor[In]().FieldByName("Body"); ok {
		list = append(list, anInvalidField)
	}
	if e.scope != "" || e.session {
		list = append(list, owner.ErrUnauthenticated, eventstore.ErrUnavailable)
	}
	if e.scope != "" {
		list = append(list, errScope)
		if e.method != http.MethodGet {
			list = append(list, aConflict, owner.ErrOwnerSuspended)
		}
	}
	if e.session {
		list = append(list, errSessionNeeded)
	}
	return append(list, s.extras[e.id].refuses...)
}

// refusalResponses describe them by status, with an example for each code.
func (e *endpoint[In, Out]) refusalResponses(s *Server) map[string]*huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	responses := map[string]*huma.Response{}
	codes := map[string][]string{}
	for _, err := range e.refusals(s) {
		p := problemOf(err)
		p.Title, p.RequestID = http.StatusText(p.Status), exampleID
		status := strconv.Itoa(p.Status)
		r := responses[status]
		if r == nil {
			r = &huma.Response{Headers: headers(moreHeaders(p.Status)...), Content: content(problemType, schema)}
			r.Content[problemType].Examples = map[string]*huma.Example{}
			responses[status] = r
		}
		r.Content[problemType].Examples[p.Code] = &huma.Example{Summary: p.Detail, Value: p}
		codes[status] = append(codes[status], p.Code)
	}
	for status, r := range responses {
		slices.Sort(codes[status])
		r.Description = "`" + strings.Join(slices.Compact(codes[status]), "`, `") + "`"
	}
	return responses
}

func moreHeaders(status int) []string {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return []string{headerRetry}
	}
	return nil
}

// problemCodes are all stable codes.
func problemCodes() []any {
	codes := []string{problemOf(aConflict).Code, problemOf(errFault).Code, owner.CodeInvalid, problemOf(aFailedCheck).Code, problemOf(aDeniedURL).Code}
	for _, row := range table {
		codes = append(codes, row.code)
	}
	slices.Sort(codes)
	var all []any
	for _, code := range slices.Compact(codes) {
		all = append(all, code)
	}
	return all
}
