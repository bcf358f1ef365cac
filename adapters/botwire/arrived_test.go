//go:build !linux

package botwire

import "testing"

// arrived trusts that loopback delivers as it writes.
func arrived(testing.TB, *peerConn) {}
