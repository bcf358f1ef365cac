package botwire

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	dropped   = heard{cause: "dropped"}
	oversized = heard{cause: "oversized"}
	// The variable after contains the peer's last frame, which shows that the line
	// still works.
	after = heard{frame: "after"}
)

// The function fragments() splits a text message into frames of n bytes.
func fragments(message string, n int) (frames [][]byte) {
	op := byte(0x1)
	for len(message) > n {
		frames = append(frames, frame(op, []byte(message[:n])))
		message, op = message[n:], 0x0
	}
	return append(frames, frame(fin|op, []byte(message)))
}

func join(frames [][]byte) []byte { return bytes.Join(frames, nil) }

// The function masked() builds a masked frame. Only clients may mask frames, and a bot
// is a server.
func masked(payload string) []byte {
	f := append([]byte{fin | 0x1, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
	return f
}

// announce builds the header of a text frame, without a payload.
func announce(length uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{fin | 0x1, 127}, length)
}

// After a peer has written the bytes of a case, the line has called receive exactly as
// expected, in order.
func TestReceiveFrames(t *testing.T) {
	full, over := strings.Repeat("x", FrameLimit), strings.Repeat("x", FrameLimit+1)
	cases := map[string]struct {
		bytes []byte
		want  []heard
	}{
		"a text frame":                                 {text("hello"), []heard{{frame: "hello"}, after}},
		"two frames in one write":                      {append(text("a"), text("b")...), []heard{{frame: "a"}, {frame: "b"}, after}},
		"an empty frame":                               {text(""), []heard{{}, after}},
		"65,536 bytes in one frame":                    {text(full), []heard{{frame: full}, after}},
		"65,536 bytes in fragments":                    {join(fragments(full, 1000)), []heard{{frame: full}, after}},
		"65,536 fragments of one byte":                 {join(fragments(full, 1)), []heard{{frame: full}, after}},
		"a ping between fragments":                     {join([][]byte{frame(0x1, []byte("a")), frame(fin|0x9, nil), frame(fin, []byte("b"))}), []heard{{frame: "ab"}, after}},
		"a character split across fragments":           {join(fragments("é", 1)), []heard{{frame: "é"}, after}},
		"65,537 bytes":                                 {text(over), []heard{oversized, dropped}},
		"65,537 bytes in fragments":                    {join(fragments(over, 1000)), []heard{oversized, dropped}},
		"65,537 fragments of one byte":                 {join(fragments(over, 1)), []heard{oversized, dropped}},
		"65,537 binary bytes":                          {frame(fin|0x2, []byte(over)), []heard{oversized, dropped}},
		"65,537 bytes after a valid frame":             {append(text("a"), text(over)...), []heard{{frame: "a"}, oversized, dropped}},
		"a header that announces 65,537 bytes":         {announce(FrameLimit + 1), []heard{oversized, dropped}},
		"a header that announces 1 TiB":                {announce(1 << 40), []heard{oversized, dropped}},
		"a length with the top bit set":                {announce(1<<63 + 5), []heard{dropped}},
		"fragment lengths whose sum needs 64 bits":     {join([][]byte{frame(0x1, []byte("ab")), binary.BigEndian.AppendUint64([]byte{fin, 127}, 1<<63-1)}), []heard{oversized, dropped}},
		"a fragment length with the top bit set":       {join([][]byte{frame(0x1, []byte("ab")), binary.BigEndian.AppendUint64([]byte{fin, 127}, 1<<64-1)}), []heard{dropped}},
		"binary bytes that are not text":               {frame(fin|0x2, []byte("\x00\xFFok")), []heard{{"\x00\uFFFDok", "malformed"}, after}},
		"binary bytes that are valid text":             {frame(fin|0x2, []byte("ok")), []heard{{"ok", "malformed"}, after}},
		"invalid UTF-8":                                {text("a\xC3(b"), []heard{{"a\uFFFD(b", "malformed"}, after}},
		"half of a surrogate pair":                     {text("\xED\xA0\x80"), []heard{{"\uFFFD", "malformed"}, after}},
		"a masked frame":                               {masked("hello"), []heard{dropped}},
		"a masked frame after a valid frame":           {append(text("a"), masked("b")...), []heard{{frame: "a"}, dropped}},
		"a masked ping":                                {[]byte{fin | 0x9, 0x80, 0, 0, 0, 0}, []heard{dropped}},
		"reserved bit 1":                               {frame(fin|0x40|0x1, []byte("a")), []heard{dropped}},
		"reserved bit 2":                               {frame(fin|0x20|0x1, []byte("a")), []heard{dropped}},
		"reserved bit 3":                               {frame(fin|0x10|0x1, []byte("a")), []heard{dropped}},
		"reserved opcode 3":                            {frame(fin|0x3, []byte("a")), []heard{dropped}},
		"reserved opcode 7":                            {frame(fin|0x7, []byte("a")), []heard{dropped}},
		"reserved opcode 11":                           {frame(fin|0xB, nil), []heard{dropped}},
		"reserved opcode 15":                           {frame(fin|0xF, nil), []heard{dropped}},
		"a fragmented ping":                            {frame(0x9, nil), []heard{dropped}},
		"a ping of 126 bytes":                          {frame(fin|0x9, make([]byte, 126)), []heard{dropped}},
		"a continuation without a first frame":         {frame(fin, []byte("a")), []heard{dropped}},
		"a message that starts inside another message": {append(frame(0x1, []byte("a")), text("b")...), []heard{dropped}},
		"a close frame":                                {frame(fin|0x8, []byte{3, 232}), []heard{dropped}},
		"a close frame of one byte":                    {frame(fin|0x8, []byte{3}), []heard{dropped}},
		"a close frame with code 1005":                 {frame(fin|0x8, []byte{3, 237}), []heard{dropped}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range []*peer{newPeer(t, says(c.bytes)), newTLSPeer(t, says(c.bytes))} {
				ears := newEars()
				p.dial(t, ears.receive)
				for _, want := range c.want {
					require.Equal(t, brief(want), brief(ears.next(t)))
				}
				require.Empty(t, ears)
			}
		})
	}
}

// The function says() returns a script that writes the bytes b, followed by one valid
// frame.
func says(b []byte) script {
	return func(c *peerConn) {
		c.write(b, text(after.frame))
		c.untilEnd()
	}
}

// 65,536 fragments of one byte are legal even if each arrives in a separate packet.
func TestReceiveFragmentsInSeparateWrites(t *testing.T) {
	full := strings.Repeat("x", FrameLimit)
	ears := newEars()
	newPeer(t, func(c *peerConn) {
		for _, f := range fragments(full, 1) {
			c.write(f)
		}
		c.untilEnd()
	}).dial(t, ears.receive)
	require.Equal(t, brief(heard{frame: full}), brief(ears.next(t)))
}

// The line receives frames whose bytes arrive one by one.
func TestReceiveSlowBytes(t *testing.T) {
	ears := newEars()
	newPeer(t, func(c *peerConn) {
		for _, b := range join([][]byte{text("slow"), frame(fin|0x9, []byte("p")), text("slower")}) {
			c.write([]byte{b})
		}
		c.untilEnd()
	}).dial(t, ears.receive)
	require.Equal(t, heard{frame: "slow"}, ears.next(t))
	require.Equal(t, heard{frame: "slower"}, ears.next(t))
}

// No matter how a peer ends the connection, receive is called with CauseDropped exactly
// once.
func TestLineEndsOnce(t *testing.T) {
	cases := map[string]script{
		"closes immediately":         func(*peerConn) {},
		"closes inside a header":     func(c *peerConn) { c.write([]byte{fin | 0x1}) },
		"closes inside a payload":    func(c *peerConn) { c.write(text("hello")[:4]) },
		"closes inside a ping":       func(c *peerConn) { c.write([]byte{fin | 0x9, 5, 'a'}) },
		"closes between fragments":   func(c *peerConn) { c.write(frame(0x1, []byte("a"))) },
		"resets the connection":      func(c *peerConn) { _ = c.Conn.(*net.TCPConn).SetLinger(0) },
		"closes only its write side": func(c *peerConn) { _ = c.Conn.(*net.TCPConn).CloseWrite(); c.untilEnd() },
		"closes after a close frame": func(c *peerConn) { c.write(frame(fin|0x8, []byte{3, 233})); c.untilEnd() },
	}
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			ears := newEars()
			line := newPeer(t, s).dial(t, ears.receive)
			require.Equal(t, dropped, ears.next(t))
			finishes(t, "the reader", func() { <-line.done })
			require.ErrorIs(t, line.Send(t.Context(), []byte("x")), ErrGone)
			require.Empty(t, ears)
		})
	}
}

// The close frame contains the reason for the cut.
func TestCutLineSendsCloseCode(t *testing.T) {
	cases := map[string]struct {
		bytes []byte
		code  uint16
	}{
		"oversized": {announce(FrameLimit + 1), 1009},
		"protocol":  {masked("x"), 1002},
		"flood":     {bytes.Repeat(frame(fin|0x9, nil), 2*pingRate), 1008},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			codes := make(chan uint16, 1)
			ears := newEars()
			newPeer(t, func(pc *peerConn) {
				pc.write(c.bytes)
				for {
					op, payload, err := pc.readFrame()
					if err != nil || op == opClose {
						codes <- binary.BigEndian.Uint16(append(payload, 0, 0))
						return
					}
				}
			}).dial(t, ears.receive)
			require.Equal(t, c.code, <-codes)
		})
	}
}

// Pongs count against the byte budget but not against the ping budget. A peer that
// sends many pongs may still send a full burst of pings.
func TestPongsAreNotPings(t *testing.T) {
	ears := newEars()
	newPeer(t, func(c *peerConn) {
		c.write(bytes.Repeat(frame(fin|0xA, nil), 10*pingRate), bytes.Repeat(frame(fin|0x9, nil), pingRate))
		for range pingRate {
			if op, _, err := c.readFrame(); err != nil || op != opPong {
				return
			}
		}
		c.write(text(after.frame))
		c.untilEnd()
	}).dial(t, ears.receive)
	require.Equal(t, after, ears.next(t))
}

// The line answers a burst of up to a hundred pings, in order.
func TestPingsAreAnswered(t *testing.T) {
	pongs := make(chan string, pingRate)
	ears := newEars()
	newPeer(t, func(c *peerConn) {
		defer close(pongs)
		for i := range pingRate {
			c.write(frame(fin|0x9, []byte{byte(i)}))
		}
		for range pingRate {
			op, payload, err := c.readFrame()
			if err != nil || op != opPong {
				return
			}
			pongs <- string(payload)
		}
		c.write(text(after.frame))
		c.untilEnd()
	}).dial(t, ears.receive)
	require.Equal(t, after, ears.next(t))
	for i := range pingRate {
		require.Equal(t, string([]byte{byte(i)}), <-pongs)
	}
}
