package outage_test

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m, logtest.LostNodes...) }

// echo starts a server that sends all data back, and returns its address.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); _, _ = io.Copy(c, c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

const (
	// The constant short is the time that a test waits for data that must not arrive.
	short = 150 * time.Millisecond
	// The constant patience limits how long a test waits for data that must arrive.
	patience = time.Minute
)

func dial(t *testing.T, p *outage.Proxy) net.Conn {
	c, err := net.DialTimeout("tcp", p.Address(), patience)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// exchange sends a text and returns the bytes that come back within the given
// time.
func exchange(c net.Conn, text string, within time.Duration) (string, error) {
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(within))
	b := make([]byte, len(text))
	n, err := io.ReadFull(c, b)
	return string(b[:n]), err
}

func requirePasses(t *testing.T, c net.Conn) {
	t.Helper()
	back, err := exchange(c, "hello", patience)
	require.NoError(t, err)
	require.Equal(t, "hello", back)
}

func TestOutages(t *testing.T) {
	for _, k := range outage.Kinds {
		t.Run(k.String(), func(t *testing.T) {
			p := outage.New(t, echo(t))
			before := dial(t, p)
			requirePasses(t, before)
			p.Set(k)
			switch k {
			case outage.Refused, outage.Reset:
				_, err := exchange(before, "lost", patience)
				require.Error(t, err)
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			case outage.Hung, outage.OneWay, outage.BlackHoled:
				_, err := exchange(before, "held", short)
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			case outage.Slow:
				requirePasses(t, before)
			}
			within := short
			if k == outage.Refused {
				within = patience // the refusal always arrives
			}
			c, err := net.DialTimeout("tcp", p.Address(), within)
			switch k {
			case outage.Refused:
				require.ErrorContains(t, err, "refused")
			case outage.BlackHoled:
				var late net.Error
				require.ErrorAs(t, err, &late)
				require.True(t, late.Timeout(), "%v", err)
			default: // a reset may arrive before the dial returns
				if err == nil {
					c.Close()
				}
			}
			p.Set(outage.None)
			requirePasses(t, dial(t, p))
			switch k {
			case outage.Hung, outage.OneWay:
				_ = before.SetReadDeadline(time.Now().Add(patience))
				held := make([]byte, 4)
				_, err := io.ReadFull(before, held)
				require.NoError(t, err, "the data that waited during the outage arrives")
				require.Equal(t, "held", string(held))
			case outage.BlackHoled:
				_, err := exchange(before, "still", short)
				require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a lost connection stays lost")
			}
		})
	}
}

func TestCutLosesDataInTransit(t *testing.T) {
	p := outage.New(t, echo(t))
	c := dial(t, p)
	p.Set(outage.OneWay)
	_, err := exchange(c, "said", short)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	p.Cut()
	p.Set(outage.None)
	_, err = exchange(c, "gone", patience)
	require.Error(t, err)
	require.Equal(t, 1, p.Connections())
}

func TestSetTarget(t *testing.T) {
	p := outage.New(t, "127.0.0.1:1")
	_, err := exchange(dial(t, p), "nobody", patience)
	require.Error(t, err)
	p.SetTarget(echo(t))
	requirePasses(t, dial(t, p))
}
