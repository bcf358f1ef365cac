package membership

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While the machine was suspended, the monotonic clock stood still.
func TestGateClosesAfterASuspension(t *testing.T) {
	var suspended time.Duration
	g := newGate()
	g.wall = func() time.Time { return time.Now().Round(0).Add(suspended) }
	require.NotNil(t, g.closed())
	opened := g.closed()
	g.open(time.Now())
	<-opened
	require.Nil(t, g.closed())
	require.True(t, g.extend(time.Now()))

	before := time.Now()
	suspended = 30 * time.Second
	require.NotNil(t, g.closed())
	require.False(t, g.extend(before), "the process reads the assignments first")

	g.open(time.Now().Add(suspended)) // a heartbeat after the suspension
	require.Nil(t, g.closed())
	suspended = 0
	require.Nil(t, g.closed(), "the wall clock was set back")
	g.close()
	require.NotNil(t, g.closed())
}

// The wall clock is set forward, and then back before the next heartbeat.
func TestGateWakesAfterAWrongClock(t *testing.T) {
	var wrong time.Duration
	g := newGate()
	g.wall = func() time.Time { return time.Now().Round(0).Add(wrong) }
	g.open(time.Now())
	wrong = time.Minute
	opened := g.closed()
	require.NotNil(t, opened)
	wrong = 0
	require.True(t, g.extend(time.Now()))
	select {
	case <-opened:
	default:
		require.Fail(t, "a caller that saw the gate closed must wake up")
	}
}
