package matches

import (
	"encoding/binary"
	"errors"
	"math"

	"hexarena/domain/game"
	"hexarena/projections/seats"
)

// These are the bits of a stored seat. The bits from strikesShift on contain the number
// of strikes.
const (
	seatMissed = 1 << iota
	seatResigned
	seatRated
	strikesShift = iota
)

// encodeSeats encodes seats in a short format, as encodePlayers does. For each seat,
// the format contains its bits, and its time plus 1 (0 if unknown). The ratings of a
// rated seat follow, and then the version, after its length.
func encodeSeats(played []seats.Seat) []byte {
	b := []byte{}
	for _, s := range played {
		bits := uint64(s.Strikes) << strikesShift
		if s.Missed {
			bits |= seatMissed
		}
		if s.Resigned {
			bits |= seatResigned
		}
		if s.RatingBefore != nil {
			bits |= seatRated
		}
		b = binary.AppendUvarint(b, bits)
		used := uint64(0)
		if s.TimeUsedMs != nil {
			used = uint64(*s.TimeUsedMs) + 1
		}
		b = binary.AppendUvarint(b, used)
		if s.RatingBefore != nil {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(*s.RatingBefore))
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(*s.RatingAfter))
		}
		b = append(binary.AppendUvarint(b, uint64(len(s.Version))), s.Version...)
	}
	return b
}

var errSeats = errors.New("the seats of a match are truncated")

func decodeSeats(b []byte) ([]seats.Seat, error) {
	if len(b) == 0 {
		return nil, nil
	}
	played := make([]seats.Seat, 0, game.MaxSeats)
	for len(b) > 0 {
		bits, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errSeats
		}
		used, n2 := binary.Uvarint(b[n:])
		if n2 <= 0 || bits&seatRated != 0 && len(b) < n+n2+16 {
			return nil, errSeats
		}
		b = b[n+n2:]
		s := seats.Seat{Strikes: int(bits >> strikesShift), Missed: bits&seatMissed != 0, Resigned: bits&seatResigned != 0}
		if used > 0 {
			ms := int64(used - 1)
			s.TimeUsedMs = &ms
		}
		if bits&seatRated != 0 {
			before, after := math.Float64frombits(binary.BigEndian.Uint64(b)), math.Float64frombits(binary.BigEndian.Uint64(b[8:]))
			s.RatingBefore, s.RatingAfter, b = &before, &after, b[16:]
		}
		length, n := binary.Uvarint(b)
		if n <= 0 || uint64(len(b)-n) < length {
			return nil, errSeats
		}
		s.Version, b = string(b[n:n+int(length)]), b[n+int(length):]
		played = append(played, s)
	}
	return played, nil
}
