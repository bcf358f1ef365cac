package connmux

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The function opening() returns the first bytes that an HTTP/2 client sends: its
// settings and a request.
func opening(t testing.TB, contentType string, p http2.HeadersFrameParam) []byte {
	t.Helper()
	var headers, wire bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":path", Value: "/x"}, {Name: "content-type", Value: contentType}} {
		if f.Value != "" {
			require.NoError(t, encoder.WriteField(f))
		}
	}
	wire.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&wire, nil)
	require.NoError(t, framer.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 16}))
	require.NoError(t, framer.WriteWindowUpdate(0, 1<<16))
	p.StreamID, p.BlockFragment, p.EndHeaders = 1, headers.Bytes(), true
	require.NoError(t, framer.WriteHeaders(p))
	return wire.Bytes()
}

// The type scripted is a connection whose reads return the given bytes and then an
// error.
type scripted struct {
	net.Conn
	script io.Reader
	then   error
}

func (c *scripted) Read(p []byte) (int, error) {
	n, err := c.script.Read(p)
	if err != nil {
		err = c.then
	}
	return n, err
}

func (c *scripted) SetReadDeadline(time.Time) error { return nil }

// tooSlow is the error of a read whose deadline has passed.
type tooSlow struct{}

func (tooSlow) Error() string   { return "too slow" }
func (tooSlow) Timeout() bool   { return true }
func (tooSlow) Temporary() bool { return true }

func TestGRPCAndHTTPConnectionsAreRecognized(t *testing.T) {
	priority := http2.PriorityParam{Weight: 7}
	tests := []struct {
		name   string
		sent   []byte
		isGRPC bool
	}{
		{"gRPC", opening(t, "application/grpc", http2.HeadersFrameParam{}), true},
		{"gRPC, with a subtype", opening(t, "application/grpc+proto", http2.HeadersFrameParam{}), true},
		{"gRPC, padded", opening(t, "application/grpc", http2.HeadersFrameParam{PadLength: 9}), true},
		{"gRPC, with priority", opening(t, "application/grpc", http2.HeadersFrameParam{Priority: priority}), true},
		{"gRPC, with priority and padding", opening(t, "application/grpc", http2.HeadersFrameParam{Priority: priority, PadLength: 9}), true},
		{"another content type", opening(t, "application/json", http2.HeadersFrameParam{}), false},
		{"no content type", opening(t, "", http2.HeadersFrameParam{PadLength: 3}), false},
		{"HTTP/1.1", []byte("GET /info HTTP/1.1\r\n\r\n"), false},
		{"HTTP/1.1 that begins like the preface", []byte("PROPFIND / HTTP/1.1\r\n\r\n"), false},
		{"the preface, then nothing", []byte(http2.ClientPreface), true},
		{"settings, then nothing", opening(t, "", http2.HeadersFrameParam{})[:len(http2.ClientPreface)+frameHeader+6], true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var seen bytes.Buffer
			isGRPC, err := sniff(&scripted{script: bytes.NewReader(test.sent), then: tooSlow{}}, &seen)
			require.NoError(t, err)
			require.Equal(t, test.isGRPC, isGRPC)

			rest := bytes.NewReader(test.sent[seen.Len():])
			replay := &replayed{Conn: &scripted{script: rest, then: io.EOF}, start: &seen}
			all, err := io.ReadAll(replay)
			require.NoError(t, err)
			require.Equal(t, test.sent, all, "nothing is lost")
		})
	}
	t.Run("disconnected in the middle of the preface", func(t *testing.T) {
		_, err := sniff(&scripted{script: bytes.NewReader([]byte("PRI *")), then: io.EOF}, new(bytes.Buffer))
		require.Error(t, err)
	})
	t.Run("silent in the middle of the preface", func(t *testing.T) {
		_, err := sniff(&scripted{script: bytes.NewReader([]byte("PRI *")), then: tooSlow{}}, new(bytes.Buffer))
		require.Error(t, err)
	})
}

func FuzzSniff(f *testing.F) {
	f.Add(opening(f, "application/grpc", http2.HeadersFrameParam{}))
	f.Add(opening(f, "text/plain", http2.HeadersFrameParam{PadLength: 200}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte(http2.ClientPreface + "\x00\x00\x01\x01\x08\x00\x00\x00\x01\xff"))
	f.Add([]byte(http2.ClientPreface + "\xff\xff\xff\x01\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		var seen bytes.Buffer
		_, _ = sniff(&scripted{script: bytes.NewReader(sent), then: tooSlow{}}, &seen)
		require.True(t, bytes.HasPrefix(sent, seen.Bytes()))
		require.LessOrEqual(t, seen.Len(), sniffBytes+frameHeader)
	})
}
