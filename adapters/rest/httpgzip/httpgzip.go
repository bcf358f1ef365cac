// Package httpgzip compresses the HTTP responses of the API and of the web pages.
package httpgzip

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// MinSize is the minimum size, in bytes, at which compressing a response is worthwhile.
// A smaller response fits into one packet anyway.
const MinSize = 1400

// Accepted reports whether the client of a request accepts gzip (RFC 9110, 12.5.3). A
// weight of 0 means that the client does not accept the coding. The name "*" stands for
// every coding that is not listed.
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

// weight returns the weight in a coding's parameter. An empty parameter means 1. If the
// parameter is invalid, weight returns 0.
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

// The variable writers is a pool of gzip writers, because each writer uses a megabyte
// of memory. The writers of the standard library would take twice as long, and
// compression would then take half of the total time of a long response.
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

// Answer writes a compressed response.
func Answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	Compress(w, body)
}
