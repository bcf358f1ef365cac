package api

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// minCompressed is how many bytes an answer has at least to be compressed:
// fewer fit a packet anyway.
const minCompressed = 1400

// compresses says whether an answer of size bytes is compressed. Those for a
// known caller never are: their length would tell of what is secret in them.
func (c *call) compresses(size int) bool {
	if c.caller.OwnerID != "" || size < minCompressed {
		return false
	}
	c.header().Add("Vary", "Accept-Encoding")
	return acceptsGzip(c.request.Header)
}

// acceptsGzip says whether the answer may be in gzip (RFC 9110, 12.5.3).
func acceptsGzip(h http.Header) bool {
	wild := false
	for _, item := range strings.Split(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, parameter, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return weight(parameter) > 0
		case "*":
			wild = weight(parameter) > 0
		}
	}
	return wild
}

// weight is that of a coding's parameter: 1 where it has none, 0 where it is
// no weight.
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

func writeCompressed(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	compress(w, body)
}

// compressors are to be used again: each takes a megabyte. They are not the
// standard library's, which take twice as long: half of a long answer's time.
var compressors = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // there is such a level
	}
	return z
}}

func compress(w io.Writer, body []byte) {
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(w)
	_, _ = z.Write(body) // who went away needs no answer
	_ = z.Close()
}
