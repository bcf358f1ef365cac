package binding

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"hexarena/adapters/rest/problem"
)

// maxBody is the maximum size of a body, in bytes.
const maxBody = 64 << 10

// ReadBody returns the body of a request exactly as received. The error matches
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
		return nil, problem.WithDetail(problem.ErrMalformed, "the body ended too early or could not be read")
	}
	return body, nil
}

// ParseBody checks that the headers of a request declare JSON, and then parses the body
// with ParseObject. If the headers do not declare JSON, the error matches
// problem.ErrMediaType.
func ParseBody(h http.Header, body []byte) (Object, error) {
	if message := notJSON(h); message != "" {
		return nil, problem.WithDetail(problem.ErrMediaType, message)
	}
	return ParseObject(body)
}

// notJSON returns an error message unless the headers of a request declare uncompressed
// JSON in UTF-8.
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
