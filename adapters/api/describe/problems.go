package describe

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
)

// exampleID is the id of the match and of the requests in examples.
const exampleID = "73f4345f-3dbd-40fb-9dc5-459eaec013d9"

// ownErrors lists the errors that are specific to an endpoint. errorsOf adds
// the errors that all similar endpoints share.
var ownErrors = map[string][]error{
	"patch-me":            {owner.ErrHandleTaken},
	"delete-me":           {owner.ErrOwnerSuspended, problem.ExampleConflict},
	"stream-my-events":    {projections.ErrStopped, eventstore.ErrUnavailable, problem.ErrEventGone},
	"confirm-sign-in":     {owner.ErrLinkInvalid, eventstore.ErrUnavailable, problem.ExampleConflict},
	"sign-out":            {problem.ExampleConflict},
	"register-key":        {owner.ErrKeyLimit, owner.ErrKeyExists, owner.ErrProofNeeded, owner.ErrScopeMissing, projections.ErrStopped},
	"register-bot":        {problem.ExampleDeniedURL, owner.ErrBotLimit, problem.ExampleFailedCheck},
	"change-bot":          {problem.ExampleDeniedURL, owner.ErrBotLimit, owner.ErrBotSuspended, owner.ErrBotInTrial, problem.ExampleFailedCheck},
	"order-trial":         {owner.ErrBotNotPaused, owner.ErrBotInTrial, problem.ErrBotInMatch, owner.ErrBotSuspended, projections.ErrStopped},
	"list-matches":        {projections.ErrStopped},
	"get-match":           {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-frames":          {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-statistics":      {projections.ErrStopped, eventstore.ErrUnavailable, problem.ErrMatchRunning},
	"get-win-probability": {projections.ErrStopped, eventstore.ErrUnavailable, problem.ErrMatchRunning},
	"get-decisions":       {projections.ErrStopped},
	"list-bot-decisions":  {projections.ErrStopped},
	"get-leaderboard":     {projections.ErrStopped},
	"get-queue":           {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-bot-history":     {projections.ErrStopped},
	"get-bot-statistics":  {projections.ErrStopped},
	"list-live":           {eventstore.ErrUnavailable},
	"stream-live":         {eventstore.ErrUnavailable},
	"get-live":            {projections.ErrStopped, eventstore.ErrUnavailable},
	"stream-match":        {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-log-head":        {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-log-inclusion":   {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-log-consistency": {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-seed-keys":       {eventstore.ErrUnavailable},

	"get-ladder-checkpoint": {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-ladder-tile":       {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-ladder-proof":      {projections.ErrStopped, eventstore.ErrUnavailable},
	"get-ladder-statistics": {projections.ErrStopped},
	"list-ladder-events":    {eventstore.ErrUnavailable},
}

// errorsOf lists the errors that an endpoint may return. These are the errors
// that all similar endpoints share, and the endpoint's own errors.
func errorsOf(o Operation) []error {
	list := []error{problem.ErrBodyTooLarge, problem.ExampleRateLimited, problem.ExampleInvalidQuery, problem.ErrUnknown}
	if o.Method == http.MethodGet || o.Method == http.MethodDelete {
		list = append(list, problem.ErrUnexpectedBody)
	} else {
		list = append(list, problem.ErrMediaType, problem.ErrMalformed)
	}
	if o.Method != http.MethodGet {
		list = append(list, problem.ErrCrossSite)
	}
	if strings.Contains(o.Path, "{") {
		list = append(list, problem.ErrNotFound)
	}
	if o.Request.BodyField != nil {
		list = append(list, problem.ExampleInvalidField)
	}
	if o.Scope != "" || o.Session {
		list = append(list, owner.ErrUnauthenticated, eventstore.ErrUnavailable, projections.ErrBehind)
	}
	if o.Scope != "" {
		list = append(list, problem.ErrScopeMissing)
		if o.Method != http.MethodGet {
			list = append(list, problem.ExampleConflict, owner.ErrOwnerSuspended)
		}
	}
	if o.Session {
		list = append(list, problem.ErrSessionNeeded)
	}
	if o.Heavy {
		list = append(list, problem.ErrBusy)
	}
	return append(list, ownErrors[o.ID]...)
}

// The method refusals() returns descriptions of an endpoint's error responses by
// status, with an example of each problem code.
func (d *Document) refusals(o Operation) map[string]*huma.Response {
	schema := d.schemas().Schema(reflect.TypeFor[rest.Problem](), true, "")
	responses := map[string]*huma.Response{}
	codes := map[string][]string{}
	for _, err := range errorsOf(o) {
		p := problem.Of(err)
		p.Title, p.RequestID = http.StatusText(p.Status), exampleID
		status := strconv.Itoa(p.Status)
		r := responses[status]
		if r == nil {
			r = &huma.Response{Headers: headers(retryHeader(p.Status)...), Content: map[string]*huma.MediaType{
				rest.ProblemType: {Schema: schema, Examples: map[string]*huma.Example{}},
			}}
			responses[status] = r
		}
		r.Content[rest.ProblemType].Examples[p.Code] = &huma.Example{Summary: p.Detail, Value: p}
		codes[status] = append(codes[status], p.Code)
	}
	for status, r := range responses {
		slices.Sort(codes[status])
		r.Description = "`" + strings.Join(slices.Compact(codes[status]), "`, `") + "`"
	}
	return responses
}

func retryHeader(status int) []string {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return []string{"Retry-After"}
	}
	return nil
}
