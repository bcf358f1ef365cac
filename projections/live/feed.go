package live

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// A feed holds between one and two blocks of records. historyBlock and channelBlock are
// the sizes of a block in records. A channel has the frames of all matches, so it needs
// more of them than a match. The memory of each running match depends on historyBlock.
const (
	historyBlock = 8
	channelBlock = 32
)

// feed holds the newest records of a sequence. The records are numbered from 1.
type feed[T any] struct {
	older  uint64 // the number of records that are no longer in newest
	newest []T
}

// The method first() returns the number of the oldest record in the feed, and end()
// returns the number of the next record.
func (f *feed[T]) first() uint64 { return 1 + f.older }
func (f *feed[T]) end() uint64   { return f.first() + uint64(len(f.newest)) }

// add adds a record. If the feed has two blocks, add removes the oldest one and returns
// it. block is the size of a block.
func (f *feed[T]) add(record T, block int) (removed []T) {
	if len(f.newest) == 2*block {
		removed = f.newest[:block]
		f.older += uint64(block)
		// Readers may still use parts of the old array, so it must not change.
		f.newest = append(make([]T, 0, 2*block), f.newest[block:]...)
	}
	f.newest = append(f.newest, record)
	return removed
}

// The method from() returns the records in the feed, starting with number n. n must be
// at least f.first().
func (f *feed[T]) from(n uint64) []T {
	return f.newest[n-f.first() : len(f.newest) : len(f.newest)]
}

// history is a feed that keeps all records. It compresses the older ones. The frames
// of a match are similar, so compression saves about 95% of their size.
type history struct {
	feed[[]byte]
	packed [][]byte // compressed blocks, starting with record 1
}

func (h *history) add(record []byte) {
	if block := h.feed.add(record, historyBlock); block != nil {
		h.packed = append(h.packed, pack(block))
	}
}

// block returns the compressed block that contains record n, and the record's offset in
// the block. n must be less than h.first().
func (h *history) block(n uint64) (packed []byte, offset int) {
	return h.packed[(n-1)/historyBlock], int((n - 1) % historyBlock)
}

var separator = []byte("\n\n")

// packers is a pool of compressors. It exists because each compressor uses a
// megabyte of memory.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

func pack(records [][]byte) []byte {
	var b bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&b)
	for _, r := range records {
		_, _ = w.Write(r) // a write to a bytes.Buffer never fails
	}
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// unpack returns the records of a block. Each record ends with the separator
// and contains no other separator.
func unpack(block []byte) [][]byte {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(block)))
	if err != nil {
		panic(err) // pack wrote the block
	}
	records := bytes.SplitAfter(text, separator)
	return records[:historyBlock]
}
