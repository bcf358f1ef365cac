package connmux

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"pgregory.net/rapid"
)

// The type recorder is a connection that keeps the bytes of all writes.
type recorder struct {
	net.Conn
	sent bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) { return r.sent.Write(p) }

// frames returns the kinds and the payloads of frames.
func frames(t require.TestingT, from io.Reader) (kinds []http2.FrameHeader, payloads [][]byte) {
	framer := http2.NewFramer(nil, from)
	for {
		f, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) {
			return kinds, payloads
		}
		require.NoError(t, err)
		payload := []byte{}
		switch f := f.(type) {
		case *http2.DataFrame:
			payload = bytes.Clone(f.Data())
		case *http2.PingFrame:
			payload = bytes.Clone(f.Data[:])
		}
		kinds, payloads = append(kinds, f.Header()), append(payloads, payload)
	}
}

func TestFramesOfOneCallAreMerged(t *testing.T) {
	var conn recorder
	var written bytes.Buffer
	framer := http2.NewFramer(&written, nil)
	for _, data := range []string{"a", "b", "c"} {
		require.NoError(t, framer.WriteData(1, false, []byte(data)))
	}
	require.NoError(t, framer.WriteData(3, false, []byte("other")))
	require.NoError(t, framer.WriteData(3, true, []byte("end")))
	c := &merged{Conn: &conn}
	n, err := c.Write(written.Bytes())
	require.NoError(t, err)
	require.Equal(t, written.Len(), n)
	_, payloads := frames(t, &conn.sent)
	require.Equal(t, [][]byte{[]byte("abc"), []byte("other"), []byte("end")}, payloads)
}

// However gRPC divides its frames into writes, each call gets the same bytes in the same
// order, and all other frames stay as they are.
func TestMergedFramesHaveTheSameContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written bytes.Buffer
		framer := http2.NewFramer(&written, nil)
		for range rapid.IntRange(0, 12).Draw(t, "frames") {
			if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
				require.NoError(t, framer.WritePing(false, [8]byte{1}))
				continue
			}
			size := rapid.OneOf(rapid.IntRange(0, 20), rapid.SampledFrom([]int{framePayload / 2, framePayload})).Draw(t, "size")
			stream := rapid.SampledFrom([]uint32{1, 3}).Draw(t, "stream")
			require.NoError(t, framer.WriteData(stream, rapid.IntRange(0, 9).Draw(t, "end") == 0, bytes.Repeat([]byte{byte(size)}, size)))
		}
		var conn recorder
		c := &merged{Conn: &conn}
		for rest := written.Bytes(); len(rest) > 0; {
			n := min(len(rest), rapid.OneOf(rapid.IntRange(1, 15), rapid.IntRange(1, 40_000)).Draw(t, "write"))
			_, err := c.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.Empty(t, c.buf)
		require.Equal(t, contents(t, &written), contents(t, &conn.sent))
	})
}

// contents returns the payloads of frames, without the limits between adjacent DATA
// frames of one call.
func contents(t require.TestingT, from io.Reader) (all []string) {
	kinds, payloads := frames(t, from)
	var last http2.FrameHeader
	for i, kind := range kinds {
		require.LessOrEqual(t, kind.Length, uint32(framePayload))
		kind.Length = 0
		if i > 0 && kind == last && kind.Type == http2.FrameData && kind.Flags == 0 {
			all[len(all)-1] += string(payloads[i])
			continue
		}
		last = kind
		all = append(all, kind.String()+string(payloads[i]))
	}
	return all
}
