package rest

// HeaderRequestID holds the id of a request in every answer. Logs and events have
// the same id.
const HeaderRequestID = "X-Request-Id"

// ProblemType is the content type of a Problem.
const ProblemType = "application/problem+json"

// Problem is the body of every refusal (RFC 9457).
type Problem struct {
	Title     string       `json:"title" doc:"The status in words."`
	Status    int          `json:"status" minimum:"400" maximum:"599"`
	Code      string       `json:"code" doc:"A stable code to act on."`
	Detail    string       `json:"detail" doc:"A sentence for a person."`
	RequestID string       `json:"requestId" doc:"Identifies this request when you ask about it."`
	Errors    []FieldError `json:"errors,omitempty" doc:"The invalid fields."`
	Steps     []Step       `json:"steps,omitempty" doc:"The steps of the deploy check that failed."`
}

// FieldError describes one invalid field.
type FieldError struct {
	In      string `json:"in" enum:"body,query,path"`
	Field   string `json:"field" doc:"The field's name in the request; empty for the whole."`
	Message string `json:"message" doc:"A sentence for a person."`
}
