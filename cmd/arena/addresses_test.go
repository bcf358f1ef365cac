package main

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Even with port 0 and a base URL, the arena prints each address that it
// listens on.
func TestServePrintsItsAddresses(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, "--base-url", "https://arena.example", "--no-play")
	ports := map[string]bool{}
	for range 2 { // the arena also prints its addresses after a restart
		s.launch()
		printed := s.arena.await(`^Hex Arena is at https://arena\.example\nAPI on http://(\S+)\noperators' endpoints on http://(\S+)\nevent store on esdb://(\S+)\?tls=false\n`)
		for _, address := range printed[1:] {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			ports[address] = true
		}
		status, body := fetch(t, "http://"+s.arena.address()+"/health")
		require.Equal(t, http.StatusOK, status, body)
		s.stop()
	}
	require.GreaterOrEqual(t, len(ports), 3)
}
