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

// TestConformance runs the suite with the official client against the embedded node.
func TestConformance(t *testing.T) {
	log := openDirect(t, startNode(t))
	logtest.Run(t, func(*testing.T) eventstore.Log { return log })
}

// TestConformanceOfServer runs the suite against a server. Others may use that server
// at the same time.
func TestConformanceOfServer(t *testing.T) {
	address := os.Getenv("ARENA_TEST_EVENTSTORE")
	if address == "" {
		t.Skip("needs a server: set ARENA_TEST_EVENTSTORE to its connection string (esdb://…)")
	}
	log, err := Open(address, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	logtest.Run(t, func(*testing.T) eventstore.Log { return log })
}

// TestAgreesWithMemory makes the same random calls on the embedded node and on the
// log in memory.
func TestAgreesWithMemory(t *testing.T) {
	logtest.Agree(t, memory.New(), openDirect(t, startNode(t)))
}
