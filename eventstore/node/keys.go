package node

import "encoding/binary"

// The key space. Integers are big-endian, so that keys sort as numbers do.
//
//	0x00 "format"                             → the format version, in decimal
//	0x01 position(8)                          → a record
//	0x02 length(2) stream name revision(8)    → the record's position(8)
const (
	logPrefix    = 0x01
	streamPrefix = 0x02
	indexLen     = 8
)

var formatKey = []byte("\x00format")

// maxStreamName is how many bytes a stream's name may have.
const maxStreamName = 1<<16 - 1

func logKey(position uint64) []byte {
	key := make([]byte, 0, 1+indexLen)
	key = append(key, logPrefix)
	return binary.BigEndian.AppendUint64(key, position)
}

// logEnd is behind the log's last possible key.
var logEnd = []byte{logPrefix + 1}

func positionOfKey(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

func streamKey(stream string, revision uint64) []byte {
	key := make([]byte, 0, 3+len(stream)+indexLen)
	key = append(key, streamPrefix)
	key = binary.BigEndian.AppendUint16(key, uint16(len(stream)))
	key = append(key, stream...)
	return binary.BigEndian.AppendUint64(key, revision)
}

func revisionOfKey(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(key)-indexLen:])
}
