package openlog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/record"
)

// After returns all records after a position, without a gap, or reports that the tail
// no longer contains all of them.
func TestAfterSkipsNoRecords(t *testing.T) {
	tail := NewTail(100)
	_, _, ok := tail.After(99, 10)
	require.False(t, ok)
	records, _, ok := tail.After(100, 10)
	require.True(t, ok)
	require.Empty(t, records)

	for i := range tailRecords + 50 {
		tail.Publish([]record.Record{{Position: uint64(101 + i)}})
	}
	_, _, ok = tail.After(149, 10)
	require.False(t, ok)
	records, behind, ok := tail.After(150, 10)
	require.True(t, ok)
	require.Len(t, records, 10)
	require.Equal(t, tailRecords, behind)
	require.EqualValues(t, 151, records[0].Position)

	tail.Publish([]record.Record{{Position: 1 << 30, Data: strings.Repeat("x", tailBytes)}})
	_, _, ok = tail.After(1<<29, 1)
	require.False(t, ok, "the number of bytes is limited too")
	require.EqualValues(t, 1<<30, tail.End())
}
