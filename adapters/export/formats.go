package export

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"

	"github.com/parquet-go/parquet-go"
)

// These are the file formats. The name of a format is also its file extension.
const (
	JSONL   = "jsonl"
	Parquet = "parquet"
)

// Formats lists all formats.
var Formats = []string{JSONL, Parquet}

// sheet encodes the rows of one table.
type sheet struct {
	add   func(*rows) error
	close func() error
}

// jsonLines writes one row per line.
func jsonLines[R any](w io.Writer, pick func(*rows) []R) sheet {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	add := func(r *rows) error {
		for _, row := range pick(r) {
			if err := encoder.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}
	return sheet{add: add, close: func() error { return nil }}
}

// readSeats yields the rows of one file of the table seats, in order.
func readSeats(format string, f *os.File) iter.Seq2[Seat, error] {
	if format == JSONL {
		return readLines[Seat](f)
	}
	return readParquet[Seat](f)
}

func readLines[R any](f *os.File) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		decoder := json.NewDecoder(f)
		for {
			var row R
			err := decoder.Decode(&row)
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func readParquet[R any](f *os.File) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		reader := parquet.NewGenericReader[R](f)
		defer func() { _ = reader.Close() }() // it has only read
		for buffer := make([]R, 256); ; {
			n, err := reader.Read(buffer)
			for _, row := range buffer[:n] {
				if !yield(row, nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(*new(R), err)
				}
				return
			}
		}
	}
}

// rowGroup is the number of rows in a row group of a Parquet file. A program that reads
// the file loads one group at a time, and the export buffers one group while it writes.
const rowGroup = 100_000

// parquetFile writes the rows as columns of a Parquet file.
func parquetFile[R any](w io.Writer, pick func(*rows) []R) sheet {
	writer := parquet.NewGenericWriter[R](w, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(rowGroup))
	add := func(r *rows) error {
		_, err := writer.Write(pick(r))
		return err
	}
	return sheet{add: add, close: writer.Close}
}
