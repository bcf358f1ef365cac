package esdb_test

import (
	"log/slog"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node"
)

// TestConformance runs the suite through the official client against the
// embedded node.
func TestConformance(t *testing.T) {
	log := open(t, "esdb://"+startNode(t)+"?tls=false")
	logtest.Run(t, func(*testing.T) eventstore.Log { return log })
}

// TestConformanceOfServer runs the suite against any EventStoreDB; others may
// be using it at the same time.
func TestConformanceOfServer(t *testing.T) {
	address := os.Getenv("ARENA_TEST_EVENTSTORE")
	if address == "" {
		t.Skip("ARENA_TEST_EVENTSTORE names no server: set it to a connection string, esdb://…")
	}
	log := open(t, address)
	logtest.Run(t, func(*testing.T) eventstore.Log { return log })
}

func open(t *testing.T, address string) *esdb.Log {
	log, err := esdb.Open(address, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return log
}

// startNode starts a node that ends with the test, and returns its address.
func startNode(t *testing.T) string {
	n, err := node.Open(node.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- n.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		<-served
	})
	return listener.Addr().String()
}
