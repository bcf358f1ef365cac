package disk

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hexarena/eventstore/node/record"
)

// A Pebble write-ahead log consists of chunks in blocks of 32 KiB:
//
//	checksum(4) length(2) kind(1) log number(4) synced up to(8) payload
//
// All numbers are little-endian. The checksum covers everything after the length. A
// crash may tear the last chunks, that is, leave them only partly written. If
// Pebble cannot read the remaining bytes of a block, it assumes that a crash tore
// them, and skips them. But a later chunk may record that these bytes had been
// synced. In that case they are damaged, not torn, and skipping them would silently
// lose acknowledged events.
const (
	walBlock   = 32 << 10
	walHeader  = 19
	walKind    = 6
	walNumber  = 7
	walSynced  = 11
	walKindLow = 9 // chunks of kind 9 to 12 have this layout
	walKindTop = 12
)

// CheckLastWAL looks for damage in the last write-ahead log, the only one that a
// crash may have torn. Pebble rejects any earlier log that it cannot read to its
// end.
func CheckLastWAL(fs vfs.FS, dir string) error {
	names, err := WALs(fs, dir)
	if err != nil || len(names) == 0 {
		return err
	}
	last := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(walNumberOf(a), walNumberOf(b)) })
	text, err := readFile(fs, fs.PathJoin(dir, last))
	if err != nil {
		return fmt.Errorf("read %s: %w", last, err)
	}
	w := wal{text: []byte(text), number: uint32(walNumberOf(last))}
	if end := w.end(); w.syncedBehind(end) {
		return fmt.Errorf("%w: %s has changed since it was written, at offset %d", record.ErrDamaged, last, end)
	}
	return nil
}

// WALs returns the names of the write-ahead logs in a folder.
func WALs(fs vfs.FS, dir string) ([]string, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, walSuffix) }), nil
}

func walNumberOf(name string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(name, walSuffix), 10, 64)
	if err != nil {
		return 0 // not a Pebble file
	}
	return n
}

type wal struct {
	text   []byte
	number uint32
}

// The method end returns the offset of the first chunk that cannot be read.
func (w wal) end() int {
	at := 0
	for {
		if left := walBlock - at%walBlock; left < walHeader {
			at += left
		}
		n, ok := w.chunk(at)
		if !ok {
			return at
		}
		at += n
	}
}

// chunk returns the length of the chunk at an offset. ok is false if there is
// no valid chunk.
func (w wal) chunk(at int) (n int, ok bool) {
	if len(w.text)-at < walHeader {
		return 0, false
	}
	b := w.text[at:min(len(w.text), at+walBlock-at%walBlock)]
	if len(b) < walHeader || b[walKind] < walKindLow || b[walKind] > walKindTop || binary.LittleEndian.Uint32(b[walNumber:]) != w.number {
		return 0, false
	}
	n = walHeader + int(binary.LittleEndian.Uint16(b[4:]))
	return n, n <= len(b) && walSum(b[walKind:n]) == binary.LittleEndian.Uint32(b)
}

// syncedBehind reports whether a later chunk records that the log was synced
// beyond an offset.
func (w wal) syncedBehind(offset int) bool {
	for at := offset + 1; at+walHeader <= len(w.text); at++ {
		if kind := w.text[at+walKind]; kind < walKindLow || kind > walKindTop {
			continue
		}
		if _, ok := w.chunk(at); ok && binary.LittleEndian.Uint64(w.text[at+walSynced:]) > uint64(offset) {
			return true
		}
	}
	return false
}

func walSum(b []byte) uint32 {
	sum := crc32.Checksum(b, record.Castagnoli)
	return bits.RotateLeft32(sum, 17) + 0xa282ead8
}
