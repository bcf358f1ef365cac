package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
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
		flags nodeCmd
		want  string
	}{
		{"no port", nodeCmd{Listen: "127.0.0.1", Data: t.TempDir()}, "want host:port"},
		{"outside loopback", nodeCmd{Listen: "0.0.0.0:0", Data: t.TempDir()}, "--insecure-node"},
		{"outside loopback, by an empty host", nodeCmd{Listen: ":0", Data: t.TempDir()}, "--insecure-node"},
		{"outside loopback, by name", nodeCmd{Listen: "example.org:2113", Data: t.TempDir()}, "--insecure-node"},
		{"fed from outside loopback", nodeCmd{Listen: "127.0.0.1:0", ReadOnly: true, FeedListen: ":0", Data: t.TempDir()}, "on loopback alone"},
		{"fed, and not read only", nodeCmd{Listen: "127.0.0.1:0", FeedListen: "127.0.0.1:0", Data: t.TempDir()}, "only with --read-only"},
		{"fed on a port that is taken", nodeCmd{Listen: "127.0.0.1:0", ReadOnly: true, FeedListen: taken.Addr().String(), Data: t.TempDir()}, "--feed-listen"},
		{"a port that is taken", nodeCmd{Listen: taken.Addr().String(), Data: t.TempDir()}, "address already in use"},
		{"a folder that is in use", nodeCmd{Listen: "127.0.0.1:0", Data: locked}, "in use by another process"},
		{"a log of another version", nodeCmd{Listen: "127.0.0.1:0", Data: logOfVersion(t, "99")}, "version 99"},
		{"a folder that cannot be made", nodeCmd{Listen: "127.0.0.1:0", Data: "/dev/null/log"}, "--data"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := RunNode(t.Context(), &out, slog.New(slog.DiscardHandler), test.flags)
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

// A stop while a client is subscribed ends at once and keeps what was written.
func TestNodeStopsGracefully(t *testing.T) {
	dir := t.TempDir()
	for round := range 2 {
		out, printed := newLinePipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- RunNode(ctx, printed, slog.New(slog.DiscardHandler), nodeCmd{Listen: "127.0.0.1:0", Data: dir})
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

// What is fed is read by everyone, who is refused to write.
func TestNodeReadOnly(t *testing.T) {
	out, printed := newLinePipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- RunNode(ctx, printed, slog.New(slog.DiscardHandler), nodeCmd{Listen: "127.0.0.1:0", ReadOnly: true, FeedListen: "127.0.0.1:0", Data: t.TempDir()})
	}()
	told := regexp.MustCompile(`^event store on (\S+), .*\nfed on (\S+)\n`).FindStringSubmatch(<-out)
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

// With port 0 and a base URL, the start still prints each address it listens on.
func TestServePrintsItsAddresses(t *testing.T) {
	t.Parallel()
	s := newStand(t, "--base-url", "https://arena.example", "--no-play")
	ports := map[string]bool{}
	for range 2 { // a restart prints its own
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

// linePipe hands on each write.
type linePipe chan string

func newLinePipe() (<-chan string, linePipe) {
	lines := make(linePipe, 1)
	return lines, lines
}

func (p linePipe) Write(b []byte) (int, error) {
	p <- string(b)
	return len(b), nil
}
