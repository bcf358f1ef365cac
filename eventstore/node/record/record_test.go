package record

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// An encoded record decodes to the same record. Conversely, if bytes decode to a
// record, the record encodes to the same bytes.
func TestRecordsRoundTrip(t *testing.T) {
	for _, r := range sampleRecords() {
		encoded := r.Append(nil)
		require.Len(t, encoded, r.Size())
		got, err := Decode(r.Position, encoded)
		require.NoError(t, err)
		require.Equal(t, r, got)
		_, err = Decode(r.Position+1, encoded)
		require.ErrorIs(t, err, ErrDamaged)
		for i := range encoded {
			for bit := range 8 {
				encoded[i] ^= 1 << bit
				_, err := Decode(r.Position, encoded)
				require.ErrorIs(t, err, ErrDamaged, "byte %d, bit %d", i, bit)
				encoded[i] ^= 1 << bit
			}
			_, err := Decode(r.Position, encoded[:i])
			require.ErrorIs(t, err, ErrDamaged, "cut at %d", i)
		}
	}
}

func sampleRecords() []Record {
	id := uuid.MustParse("f0e1d2c3-b4a5-9687-7869-5a4b3c2d1e0f")
	return []Record{
		{Position: 1, ID: id, Stream: "s", Type: "T"},
		{Position: 1 << 60, Revision: TombstoneRevision, Created: 1 << 55, ID: id, JSON: true, Stream: "match-1", Type: "DiceRolled", Data: `{"turn":1}`, Metadata: `{}`},
		{Position: 77, Created: -5, ID: id, Stream: strings.Repeat("s", 130), Type: "é", Data: strings.Repeat("d", 300), Metadata: "\x00\xff"},
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, r := range sampleRecords() {
		f.Add(r.Position, r.Append(nil))
	}
	f.Add(uint64(1), []byte{})
	f.Add(uint64(9), make([]byte, recordHead+recordSum))
	f.Fuzz(func(t *testing.T, position uint64, value []byte) {
		if _, err := Decode(position, value); err != nil {
			require.ErrorIs(t, err, ErrDamaged)
		}
		// Set the right checksum, so that the input also reaches the decoder's
		// other checks.
		if len(value) < recordSum {
			return
		}
		body := value[:len(value)-recordSum]
		sealed := binary.BigEndian.AppendUint32(slices.Clone(body), recordChecksum(position, body))
		r, err := Decode(position, sealed)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			return
		}
		again, err := Decode(position, r.Append(nil))
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
