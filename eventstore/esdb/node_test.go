package esdb

import (
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node"
)

// startNode starts a node and returns its address. The node closes when the test
// ends.
func startNode(t *testing.T) string {
	n, err := node.Open(node.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return serveNode(t, n)
}

// serveNode serves a node until the test ends, and returns its address.
func serveNode(t *testing.T, n *node.Node) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- n.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}
