package connmux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// HeaderTimeout is how long a connection may take to send its first request. A
// client that sends the HTTP/2 preface and then nothing for sniffGrace is taken for
// a gRPC client that waits for the server.
const (
	HeaderTimeout = 10 * time.Second
	sniffGrace    = 100 * time.Millisecond
	sniffBytes    = 64 << 10
	frameHeader   = 9
)

// sniffer remembers what it reads.
type sniffer struct {
	conn net.Conn
	seen bytes.Buffer
}

// need reads until it has n bytes.
func (s *sniffer) need(n int) error {
	if missing := n - s.seen.Len(); missing > 0 {
		_, err := io.CopyN(&s.seen, s.conn, int64(missing))
		return err
	}
	return nil
}

// isGRPC reads up to the first request's headers and reports whether it is a gRPC
// call.
func (s *sniffer) isGRPC() (bool, error) {
	for n := 1; n <= len(http2.ClientPreface); n++ {
		if err := s.need(n); err != nil {
			return false, err
		}
		if s.seen.Bytes()[n-1] != http2.ClientPreface[n-1] {
			return false, nil
		}
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(sniffGrace))
	at := len(http2.ClientPreface)
	for at < sniffBytes {
		headers, next, err := s.frame(at)
		var slow net.Error
		switch {
		case errors.As(err, &slow) && slow.Timeout():
			return true, nil
		case err != nil:
			return false, err
		case headers != nil:
			return hasGRPCContent(headers), nil
		}
		at = next
	}
	return true, nil
}

// frame reads the frame at an offset. For a HEADERS frame it returns the header
// block.
func (s *sniffer) frame(at int) (headers []byte, next int, err error) {
	if err := s.need(at + frameHeader); err != nil {
		return nil, 0, err
	}
	head := s.seen.Bytes()[at : at+frameHeader]
	size := int(binary.BigEndian.Uint32(head) >> 8)
	kind, flags := http2.FrameType(head[3]), http2.Flags(head[4])
	next = at + frameHeader + size
	if next > sniffBytes {
		return nil, next, nil
	}
	if err := s.need(next); err != nil {
		return nil, 0, err
	}
	if kind != http2.FrameHeaders {
		return nil, next, nil
	}
	return headerBlock(s.seen.Bytes()[at+frameHeader:next], flags), next, nil
}

// headerBlock returns a HEADERS frame's payload without padding and priority.
func headerBlock(payload []byte, flags http2.Flags) []byte {
	if flags.Has(http2.FlagHeadersPadded) && len(payload) > 0 {
		padding := int(payload[0])
		payload = payload[1:max(1, len(payload)-padding)]
	}
	if flags.Has(http2.FlagHeadersPriority) {
		payload = payload[min(5, len(payload)):]
	}
	return append([]byte{}, payload...)
}

// hasGRPCContent reports whether a header block belongs to a gRPC call. The gRPC
// server rejects blocks that cannot be decoded.
func hasGRPCContent(block []byte) bool {
	found := false
	decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		found = found || f.Name == "content-type" && strings.HasPrefix(f.Value, GRPCContent)
	})
	_, err := decoder.Write(block)
	return found || err != nil
}
