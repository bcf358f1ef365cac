package botwire

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A peer writes the same bytes repeatedly, as fast as possible, until the line
// is cut. The test prints how long this takes.
func TestFloodsAreCut(t *testing.T) {
	cases := map[string][]byte{
		"pings":                     frame(fin|0x9, nil),
		"pings with a payload":      frame(fin|0x9, make([]byte, 125)),
		"unsolicited pongs":         frame(fin|0xA, nil),
		"empty fragments":           frame(0x0, nil),
		"empty messages":            text(""),
		"messages of one byte":      text("x"),
		"messages of 40 bytes":      text(strings.Repeat("x", 40)),
		"messages of 64 KiB":        text(strings.Repeat("x", FrameLimit)),
		"answers without a request": text(`{"id":1,"action":{"type":"end_turn"}}`),
		"binary messages of a byte": frame(fin|0x2, []byte{0xFF}),
	}
	for name, one := range cases {
		for kind, start := range map[string]func(testing.TB, script) *peer{"plain": newPeer, "TLS": newTLSPeer} {
			t.Run(name+", "+kind, func(t *testing.T) {
				var began atomic.Int64
				chunk := bytes.Repeat(one, max(1, 16<<10/len(one)))
				first := []byte(nil)
				if one[0] == 0 {
					first = frame(0x1, []byte("x")) // fragments must follow a first frame
				}
				p := start(t, func(c *peerConn) {
					var listening sync.WaitGroup
					listening.Go(c.deaf)
					defer func() { _ = c.Close(); listening.Wait() }()
					began.Store(time.Now().UnixNano())
					c.write(first)
					for {
						if _, err := c.Write(chunk); err != nil {
							return
						}
					}
				})
				ears := newEars()
				p.dial(t, ears.receive)
				before := ears.last(t)
				t.Logf("cut after %v and %d messages", time.Duration(time.Now().UnixNano()-began.Load()).Round(time.Microsecond), before)
			})
		}
	}
}

// The line is cut when an endless message reaches the size limit. The message
// consists of fragments of one byte.
func TestEndlessMessageIsCutAtTheLimit(t *testing.T) {
	ears := newEars()
	newPeer(t, func(c *peerConn) {
		chunk := bytes.Repeat(frame(0x0, []byte("x")), 4096)
		c.write(frame(0x1, []byte("x")))
		for {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	}).dial(t, ears.receive)
	require.Equal(t, oversized, ears.next(t))
	require.Equal(t, dropped, ears.next(t))
}

// A bot may send 15 messages of 64 KiB in one burst without exceeding its budget.
func TestBudgetIsOneMebibyte(t *testing.T) {
	ears := newEars()
	newPeer(t, func(c *peerConn) {
		for range 15 {
			c.write(text(strings.Repeat("x", FrameLimit)))
		}
		c.write(text(after.frame))
		c.untilEnd()
	}).dial(t, ears.receive)
	for range 15 {
		require.Len(t, ears.next(t).frame, FrameLimit)
	}
	require.Equal(t, after, ears.next(t))
}

func TestBucket(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(ms int64) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	b := newBucket(100, 100, start)
	require.True(t, b.take(100, at(0)), "a full bucket")
	require.False(t, b.take(1, at(0)), "an empty bucket")
	require.False(t, b.take(1, at(10)), "rejected tokens count as taken")
	require.True(t, b.take(1, at(30)))
	require.True(t, b.take(100, at(60_000)), "a long pause fills it only to its size")
	require.False(t, b.take(1, at(60_000)))
}

// TestHeapPerSocket prints how much heap a line uses when it is idle, and when it
// has received part of the largest message.
func TestHeapPerSocket(t *testing.T) {
	const lines = 100
	for name, start := range map[string]func(testing.TB, script) *peer{"plain": newPeer, "TLS": newTLSPeer} {
		t.Run(name, func(t *testing.T) {
			half, written := make(chan struct{}), make(chan struct{}, lines)
			p := start(t, func(c *peerConn) {
				<-half
				c.write(frame(0x1, make([]byte, FrameLimit-1)))
				written <- struct{}{}
				c.untilEnd()
			})
			before, opened := heap(), make([]*Line, lines)
			for i := range opened {
				opened[i] = p.dial(t, quiet)
			}
			idle := heap()
			close(half)
			for range opened {
				<-written
			}
			for _, l := range opened {
				l.Drain(t.Context())
			}
			full := heap()
			t.Logf("heap of a socket and the test's own peer: %d B when idle, %d B during a message of 64 KiB",
				(idle-before)/lines, (full-before)/lines)
			require.Less(t, (full-before)/lines, int64(256<<10))
			for _, l := range opened {
				go l.Close()
			}
			for _, l := range opened {
				<-l.done
			}
		})
	}
}

func quiet([]byte, string) {}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
