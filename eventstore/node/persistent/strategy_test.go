package persistent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Consumers share the buckets evenly. When a consumer leaves, its buckets go to the
// remaining consumers.
func TestConsumersShareBucketsEvenly(t *testing.T) {
	b := newStrategy(pinnedByStream).(*buckets)
	workers := []*consumer{{size: 1}, {size: 1}, {size: 1}}
	for i, c := range workers {
		b.add(c)
		for _, other := range workers[:i+1] {
			require.InDelta(t, bucketCount/(i+1), b.count[other], 2)
		}
	}
	b.remove(workers[1])
	require.Equal(t, bucketCount, b.count[workers[0]]+b.count[workers[2]])
	require.InDelta(t, b.count[workers[0]], b.count[workers[2]], 2)
	for pin := range uint32(bucketCount) {
		require.Contains(t, []*consumer{workers[0], workers[2]}, b.pick(pin))
	}
	b.remove(workers[0])
	b.remove(workers[2])
	require.Nil(t, b.pick(0))
}
