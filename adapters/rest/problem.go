package rest

// HeaderRequestID is the response header that contains the id of the request. Log
// records and events contain the same id.
const HeaderRequestID = "X-Request-Id"

// ProblemType is the content type of a Problem.
const ProblemType = "application/problem+json"

// Problem is the body of every error response (RFC 9457).
type Problem struct {
	Title     string       `json:"title" doc:"The status in words."`
	Status    int          `json:"status" minimum:"400" maximum:"599"`
	Code      string       `json:"code" doc:"A stable code that a program can act on."`
	Detail    string       `json:"detail" doc:"A human-readable explanation."`
	RequestID string       `json:"requestId" doc:"The id of the request. Quote it when you ask about the request."`
	Errors    []FieldError `json:"errors,omitempty" doc:"The invalid fields."`
	Steps     []Step       `json:"steps,omitempty" doc:"The steps of the failed deploy check."`
}

// FieldError describes one invalid field.
type FieldError struct {
	In      string `json:"in" enum:"body,query,path,header"`
	Field   string `json:"field" doc:"The field's name in the request; empty if the error concerns the whole request."`
	Message string `json:"message" doc:"A human-readable explanation."`
}

// HeaderStale is the response header that says how many seconds a response may be out of
// date. It is present only while the arena's log is unavailable.
const HeaderStale = "X-Arena-Stale-Seconds"
