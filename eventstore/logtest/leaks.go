package logtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leakPatience is how long goroutines may take to end after the last test. A
// goroutine that has actually leaked never ends.
const leakPatience = 30 * time.Second

// LostNodes ignores the goroutines that the official client leaves behind: it never closes
// the connection to a node that was unavailable. If the node stays unavailable, the
// connection dials it again and again. Otherwise, its goroutines end after half an hour.
var LostNodes = []goleak.Option{
	goleak.IgnoreTopFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"),
	goleak.IgnoreAnyFunction("google.golang.org/grpc.(*addrConn).resetTransportAndUnlock"),
}

// VerifyNoLeaks runs the tests of a package and fails if goroutines remain.
// Call it from TestMain. It waits longer than goleak.VerifyTestMain, whose
// limit of half a second is too short on a loaded machine.
func VerifyNoLeaks(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		began := time.Now()
		err := goleak.Find(options...)
		for err != nil && time.Since(began) < leakPatience {
			err = goleak.Find(options...)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "goroutines remain after the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}
