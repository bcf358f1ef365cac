package connmux

import (
	"bytes"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// HeaderTimeout is how long a connection may take to send its first request. A
// client that sends the HTTP/2 preface and then nothing for sniffGrace is treated
// as a gRPC client that is waiting for the server.
const (
	HeaderTimeout = 10 * time.Second
	sniffGrace    = 100 * time.Millisecond
	sniffBytes    = 64 << 10
)

// sniff reads until it has the headers of the first request and reports whether the
// request is a gRPC call. It adds the bytes that it has read to the buffer seen. Once
// it has read the HTTP/2 preface, it returns no errors: the gRPC server waits for slow
// clients and rejects invalid requests.
func sniff(conn net.Conn, seen *bytes.Buffer) (isGRPC bool, err error) {
	from := io.TeeReader(conn, seen)
	for i := range len(http2.ClientPreface) {
		var next [1]byte
		if _, err := io.ReadFull(from, next[:]); err != nil {
			return false, err
		}
		if next[0] != http2.ClientPreface[i] {
			return false, nil
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(sniffGrace))
	framer := http2.NewFramer(nil, from)
	for seen.Len() < sniffBytes {
		framer.SetMaxReadFrameSize(uint32(sniffBytes - seen.Len()))
		frame, err := framer.ReadFrame()
		if err != nil {
			return true, nil //nolint:nilerr // the gRPC server will find the same error
		}
		if headers, ok := frame.(*http2.HeadersFrame); ok {
			return hasGRPCContent(headers.HeaderBlockFragment()), nil
		}
	}
	return true, nil
}

// hasGRPCContent reports whether a header block belongs to a gRPC call. It also
// returns true for a block that cannot be decoded, because the gRPC server
// rejects such blocks.
func hasGRPCContent(block []byte) bool {
	found := false
	decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		found = found || f.Name == "content-type" && strings.HasPrefix(f.Value, GRPCContent)
	})
	_, err := decoder.Write(block)
	return found || err != nil
}
