package bench

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadsRejectsSizesThatDoNotRise(t *testing.T) {
	for _, sizes := range [][]int{nil, {0}, {10, 10}, {10, 5}} {
		require.Error(t, asText(readsCmd{Matches: sizes, Bots: 10, Seconds: 1}).Run(t.Context(), printingTo(io.Discard)))
	}
}
