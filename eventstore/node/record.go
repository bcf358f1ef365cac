package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/google/uuid"
)

// tombstoneRevision is where a stream's $streamDeleted event stands.
const tombstoneRevision = math.MaxInt64

// maxStreamName is the longest name of a stream, in bytes.
const maxStreamName = 1<<16 - 1

// The types of events that the node itself writes or looks into.
const (
	typeStreamDeleted = "$streamDeleted"
	typeMetadata      = "$metadata"
	typeLink          = "$>"
)

// record is one event as stored. Its texts share one allocation.
type record struct {
	position uint64
	revision uint64
	created  int64 // ticks of 100 ns since the Unix epoch
	id       uuid.UUID
	json     bool
	stream   string
	kind     string // the event's type
	data     string
	metadata string
}

// A stored record is
//
//	version(1) flags(1) created(8) id(16) revision(8)
//	and, each after its length as a uvarint: stream, type, data, metadata
//	crc32c(4) over the position(8) and all of the above
//
// so that a record that was damaged, or stands where it was not written, is
// never taken for an event.
const (
	recordVersion = 1
	flagJSON      = 1
	recordHead    = 2 + 8 + 16 + 8
	recordSum     = 4
)

var errDamaged = errors.New("the log is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// size is how many bytes r takes in the log; the next position is that far on.
func (r *record) size() int {
	n := recordHead + recordSum
	for _, text := range [...]string{r.stream, r.kind, r.data, r.metadata} {
		n += uvarintLen(uint64(len(text))) + len(text)
	}
	return n
}

// append encodes r behind buf.
func (r *record) append(buf []byte) []byte {
	start := len(buf)
	var flags byte
	if r.json {
		flags |= flagJSON
	}
	buf = append(buf, recordVersion, flags)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.created))
	buf = append(buf, r.id[:]...)
	buf = binary.BigEndian.AppendUint64(buf, r.revision)
	for _, text := range [...]string{r.stream, r.kind, r.data, r.metadata} {
		buf = binary.AppendUvarint(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	return binary.BigEndian.AppendUint32(buf, recordChecksum(r.position, buf[start:]))
}

// decodeRecord reads the record that stands at a position.
func decodeRecord(position uint64, value []byte) (record, error) {
	if len(value) < recordHead+recordSum {
		return record{}, damaged(position, "it is cut short")
	}
	body, sum := value[:len(value)-recordSum], value[len(value)-recordSum:]
	if recordChecksum(position, body) != binary.BigEndian.Uint32(sum) {
		return record{}, damaged(position, "its checksum does not match")
	}
	if body[0] != recordVersion {
		return record{}, damaged(position, fmt.Sprintf("its version is %d", body[0]))
	}
	r := record{
		position: position,
		json:     body[1]&flagJSON != 0,
		created:  int64(binary.BigEndian.Uint64(body[2:])),
		revision: binary.BigEndian.Uint64(body[26:]),
	}
	copy(r.id[:], body[10:26])
	return r, r.texts(body[recordHead:])
}

// texts cuts the four texts out of one copy of what follows the head.
func (r *record) texts(tail []byte) error {
	rest := string(tail)
	for _, text := range [...]*string{&r.stream, &r.kind, &r.data, &r.metadata} {
		n, width := binary.Uvarint(tail)
		if width <= 0 || n > uint64(len(tail)-width) {
			return damaged(r.position, "a length is wrong")
		}
		end := width + int(n)
		*text, rest, tail = rest[width:end], rest[end:], tail[end:]
	}
	if len(tail) > 0 {
		return damaged(r.position, "bytes are left over")
	}
	return nil
}

func recordChecksum(position uint64, body []byte) uint32 {
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], position)
	return crc32.Update(crc32.Checksum(at[:], castagnoli), castagnoli, body)
}

func damaged(position uint64, why string) error {
	return fmt.Errorf("%w: record at %d: %s", errDamaged, position, why)
}

func uvarintLen(n uint64) int {
	width := 1
	for n >= 0x80 {
		n >>= 7
		width++
	}
	return width
}
