package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"hexarena/eventstore/esdb"
	"hexarena/eventstore/node"
)

// openEmbedded runs an embedded node on a folder, and connects to its log.
// Closing it ends both.
func openEmbedded(ctx context.Context, dir string) (log *esdb.Log, closeLog func() error, err error) {
	quiet := slog.New(slog.DiscardHandler)
	n, err := node.Open(node.Options{Dir: dir, Logger: quiet})
	if err != nil {
		return nil, nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, errors.Join(err, n.Close())
	}
	served := make(chan error, 1)
	go func() { served <- n.Serve(l) }()
	stop := func() error { return errors.Join(n.Close(), <-served) }
	log, err = openAnswering(ctx, "the embedded node", fmt.Sprintf("esdb://%s?tls=false", l.Addr()), quiet)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return log, func() error { return errors.Join(log.Close(), stop()) }, nil
}
