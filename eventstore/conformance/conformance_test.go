// Package conformance_test is the conformance suite for implementations of
// eventstore.Log. It runs every case with each implementation: the log in memory,
// and the official client with the embedded node. If ARENA_TEST_EVENTSTORE names
// another server, it also runs every case with the official client and that server.
//
// Each case uses its own streams, so the suite also works on a shared server. The
// suite tests only what eventstore.Log promises. The node's own tests cover its
// other features, such as links, soft deletes and persistent subscriptions.
package conformance_test

import (
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/eventstore/node"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

// conformanceCase is a test of one property of a log.
type conformanceCase struct {
	name     string
	property string // the area, a colon, and the property
	test     func(*fixture)
}

var cases = slices.Concat(appendCases, retryCases, readCases, readAllCases, subscribeCases, metadataCases, tombstoneCases, contextCases, contentionCases)

// conforms runs every case. It calls open once for each case, and open may return
// the same log each time.
func conforms(t *testing.T, open func() eventstore.Log) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			t.Log(c.property)
			c.test(newFixture(t, open()))
		})
	}
}

func TestMemory(t *testing.T) {
	conforms(t, func() eventstore.Log { return memory.New() })
}

func TestFaultyWithoutFaults(t *testing.T) {
	conforms(t, func() eventstore.Log { return logtest.NewFaulty(memory.New()) })
}

func TestClientWithEmbeddedNode(t *testing.T) {
	log := openNode(t)
	conforms(t, func() eventstore.Log { return log })
}

// Other programs may use the server during this test.
func TestClientWithServer(t *testing.T) {
	address := os.Getenv("ARENA_TEST_EVENTSTORE")
	if address == "" {
		t.Skip("needs a server: set ARENA_TEST_EVENTSTORE to its connection string (esdb://…)")
	}
	log := openServer(t, address)
	conforms(t, func() eventstore.Log { return log })
}

// openNode starts an embedded node and opens its log with the official client.
// Both are closed when the test ends.
func openNode(t *testing.T) eventstore.Log {
	n, err := node.Open(node.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- n.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		require.NoError(t, <-served)
	})
	return openServer(t, "esdb://"+listener.Addr().String()+"?tls=false")
}

func openServer(t *testing.T, address string) eventstore.Log {
	log, err := esdb.Open(address, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return log
}

func TestEachCaseHasANameAndAProperty(t *testing.T) {
	section := regexp.MustCompile(`^(Append|Append, idempotence|Positions and reads|Metadata|Deletes|Subscriptions|port): .{10,}`)
	names := map[string]bool{}
	for _, c := range cases {
		require.Regexp(t, section, c.property, c.name)
		require.False(t, names[c.name], c.name)
		names[c.name] = true
	}
	require.GreaterOrEqual(t, len(names), 50)
}
