package export

import (
	"encoding/json"
	"io"

	"github.com/parquet-go/parquet-go"
)

// The file formats. The name of a format is also its file extension.
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

// rowGroup is the number of rows in a row group of a Parquet file. Readers load one
// group at a time, and the writer buffers one group.
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
