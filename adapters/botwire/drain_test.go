package botwire

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Frames reach the socket while the line's reader is blocked. By the time Drain
// returns, receive has been called with all of them.
func TestDrain(t *testing.T) {
	for name, start := range map[string]func(testing.TB, script) *peer{"plain": newPeer, "TLS": newTLSPeer} {
		t.Run(name, func(t *testing.T) {
			written, held, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
			ears := newEars()
			line := start(t, func(c *peerConn) {
				for i := range 50 {
					c.write(text(strconv.Itoa(i)))
				}
				<-held
				for i := range 50 {
					c.write(text(strconv.Itoa(50 + i)))
				}
				arrived(t, c)
				close(written)
				c.untilEnd()
			}).dial(t, func() Receive {
				once := sync.OnceFunc(func() { close(held); <-release })
				return func(frame []byte, cause string) { once(); ears.receive(frame, cause) }
			}())
			<-written
			require.Empty(t, ears, "the reader is blocked")
			drained := make(chan struct{})
			go func() { defer close(drained); line.Drain(context.Background()) }()
			close(release)
			<-drained
			require.Len(t, ears, 100)
		})
	}
}

// When Drain is called, the reader may be anywhere between reading a frame and passing
// it on. Drain never misses a frame that arrived before the call.
func TestDrainMissesNoFrame(t *testing.T) {
	ask, there := make(chan struct{}), make(chan struct{})
	ears := newEars()
	line := newPeer(t, func(c *peerConn) {
		for range ask {
			c.write(text("x"))
			arrived(t, c)
			there <- struct{}{}
		}
		c.untilEnd()
	}).dial(t, ears.receive)
	defer close(ask)
	for i := range 2000 {
		ask <- struct{}{}
		<-there
		line.Drain(t.Context())
		require.Len(t, ears, i+1)
	}
}

// Drain returns immediately if the line is idle, has received half a frame, or
// is closed.
func TestDrainReturnsImmediatelyWithoutFrames(t *testing.T) {
	written := make(chan struct{})
	line := newPeer(t, func(c *peerConn) {
		c.write(text("whole")[:3])
		arrived(t, c)
		close(written)
		c.untilEnd()
	}).dial(t, newEars().receive)
	<-written
	finishes(t, "Drain", func() { line.Drain(t.Context()) })
	line.Close()
	finishes(t, "Drain of a closed line", func() { line.Drain(t.Context()) })
}

// If receive is blocked, Drain waits for it only for a limited time. The limit is
// shorter if the context has ended. In both cases, the reader gets the grace, because it may
// not have run if this process was paused.
func TestDrainIsBounded(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	p := newPeer(t, func(c *peerConn) { c.write(text("x")); c.untilEnd() })
	d := p.dialer()
	d.draining = drainTime
	line, _, err := d.Dial(t.Context(), p.url, "m-1", Upgrade{}, func(_ []byte, cause string) {
		if cause == "" {
			close(held)
			<-release
		}
	})
	require.NoError(t, err)
	t.Cleanup(line.Close)
	defer close(release)
	<-held
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.GreaterOrEqual(t, finishes(t, "Drain", func() { line.Drain(ended) }), drainGrace)
	line.drain = 0
	for range 10 { // both limits have passed, as after a pause
		require.GreaterOrEqual(t, finishes(t, "Drain", func() { line.Drain(ended) }), drainGrace)
	}
	line.drain = drainTime
	require.GreaterOrEqual(t, finishes(t, "Drain", func() { line.Drain(context.Background()) }), drainTime+drainGrace)
}
