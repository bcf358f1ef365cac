package verify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
)

// maxRecord is the size limit of one record, in bytes.
const maxRecord = 64 << 20

// Records yields the JSON of each record in a file. The file contains either one
// record, or one record per line. The bytes that it yields are valid only until it
// reads the next record.
func Records(file string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(file)
		if err != nil {
			yield(nil, fmt.Errorf("neither a match id, nor an address, nor a file: %w", err))
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
				yield(readWhole(file)) // the file is a single record on several lines
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
