package botwire

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzScanner checks that splitting a stream into pieces changes neither the
// forwarded bytes, nor the cost, nor the verdict.
func FuzzScanner(f *testing.F) {
	for _, seed := range [][]byte{
		text("hello"), masked("x"), announce(1 << 40), frame(fin|0x9, []byte("ping")),
		join(fragments("hello, world", 3)), frame(fin|0x8, []byte{3, 232}), {0x41, 0}, {fin | 0x1, 126, 0xFF},
		append(frame(0x1, bytes.Repeat([]byte("x"), 300)), frame(fin, bytes.Repeat([]byte("y"), 65_300))...),
	} {
		f.Add(seed, uint8(1))
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		var whole scanner
		pass, toll, v := whole.feed(stream)
		require.LessOrEqual(t, pass, len(stream))
		require.Equal(t, v == vFine, pass == len(stream) && v == vFine)

		n, size := 0, int(step)%17+1
		var pieces scanner
		cost, pings, got := 0, 0, vFine
		for at := 0; at < len(stream) && got == vFine; at += size {
			p := stream[at:min(at+size, len(stream))]
			k, c, verdict := pieces.feed(p)
			require.LessOrEqual(t, k, len(p))
			n, cost, pings, got = n+k, cost+c.cost, pings+c.pings, verdict
		}
		require.Equal(t, v, got)
		require.Equal(t, toll.pings, pings)
		if v == vFine {
			require.Equal(t, pass, n)
			require.Equal(t, toll.cost, cost)
			require.Equal(t, whole, pieces)
		}
		// If a header straddles two pieces, its first part, at most 9 bytes,
		// has already been forwarded.
		require.GreaterOrEqual(t, n, pass)
		require.LessOrEqual(t, n, pass+9)
	})
}
