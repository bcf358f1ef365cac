package botwire

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The peer receives each frame as one text message, in order.
func TestSend(t *testing.T) {
	got := make(chan string, 2)
	p := newTLSPeer(t, func(c *peerConn) {
		for {
			op, payload, err := c.readFrame()
			if err != nil || op != 0x1 {
				return
			}
			got <- string(payload)
		}
	})
	line := p.dial(t, newEars().receive)
	big := strings.Repeat("view ", 20_000)
	require.NoError(t, line.Send(t.Context(), []byte("one")))
	require.NoError(t, line.Send(t.Context(), []byte(big)))
	require.Equal(t, "one", <-got)
	require.Equal(t, big, <-got)
}

// If the context of a Send has already ended, Send writes nothing, and the line
// stays usable.
func TestSendWithEndedContext(t *testing.T) {
	got := make(chan string, 1)
	line := newPeer(t, func(c *peerConn) {
		_, payload, _ := c.readFrame()
		got <- string(payload)
	}).dial(t, newEars().receive)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, line.Send(late, []byte("late")), context.Canceled)
	require.NoError(t, line.Send(t.Context(), []byte("in time")))
	require.Equal(t, "in time", <-got)
}

// If the peer's buffers are full when the context ends, Send returns and cuts the line.
func TestSendToAPeerThatDoesNotRead(t *testing.T) {
	for name, start := range map[string]func(testing.TB, script) *peer{"plain": newPeer, "TLS": newTLSPeer} {
		t.Run(name, func(t *testing.T) {
			stop := make(chan struct{})
			p := start(t, func(*peerConn) { <-stop })
			defer close(stop)
			ears := newEars()
			line := p.dial(t, ears.receive)
			ctx, frame := timeout(t, 300*time.Millisecond), make([]byte, 1<<20)
			var err error
			took := finishes(t, "Send", func() {
				for err == nil {
					err = line.Send(ctx, frame)
				}
			})
			require.Error(t, err)
			t.Logf("Send returned %v after %v", err, took)
			finishes(t, "Close", line.Close)
		})
	}
}

// After a pause of this process, the time limit of a write may have passed, although the
// write has succeeded. The line is not cut.
func TestFinishedWriteIsNotCut(t *testing.T) {
	line := newPeer(t, (*peerConn).untilEnd).dial(t, quiet)
	written := make(chan struct{})
	close(written)
	for range 100 {
		line.cutUnless(written, 0)
	}
	require.Nil(t, line.Fault())
}

// No matter what the peer does, Close returns. By then, the line's reading goroutine
// has ended, and receive is not called again.
func TestCloseNeverHangs(t *testing.T) {
	drip := func(c *peerConn, b byte) {
		for {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
		}
	}
	cases := map[string]script{
		"answers the close frame": func(c *peerConn) {
			if op, payload, err := c.readFrame(); err == nil && op == opClose {
				c.write(frame(fin|0x8, payload))
			}
			c.deaf()
		},
		"reads but never answers":  func(c *peerConn) { c.deaf() },
		"neither reads nor writes": nil, // replaced below by a script that blocks until the test ends
		"announces a frame and sends it byte by byte": func(c *peerConn) {
			c.write(announce(FrameLimit))
			drip(c, 'x')
		},
		"announces a ping and never completes it": func(c *peerConn) { c.write([]byte{fin | 0x9, 125}) },
		"floods": func(c *peerConn) { drip(c, 0x80) },
	}
	for name, s := range cases {
		for kind, start := range map[string]func(testing.TB, script) *peer{"plain": newPeer, "TLS": newTLSPeer} {
			t.Run(name+", "+kind, func(t *testing.T) {
				stop := make(chan struct{})
				defer close(stop)
				p := start(t, func(c *peerConn) {
					if s != nil {
						s(c)
					}
					<-stop
				})
				line := p.dial(t, newEars().receive)
				took := finishes(t, "Close", line.Close)
				select {
				case <-line.done:
				default:
					require.Fail(t, "the reader outlived Close")
				}
				t.Logf("closed after %v", took)
				finishes(t, "a second Close", line.Close)
			})
		}
	}
}

// Close unblocks a Send that has no deadline.
func TestCloseWhileSendIsBlocked(t *testing.T) {
	stop := make(chan struct{})
	p := newPeer(t, func(*peerConn) { <-stop })
	defer close(stop)
	line := p.dial(t, newEars().receive)
	sent := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			err = line.Send(context.Background(), make([]byte, 1<<20))
		}
		sent <- err
	}()
	finishes(t, "Close", line.Close)
	finishes(t, "Send", func() { require.ErrorIs(t, <-sent, ErrGone) })
}

// After Close, the line does not call receive again, neither for late frames nor with
// CauseDropped.
func TestNoReceiveAfterClose(t *testing.T) {
	const frames = 5000 // within the budget, so that the line is not cut before Close
	ears, closing := newEars(), make(chan struct{})
	line := newPeer(t, func(c *peerConn) {
		c.write(text("more"))
		<-closing
		for range frames {
			c.write(text("more"))
		}
		c.untilEnd()
	}).dial(t, ears.receive)
	require.Equal(t, heard{frame: "more"}, ears.next(t))
	close(closing)
	line.Close()
	for len(ears) > 0 {
		require.Equal(t, heard{frame: "more"}, <-ears)
	}
	require.Empty(t, ears)
}

// The context of a Send does not affect reads.
func TestReceiveAfterSendContextEnds(t *testing.T) {
	ears := newEars()
	line := newPeer(t, func(c *peerConn) {
		_, _, _ = c.readFrame()
		_, _, _ = c.readFrame()
		c.write(text("late"))
		c.untilEnd()
	}).dial(t, ears.receive)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, line.Send(ctx, []byte("ask")))
	cancel()
	require.NoError(t, line.Send(t.Context(), []byte("ask again")))
	require.Equal(t, heard{frame: "late"}, ears.next(t))
}

func TestCutLineLeavesOtherLines(t *testing.T) {
	calm, loud := newEars(), newEars()
	stay := newPeer(t, func(c *peerConn) { _, _, _ = c.readFrame(); c.write(text("here")); c.untilEnd() })
	line := stay.dial(t, calm.receive)
	newPeer(t, func(c *peerConn) {
		for {
			if _, err := c.Write(text("noise")); err != nil {
				return
			}
		}
	}).dial(t, loud.receive)
	loud.last(t)
	require.NoError(t, line.Send(t.Context(), []byte("there?")))
	require.Equal(t, heard{frame: "here"}, calm.next(t))
}
