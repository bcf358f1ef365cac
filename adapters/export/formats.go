package export

import (
	"encoding/json"
	"io"

	"github.com/parquet-go/parquet-go"
)

// The file formats. A format is also the extension of its files.
const (
	JSONL   = "jsonl"
	Parquet = "parquet"
)

// Formats lists all formats.
var Formats = []string{JSONL, Parquet}

// jsonLines writes one row per line.
type jsonLines[R any] struct {
	pick    func(*rows) []R
	encoder *json.Encoder
}

func newJSONLines[R any](w io.Writer, pick func(*rows) []R) *jsonLines[R] {
	j := &jsonLines[R]{pick, json.NewEncoder(w)}
	j.encoder.SetEscapeHTML(false)
	return j
}

func (j *jsonLines[R]) add(r *rows) error {
	for _, row := range j.pick(r) {
		if err := j.encoder.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonLines[R]) close() error { return nil }

// rowGroup is the number of rows in a group of a Parquet file. Readers load a group at
// a time, and the writer buffers one.
const rowGroup = 100_000

// parquetFile writes the rows as columns of a Parquet file.
type parquetFile[R any] struct {
	pick func(*rows) []R
	w    *parquet.GenericWriter[R]
}

func newParquet[R any](w io.Writer, pick func(*rows) []R) *parquetFile[R] {
	return &parquetFile[R]{pick, parquet.NewGenericWriter[R](w, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(rowGroup))}
}

func (p *parquetFile[R]) add(r *rows) error {
	_, err := p.w.Write(p.pick(r))
	return err
}

func (p *parquetFile[R]) close() error { return p.w.Close() }
