package live

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// blockSize is the number of records that are compressed together. The newest
// records (between one and two blocks) stay uncompressed.
const blockSize = 32

// feed is a sequence of records, numbered from 1. If keepAll is set, older
// records are compressed; otherwise, they are dropped. The frames of a match are
// similar, so compression saves about 95% of their size.
type feed struct {
	keepAll bool
	packed  [][]byte // compressed blocks of blockSize records, starting with record 1
	older   uint64   // the number of compressed or dropped records
	newest  [][]byte
}

// The method first() returns the number of the first uncompressed record, and end()
// returns the number of the next record.
func (f *feed) first() uint64 { return 1 + f.older }
func (f *feed) end() uint64   { return f.first() + uint64(len(f.newest)) }

func (f *feed) add(record []byte) {
	if len(f.newest) == 2*blockSize {
		if f.keepAll {
			f.packed = append(f.packed, pack(f.newest[:blockSize]))
		}
		f.older += blockSize
		// Readers may still use parts of the old array, so it must not change.
		f.newest = append(make([][]byte, 0, 2*blockSize), f.newest[blockSize:]...)
	}
	f.newest = append(f.newest, record)
}

// The method from() returns the uncompressed records, starting with number n. n must be
// at least f.first().
func (f *feed) from(n uint64) [][]byte {
	return f.newest[n-f.first() : len(f.newest) : len(f.newest)]
}

// block returns the compressed block that contains record n, and the record's offset in
// the block. n must be less than f.first().
func (f *feed) block(n uint64) (packed []byte, offset int) {
	return f.packed[(n-1)/blockSize], int((n - 1) % blockSize)
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
	return records[:blockSize]
}
