package quota

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:5":              "192.0.2.1",
		"[::ffff:192.0.2.1]:5":     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:5": "2001:db8:1:2::/64",
		"[2001:db8:1:2::1]:6":      "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:6":      "2001:db8:1:3::/64",
		"[fe80::1%lo]:6":           "fe80::/64",
		"@":                        "@",
	} {
		require.Equal(t, want, Network(text(address)), address)
	}
}

type text string

func (text) Network() string  { return "tcp" }
func (t text) String() string { return string(t) }
func at(second int) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(second) * time.Second)
}

var _ net.Addr = text("")

func TestCounter(t *testing.T) {
	c := NewCounter(Limit{Total: 3, PerNetwork: 2})
	require.True(t, c.Take("a"))
	require.True(t, c.Take("a"))
	require.False(t, c.Take("a"), "network a has reached its limit")
	require.True(t, c.Take("b"))
	require.False(t, c.Take("c"), "the total")
	c.Give("a")
	require.True(t, c.Take("c"))
	used, refused := c.Count()
	require.Equal(t, 3, used)
	require.EqualValues(t, 2, refused)
	for _, network := range []string{"a", "b", "c"} {
		c.Give(network)
	}
	require.Empty(t, c.used, "unused networks are forgotten")
	unlimited := NewCounter(Limit{})
	for range 100 {
		require.True(t, unlimited.Take("a"))
	}
}

func TestMeter(t *testing.T) {
	m := NewMeter(Rate{Burst: 5, Every: time.Second}, Rate{Burst: 3, Every: 10 * time.Second})
	require.Zero(t, m.Take("a", 3, at(0)))
	require.Equal(t, 10*time.Second, m.Take("a", 1, at(0)), "a has used its burst")
	require.Equal(t, 20*time.Second, m.Take("a", 2, at(0)))
	require.Zero(t, m.Take("b", 2, at(0)), "b has its own allowance")
	require.Equal(t, time.Second, m.Take("c", 1, at(0)), "the total is used up")
	require.Zero(t, m.Take("c", 1, at(1)))
	require.Equal(t, time.Second, m.Take("a", 1, at(9)))
	require.Zero(t, m.Take("a", 1, at(10)))
	require.EqualValues(t, 4, m.Refused())
}

// The meter forgets a network once its allowance is back to full.
func TestMeterForgets(t *testing.T) {
	m := NewMeter(Rate{Burst: 1 << 20, Every: time.Nanosecond}, Rate{Burst: 1, Every: time.Second})
	for i := range 10 * remembered {
		require.Zero(t, m.Take(fmt.Sprint(i), 1, at(i/100)))
		require.LessOrEqual(t, len(m.whole), remembered)
	}
}
