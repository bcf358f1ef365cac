package storage

import "encoding/binary"

// The key space. Integers are big-endian, so that keys sort like numbers.
//
//	0x00 "format"                             → the format version, in decimal
//	0x01 position(8)                          → a record
//	0x02 length(2) stream name revision(8)    → the record's position(8)
//
// A scavenged log also has
//
//	0x00 "end"                                → a LogEnd
//	0x03 length(2) stream name                → a cut
const (
	logPrefix    = 0x01
	streamPrefix = 0x02
	cutPrefix    = 0x03
	indexLen     = 8
)

var (
	formatKey = []byte("\x00format")
	endKey    = []byte("\x00end")
)

func logKey(position uint64) []byte {
	key := make([]byte, 0, 1+indexLen)
	key = append(key, logPrefix)
	return binary.BigEndian.AppendUint64(key, position)
}

// Upper bounds: of the records, of the index, and of all keys.
var (
	afterLog     = []byte{logPrefix + 1}
	afterStreams = []byte{streamPrefix + 1}
	afterAll     = []byte{cutPrefix + 1}
)

func positionOfKey(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// StreamKey returns the key of an index entry.
func StreamKey(stream string, revision uint64) []byte {
	key := make([]byte, 0, nameAt+len(stream)+indexLen)
	return binary.BigEndian.AppendUint64(appendName(key, streamPrefix, stream), revision)
}

func cutKey(stream string) []byte {
	return appendName(make([]byte, 0, nameAt+len(stream)), cutPrefix, stream)
}

// nameAt is the offset of the stream's name in a key.
const nameAt = 3

func appendName(key []byte, prefix byte, stream string) []byte {
	key = append(key, prefix)
	key = binary.BigEndian.AppendUint16(key, uint16(len(stream)))
	return append(key, stream...)
}

// streamOfKey returns the stream of an index entry's key; ok is false for any other
// key.
func streamOfKey(key []byte) (stream []byte, ok bool) {
	if len(key) < nameAt+indexLen || key[0] != streamPrefix {
		return nil, false
	}
	stream = key[nameAt : len(key)-indexLen]
	return stream, int(binary.BigEndian.Uint16(key[1:])) == len(stream)
}

func revisionOfKey(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(key)-indexLen:])
}
