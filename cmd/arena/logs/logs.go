// Package logs opens the event logs that commands work on: either a log that a
// connection string names, or an embedded node's log in a folder.
package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"hexarena/eventstore/esdb"
	"hexarena/eventstore/node"
)

// These constants limit how long a log may take to respond when a command starts. The
// limit for the embedded node is longer: the node runs in this process, so only a busy
// machine can delay it.
const (
	answerTime         = 10 * time.Second
	embeddedAnswerTime = time.Minute
)

// Open connects to a log and waits until the log responds. Errors name the flag
// that contains the connection string.
func Open(ctx context.Context, flag, connection string, logger *slog.Logger) (*esdb.Log, error) {
	return openWithin(ctx, answerTime, flag, connection, logger)
}

func openWithin(ctx context.Context, limit time.Duration, flag, connection string, logger *slog.Logger) (*esdb.Log, error) {
	log, err := esdb.Open(connection, logger.With("log", flag))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := log.Ping(ctx); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%s does not respond: %w", flag, err)
	}
	return log, nil
}

// Embedded is an embedded node in this process, and a connection to its log.
type Embedded struct {
	Log     *esdb.Log
	Node    *node.Node
	Address string
	served  chan error
}

// OpenEmbedded runs an embedded node on a folder and on a free loopback port. It
// connects to the node with the official client, as the arena does.
func OpenEmbedded(ctx context.Context, dir string) (*Embedded, error) {
	quiet := slog.New(slog.DiscardHandler)
	n, err := node.Open(node.Options{Dir: dir, Logger: quiet})
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	e := &Embedded{Node: n, Address: l.Addr().String(), served: make(chan error, 1)}
	go func() { e.served <- n.Serve(l) }()
	if e.Log, err = OpenAt(ctx, "the embedded node", e.Address); err != nil {
		return nil, errors.Join(err, e.stopNode())
	}
	return e, nil
}

// OpenAt connects to a node of this process, which is at an address without TLS.
func OpenAt(ctx context.Context, name, address string) (*esdb.Log, error) {
	connection := fmt.Sprintf("esdb://%s?tls=false", address)
	return openWithin(ctx, embeddedAnswerTime, name, connection, slog.New(slog.DiscardHandler))
}

// Close disconnects and stops the node.
func (e *Embedded) Close() error { return errors.Join(e.Log.Close(), e.stopNode()) }

func (e *Embedded) stopNode() error { return errors.Join(e.Node.Close(), <-e.served) }

// Stopped holds the flags of commands that work on the data of a stopped
// service.
type Stopped struct {
	Data       string `default:"./data" help:"Folder of the service's data."`
	EventStore string `name:"eventstore" env:"ARENA_EVENTSTORE" help:"esdb:// connection string of the log (default: the embedded node, whose log is in the data folder)."`
}

// Open opens the service's log: the log that --eventstore names, or the embedded
// node's log. Call closeLog when you are done.
func (s Stopped) Open(ctx context.Context) (log *esdb.Log, closeLog func() error, err error) {
	if s.EventStore != "" {
		if log, err = Open(ctx, "--eventstore", s.EventStore, slog.New(slog.DiscardHandler)); err != nil {
			return nil, nil, err
		}
		return log, log.Close, nil
	}
	dir := filepath.Join(s.Data, "node")
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("--data contains no log: %w; if the service used another log, name it with --eventstore", err)
	}
	e, err := OpenEmbedded(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	return e.Log, e.Close, nil
}
