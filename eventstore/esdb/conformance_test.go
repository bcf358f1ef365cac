package esdb

import (
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// TestConformance runs the suite through the official client against the
// embedded node.
func TestConformance(t *testing.T) {
	log := openDirect(t, startNode(t))
	logtest.Run(t, func(*testing.T) eventstore.Log { return log })
}

// TestConformanceOfServer runs the suite against any EventStoreDB; others may
// be using it at the same time.
func TestConformanceOfServer(t *testing.T) {
	address := os.Getenv("ARENA_TEST_EVENTSTORE")
	if address == "" {
		t.Skip("ARENA_TEST_EVENTSTORE names no server: set it to a connection string, esdb://…")
	}
	log, err := Open(address, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	logtest.Run(t, func(*testing.T) eventstore.Log { return log })
}

// TestAgreesWithMemory does the same things, drawn at random, to the embedded
// node and to the log in memory.
func TestAgreesWithMemory(t *testing.T) {
	logtest.Agree(t, memory.New(), openDirect(t, startNode(t)))
}
