// Package httpgzip compresses HTTP answers, for the API and for the pages.
package httpgzip

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// MinSize is the size, in bytes, from which an answer is worth compressing. A
// smaller answer fits in one packet anyway.
const MinSize = 1400

// Accepted reports whether the client of a request accepts gzip (RFC 9110,
// 12.5.3). A weight of 0 refuses it; "*" stands for every coding that is not
// listed.
func Accepted(request http.Header) bool {
	others := false
	for item := range strings.SplitSeq(strings.Join(request.Values("Accept-Encoding"), ","), ",") {
		coding, parameter, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return weight(parameter) > 0
		case "*":
			others = weight(parameter) > 0
		}
	}
	return others
}

// weight returns the weight that a coding's parameter gives: 1 without a
// parameter, 0 if the parameter is not a weight.
func weight(parameter string) float64 {
	name, value, given := strings.Cut(parameter, "=")
	if !given {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 0
	}
	return q
}

// writers are reused, because each takes a megabyte. The standard library's
// writers are not used, because they take twice as long: half the total time of
// a long answer.
var writers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level exists
	}
	return z
}}

// Compress writes body to w as gzip. It ignores write errors, because the
// client may be gone.
func Compress(w io.Writer, body []byte) {
	z := writers.Get().(*gzip.Writer)
	defer writers.Put(z)
	z.Reset(w)
	_, _ = z.Write(body)
	_ = z.Close()
}

// Answer writes an answer compressed.
func Answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	Compress(w, body)
}
