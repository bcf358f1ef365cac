package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"hexarena/adapters/rest/httpgzip"
)

const (
	// The constant immutable allows caches to store a response that never changes.
	immutable = "public, max-age=31536000, immutable"
	// The constant revalidated allows caches to store a response, but they must check
	// with the arena before each use.
	revalidated = "no-cache"
)

// response is a response that many callers get. It is encoded and compressed only once.
type response struct {
	contentType  string
	cacheControl string
	policy       string // the Content-Security-Policy of a page
	etag         string
	compressed   []byte
	size         int    // uncompressed
	plain        []byte // the uncompressed response, if it is kept for clients that do not accept gzip
}

func newResponse(contentType, cacheControl string, content []byte) *response {
	var b bytes.Buffer
	httpgzip.Compress(&b, content)
	return &response{
		contentType: contentType, cacheControl: cacheControl,
		etag: etagOf(content), compressed: bytes.Clone(b.Bytes()), size: len(content),
	}
}

func newJSONResponse(cacheControl string, v any) (*response, error) {
	encoded, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	return newResponse("application/json", cacheControl, encoded), nil
}

func encodeJSON(v any) ([]byte, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return encoded, nil
}

// write implements answer.
func (r *response) write(c *call, status int) {
	w := c.echo.Response()
	h := w.Header()
	h.Set("ETag", r.etag)
	h.Set("Cache-Control", r.cacheControl)
	if r.policy != "" {
		h.Set("Content-Security-Policy", r.policy)
	}
	compressed := c.compresses(r.size)
	if hasETag(c.request.Header, r.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", r.contentType)
	if compressed {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(r.compressed)))
		w.WriteHeader(status)
		_, _ = w.Write(r.compressed) // the client may be gone
		return
	}
	h.Set("Content-Length", strconv.Itoa(r.size))
	w.WriteHeader(status)
	if r.plain != nil {
		_, _ = w.Write(r.plain)
		return
	}
	_ = r.expand(w)
}

// content returns the uncompressed response.
func (r *response) content() ([]byte, error) {
	var b bytes.Buffer
	b.Grow(r.size)
	err := r.expand(&b)
	return b.Bytes(), err
}

func (r *response) expand(w io.Writer) error {
	z, err := gzip.NewReader(bytes.NewReader(r.compressed))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z) //nolint:gosec // newResponse compressed it
	return err
}

// etagOf returns the weak entity tag of the content. The tag does not depend on the
// content coding.
func etagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

// hasETag reports whether the caller already has the content with this entity
// tag (RFC 9110, 13.1.2).
func hasETag(request http.Header, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(request.Values("If-None-Match"), ","), ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
