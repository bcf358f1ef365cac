// Package record defines an event as the log stores it: its encoding, the names
// of special streams, the metadata of streams, and links. It does no I/O.
// Record.Append encodes a record, and Decode decodes it.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/google/uuid"
)

// TombstoneRevision is the revision of a stream's $streamDeleted event.
const TombstoneRevision = math.MaxInt64

// MaxStreamName is the maximum length of a stream name, in bytes.
const MaxStreamName = 1<<16 - 1

// These are the types of events that the node writes itself or whose data it reads.
const (
	TypeStreamDeleted = "$streamDeleted"
	TypeMetadata      = "$metadata"
	TypeLink          = "$>"
)

// Record is one event as the log stores it. Its strings share one allocation.
type Record struct {
	Position uint64
	Revision uint64
	Created  int64 // ticks of 100 ns since the Unix epoch
	ID       uuid.UUID
	JSON     bool
	Stream   string
	Type     string
	Data     string
	Metadata string
}

// A stored record is
//
//	version(1) flags(1) created(8) id(16) revision(8)
//	stream, type, data and metadata, each after its length as a uvarint
//	crc32c(4) over the position(8) and all of the above
//
// The checksum also covers the position, so a record at the wrong position is rejected
// like a damaged one.
const (
	recordVersion = 1
	flagJSON      = 1
	recordHead    = 2 + 8 + 16 + 8
	recordSum     = 4
)

// ErrDamaged means that stored bytes have changed since they were written.
var ErrDamaged = errors.New("the log is damaged")

// Castagnoli is the CRC table for all checksums in the log.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Size is the number of bytes that the record uses in the log. The next
// record's position is this record's position plus its size.
func (r *Record) Size() int {
	n := recordHead + recordSum
	for _, text := range [...]string{r.Stream, r.Type, r.Data, r.Metadata} {
		n += uvarintLen(uint64(len(text))) + len(text)
	}
	return n
}

// Append appends the encoded record to buf.
func (r *Record) Append(buf []byte) []byte {
	start := len(buf)
	var flags byte
	if r.JSON {
		flags |= flagJSON
	}
	buf = append(buf, recordVersion, flags)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.Created))
	buf = append(buf, r.ID[:]...)
	buf = binary.BigEndian.AppendUint64(buf, r.Revision)
	for _, text := range [...]string{r.Stream, r.Type, r.Data, r.Metadata} {
		buf = binary.AppendUvarint(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	return binary.BigEndian.AppendUint32(buf, recordChecksum(r.Position, buf[start:]))
}

// Decode decodes the record at a position.
func Decode(position uint64, value []byte) (Record, error) {
	if len(value) < recordHead+recordSum {
		return Record{}, Damaged(position, "it is truncated")
	}
	body, sum := value[:len(value)-recordSum], value[len(value)-recordSum:]
	if recordChecksum(position, body) != binary.BigEndian.Uint32(sum) {
		return Record{}, Damaged(position, "its checksum is wrong")
	}
	if body[0] != recordVersion {
		return Record{}, Damaged(position, fmt.Sprintf("its version is %d", body[0]))
	}
	r := Record{
		Position: position,
		JSON:     body[1]&flagJSON != 0,
		Created:  int64(binary.BigEndian.Uint64(body[2:])),
		Revision: binary.BigEndian.Uint64(body[26:]),
	}
	copy(r.ID[:], body[10:26])
	return r, r.texts(body[recordHead:])
}

// The method texts decodes the four strings, which share one copy of the bytes.
func (r *Record) texts(tail []byte) error {
	rest := string(tail)
	for _, text := range [...]*string{&r.Stream, &r.Type, &r.Data, &r.Metadata} {
		n, width := binary.Uvarint(tail)
		if width <= 0 || n > uint64(len(tail)-width) {
			return Damaged(r.Position, "a length is wrong")
		}
		end := width + int(n)
		*text, rest, tail = rest[width:end], rest[end:], tail[end:]
	}
	if len(tail) > 0 {
		return Damaged(r.Position, "it has extra bytes at the end")
	}
	return nil
}

func recordChecksum(position uint64, body []byte) uint32 {
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], position)
	return crc32.Update(crc32.Checksum(at[:], Castagnoli), Castagnoli, body)
}

// Damaged returns an error that wraps ErrDamaged for the record at a position.
func Damaged(position uint64, why string) error {
	return fmt.Errorf("%w: record at %d: %s", ErrDamaged, position, why)
}

func uvarintLen(n uint64) int {
	width := 1
	for n >= 0x80 {
		n >>= 7
		width++
	}
	return width
}
