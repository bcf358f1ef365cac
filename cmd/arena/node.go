package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"hexarena/eventstore/node"
)

// nodeCmd is `arena node`: the embedded event store alone, for any client of
// EventStoreDB.
type nodeCmd struct {
	Listen       string `default:"127.0.0.1:2113" help:"address to listen on"`
	Data         string `required:"" help:"folder of the log; made if it does not exist"`
	AdminListen  string `default:"127.0.0.1:8082" help:"address of the operators' endpoints; empty for none"`
	InsecureNode bool   `help:"listen outside loopback, where anyone who reaches the port reads and writes"`
}

// RunNode serves the log until ctx ends, then stops gracefully. Its error is
// one line for a person.
func RunNode(ctx context.Context, out io.Writer, logger *slog.Logger, flags nodeCmd) error {
	l, err := listenNode(ctx, flags.Listen, "--listen", flags.InsecureNode)
	if err != nil {
		return err
	}
	admin, err := listenOperators(ctx, flags.AdminListen)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	n, err := node.Open(node.Options{Dir: flags.Data, Logger: logger})
	if err != nil {
		return errors.Join(fmt.Errorf("--data: %w", err), l.Close(), admin.close())
	}
	admin.serve(n)
	fmt.Fprintf(out, "event store on esdb://%s?tls=false, log in %s\n%s", l.Addr(), flags.Data, admin.greeting())
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- errors.Join(admin.close(), n.Close()) })
	err = n.Serve(l)
	if !stop() {
		return errors.Join(err, <-stopped)
	}
	if err != nil {
		err = fmt.Errorf("the node stopped: %w", err)
	}
	return errors.Join(err, admin.close(), n.Close())
}

// listenNode listens for a node's clients: it has no passwords, so that an
// address outside loopback must be asked for twice. flag names the setting.
func listenNode(ctx context.Context, address, flag string, insecure bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: want host:port", flag, address)
	}
	if !insecure && !isLoopback(host) {
		return nil, fmt.Errorf("%s %s: outside loopback only with --insecure-node", flag, address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return l, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
