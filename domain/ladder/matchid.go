package ladder

import (
	"crypto/sha1"
	"fmt"
)

// namespaceURL is the URL namespace for name-based UUIDs (RFC 9562, 6.6).
const namespaceURL = "\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"

// MatchID returns the id of the match at a table. It is the UUIDv5 of the platform
// key and the table's mode, revision and index, so nobody can choose the id
// (docs/audit.md). platformKey is the public key in base64.
func MatchID(platformKey, mode string, revision uint64, index int) string {
	return NameUUID(fmt.Sprintf("hexarena:%s:%s:%d:%d", platformKey, mode, revision, index))
}

// NameUUID returns the name-based UUID of a name in the URL namespace.
func NameUUID(name string) string {
	sum := sha1.Sum([]byte(namespaceURL + name))
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x50 // version 5
	id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
