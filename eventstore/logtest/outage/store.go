package outage

import (
	"log/slog"
	"net"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"hexarena/eventstore/node"
)

// disk is a file system in memory that can be copied.
type disk struct{ fs *vfs.MemFS }

func newDisk() disk { return disk{vfs.NewCrashableMem()} }

// The method copy() returns a disk with all synced data, which includes all acknowledged
// appends.
func (d disk) copy() disk { return disk{d.fs.CrashClone(vfs.CrashCloneCfg{})} }

// store is an embedded node that holds a log.
type store struct {
	disk   disk
	client *grpc.ClientConn
}

// openStore opens the log on a disk. It stays open until the test ends, because calls
// may still use it.
func (c *Cluster) openStore(d disk) *store {
	n, err := node.Open(node.Options{Dir: "log", FS: d.fs, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(c.t, err)
	listener, err := new(net.ListenConfig).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	served := make(chan error, 1)
	go func() { served <- n.Serve(listener) }()
	client, err := grpc.NewClient("passthrough:///"+listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
	require.NoError(c.t, err)
	c.t.Cleanup(func() {
		require.NoError(c.t, client.Close())
		require.NoError(c.t, n.Close())
		require.NoError(c.t, <-served)
	})
	return &store{d, client}
}

// Save copies the log to a folder, in which an embedded node can open it.
func (c *Cluster) Save(folder string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	copied, err := vfs.Clone(c.shared.disk.copy().fs, vfs.Default, "log", folder)
	require.NoError(c.t, err)
	require.True(c.t, copied)
}
