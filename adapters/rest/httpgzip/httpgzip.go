// Package httpgzip compresses HTTP responses, for the API and for the web
// pages.
package httpgzip

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// MinSize is the minimum size, in bytes, of a response that is worth
// compressing. A smaller response fits in one packet anyway.
const MinSize = 1400

// Accepted reports whether the client of a request accepts gzip (RFC 9110,
// 12.5.3). A weight of 0 means that the client does not accept the coding. The
// name "*" means every coding that is not listed.
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

// weight returns the weight in a coding's parameter. Without a parameter, the
// weight is 1. If the parameter is invalid, the weight is 0.
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

// writers pools gzip writers, because each uses a megabyte of memory. They are
// not the standard library's writers, which take twice as long. With those,
// compression would take half the total time of a long response.
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
