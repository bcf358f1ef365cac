package signedlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Entry returns the bytes of a ladder tree's entry. They are the canonical JSON
// (RFC 8785) of an object that contains the event's revision, its type, and the
// SHA-256 hash of its stored data. The parameter leafHash is the hash of the leaf
// in the tree of results, or nil if the event adds no leaf.
func Entry(revision uint64, eventType string, data, leafHash []byte) []byte {
	sum := sha256.Sum256(data)
	e := []byte("{")
	if leafHash != nil {
		e = append(e, `"leaf":"`...)
		e = hex.AppendEncode(e, leafHash)
		e = append(e, `",`...)
	}
	e = append(e, `"revision":`...)
	e = strconv.AppendUint(e, revision, 10)
	e = append(e, `,"sha256":"`...)
	e = hex.AppendEncode(e, sum[:])
	e = append(e, `","type":`...)
	name, _ := json.Marshal(eventType) // encoding a string never fails
	return append(append(e, name...), '}')
}
