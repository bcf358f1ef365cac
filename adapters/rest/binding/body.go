package binding

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"hexarena/adapters/rest/problem"
)

// maxBody is the greatest size of a body, in bytes.
const maxBody = 64 << 10

// ReadBody reads a body as it was received. An error matches
// problem.ErrBodyTooLarge or problem.ErrMalformed.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, problem.ErrBodyTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, problem.ErrBodyTooLarge
	case err != nil:
		return nil, problem.WithDetail(problem.ErrMalformed, "the body could not be read to its end")
	}
	return body, nil
}

// ParseBody parses a body as ParseObject does. The headers of the request must
// announce JSON; else the error matches problem.ErrMediaType.
func ParseBody(h http.Header, body []byte) (Object, error) {
	if message := notJSON(h); message != "" {
		return nil, problem.WithDetail(problem.ErrMediaType, message)
	}
	return ParseObject(body)
}

// notJSON returns a message if the headers of a request do not announce a body
// of uncompressed JSON in UTF-8.
func notJSON(h http.Header) string {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "bodies must not be compressed"
	}
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || len(h.Values("Content-Type")) > 1 {
		return "the content type is missing or malformed"
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "the character set must be UTF-8"
	}
	if kind != "application/json" {
		return "the content type must be application/json"
	}
	return ""
}
