package live

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"
)

// blockSize is how many records are packed as one. A feed has the newest one
// to two blocks at hand; its readers may be so many records behind.
const blockSize = 32

// feed is a sequence of records, numbered from start. The newest are at hand;
// older ones are packed where keepAll is set, else forgotten: frames of a match
// resemble one another, so that packed ones take a twentieth.
type feed struct {
	start   uint64 // number of the first record ever
	keepAll bool
	packed  [][]byte // blocks of blockSize records, from start on
	skipped uint64   // how many were forgotten
	newest  [][]byte
}

// first is the number of the first record at hand, end that of the next to come.
func (f *feed) first() uint64 { return f.start + uint64(len(f.packed))*blockSize + f.skipped }
func (f *feed) end() uint64   { return f.first() + uint64(len(f.newest)) }

func (f *feed) add(record []byte) {
	if len(f.newest) == 2*blockSize {
		if f.keepAll {
			f.packed = append(f.packed, pack(f.newest[:blockSize]))
		} else {
			f.skipped += blockSize
		}
		// Readers may hold parts of the old array: it is left as it is.
		f.newest = append(make([][]byte, 0, 2*blockSize), f.newest[blockSize:]...)
	}
	f.newest = append(f.newest, record)
}

// from returns the records at hand from a number on, which is not before first.
func (f *feed) from(n uint64) [][]byte {
	return f.newest[n-f.first() : len(f.newest) : len(f.newest)]
}

// block returns the packed block that holds a number, which is before first.
func (f *feed) block(n uint64) (packed []byte, offset int) {
	return f.packed[(n-f.start)/blockSize], int((n - f.start) % blockSize)
}

var separator = []byte("\n\n")

// packers are compressors to be used again: each takes a megabyte.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // there is such a level
	}
	return w
}}

func pack(records [][]byte) []byte {
	var b bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&b)
	for _, r := range records {
		_, _ = w.Write(r) // a buffer takes all
	}
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// unpack returns the records of a block; each ends with the separator, and
// holds it nowhere else.
func unpack(block []byte) [][]byte {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(block)))
	if err != nil {
		panic(err) // pack made it
	}
	records := bytes.SplitAfter(text, separator)
	return records[:blockSize]
}
