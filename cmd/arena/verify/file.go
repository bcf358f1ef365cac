package verify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
)

// maxRecord bounds one record, in bytes.
const maxRecord = 64 << 20

// Records yields the texts of the records in a file: one record that fills the
// file, or one record per line. A text is valid until the next is read.
func Records(file string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(file)
		if err != nil {
			yield(nil, fmt.Errorf("not a match id, not an address, and not a file: %w", err))
			return
		}
		defer func() { _ = f.Close() }()
		in := bufio.NewScanner(f)
		in.Buffer(make([]byte, 1<<20), maxRecord)
		for first := true; in.Scan(); {
			line := bytes.TrimSpace(in.Bytes())
			if len(line) == 0 {
				continue
			}
			if first && !json.Valid(line) {
				yield(readWhole(file)) // the record has more than one line
				return
			}
			first = false
			if !yield(line, nil) {
				return
			}
		}
		if in.Err() != nil {
			yield(nil, fmt.Errorf("%s: %w", file, in.Err()))
		}
	}
}

func readWhole(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxRecord)
	}
	return text, err
}
