package nodecmd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node"
)

func TestNodeRefusesWrongValuesInOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	locked := t.TempDir()
	n, err := node.Open(node.Options{Dir: locked, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer n.Close()

	tests := []struct {
		name  string
		flags serveCmd
		want  string
	}{
		{"no port", serveCmd{Listen: "127.0.0.1", Data: t.TempDir()}, "want host:port"},
		{"not on loopback", serveCmd{Listen: "0.0.0.0:0", Data: t.TempDir()}, "--insecure-node"},
		{"not on loopback, by an empty host", serveCmd{Listen: ":0", Data: t.TempDir()}, "--insecure-node"},
		{"not on loopback, by name", serveCmd{Listen: "example.org:2113", Data: t.TempDir()}, "--insecure-node"},
		{"fed from another machine", serveCmd{Listen: "127.0.0.1:0", ReadOnly: true, FeedListen: ":0", Data: t.TempDir()}, "must be on loopback"},
		{"fed, and not read only", serveCmd{Listen: "127.0.0.1:0", FeedListen: "127.0.0.1:0", Data: t.TempDir()}, "needs --read-only"},
		{"fed on a port that is taken", serveCmd{Listen: "127.0.0.1:0", ReadOnly: true, FeedListen: taken.Addr().String(), Data: t.TempDir()}, "--feed-listen"},
		{"a port that is taken", serveCmd{Listen: taken.Addr().String(), Data: t.TempDir()}, "address already in use"},
		{"a folder that is in use", serveCmd{Listen: "127.0.0.1:0", Data: locked}, "in use by another process"},
		{"a log of another version", serveCmd{Listen: "127.0.0.1:0", Data: logOfVersion(t, "99")}, "version 99"},
		{"a folder that cannot be made", serveCmd{Listen: "127.0.0.1:0", Data: "/dev/null/log"}, "--data"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := test.flags.serve(t.Context(), &out, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, out.String())
		})
	}
}

func logOfVersion(t *testing.T, version string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	db, err := pebble.Open(dir, &pebble.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Set([]byte("\x00format"), []byte(version), pebble.Sync))
	require.NoError(t, db.Close())
	return dir
}

// A node shuts down immediately, even while a client is subscribed, and loses no
// written events.
func TestNodeStopsGracefully(t *testing.T) {
	dir := t.TempDir()
	for round := range 2 {
		out, printed := newLinePipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- serveCmd{Listen: "127.0.0.1:0", Data: dir}.serve(ctx, printed, slog.New(slog.DiscardHandler))
		}()
		address, _, _ := strings.Cut(strings.TrimPrefix(<-out, "event store on "), ",")
		config, err := esdb.ParseConnectionString(address)
		require.NoError(t, err)
		config.Logger = esdb.NoopLogging()
		client, err := esdb.NewClient(config)
		require.NoError(t, err)
		live, err := client.SubscribeToAll(t.Context(), esdb.SubscribeToAllOptions{From: esdb.Start{}})
		require.NoError(t, err)
		written, err := client.AppendToStream(t.Context(), "s", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, esdb.EventData{EventType: "T"})
		require.NoError(t, err)
		require.EqualValues(t, round, written.NextExpectedVersion)
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, live.Close())
		require.NoError(t, client.Close())
	}
}

// Everyone can read the events that the feed appends, but only the feed can
// write.
func TestNodeReadOnly(t *testing.T) {
	out, printed := newLinePipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serveCmd{Listen: "127.0.0.1:0", ReadOnly: true, FeedListen: "127.0.0.1:0", Data: t.TempDir()}.serve(ctx, printed, slog.New(slog.DiscardHandler))
	}()
	told := regexp.MustCompile(`^event store on (\S+), .*\nfeed endpoint on (\S+)\n`).FindStringSubmatch(<-out)
	require.Len(t, told, 3)
	connect := func(address string) *esdb.Client {
		config, err := esdb.ParseConnectionString(address)
		require.NoError(t, err)
		config.Logger = esdb.NoopLogging()
		client, err := esdb.NewClient(config)
		require.NoError(t, err)
		return client
	}
	public, feed := connect(told[1]), connect(told[2])
	live, err := public.SubscribeToStream(t.Context(), "s", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	require.NoError(t, err)
	write := func(to *esdb.Client) error {
		_, err := to.AppendToStream(t.Context(), "s", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, esdb.EventData{EventType: "T"})
		return err
	}
	var denied *esdb.Error
	require.ErrorAs(t, write(public), &denied)
	require.Equal(t, esdb.ErrorCodeAccessDenied, denied.Code())
	require.NoError(t, write(feed))
	for {
		e := live.Recv()
		require.Nil(t, e.SubscriptionDropped)
		if e.EventAppeared != nil {
			break
		}
	}
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, errors.Join(live.Close(), public.Close(), feed.Close()))
}

// linePipe is a writer that sends each write to a channel.
type linePipe chan string

func newLinePipe() (<-chan string, linePipe) {
	lines := make(linePipe, 1)
	return lines, lines
}

func (p linePipe) Write(b []byte) (int, error) {
	p <- string(b)
	return len(b), nil
}
