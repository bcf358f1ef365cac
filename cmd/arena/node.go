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
	ReadOnly     bool   `help:"let clients of --listen read and subscribe alone, from outside loopback too"`
	FeedListen   string `help:"with --read-only: a loopback address for those who append"`
}

// RunNode serves the log until ctx ends, then stops gracefully. Its error is
// one line for a person.
func RunNode(ctx context.Context, out io.Writer, logger *slog.Logger, flags nodeCmd) error {
	d, err := flags.open(ctx)
	if err != nil {
		return err
	}
	admin, err := listenOperators(ctx, flags.AdminListen)
	if err != nil {
		return errors.Join(err, d.close())
	}
	n, err := node.Open(node.Options{Dir: flags.Data, Logger: logger})
	if err != nil {
		return errors.Join(fmt.Errorf("--data: %w", err), d.close(), admin.close())
	}
	admin.serve(n)
	fmt.Fprintf(out, "event store on esdb://%s?tls=false, log in %s\n%s%s", d.listen.Addr(), flags.Data, d.greeting(), admin.greeting())
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- errors.Join(admin.close(), n.Close()) })
	err = d.serve(n, flags.ReadOnly)
	if !stop() {
		return errors.Join(err, <-stopped)
	}
	if err != nil {
		err = fmt.Errorf("the node stopped: %w", err)
	}
	return errors.Join(err, admin.close(), n.Close())
}

// doors are what a node listens on: for everyone, and for those who feed a
// read-only one, if anyone does.
type doors struct{ listen, feed net.Listener }

func (flags nodeCmd) open(ctx context.Context) (d doors, err error) {
	if flags.FeedListen != "" && !flags.ReadOnly {
		return d, errors.New("--feed-listen: only with --read-only")
	}
	if d.listen, err = listenNode(ctx, flags.Listen, "--listen", flags.InsecureNode || flags.ReadOnly); err != nil || flags.FeedListen == "" {
		return d, err
	}
	if host, _, err := net.SplitHostPort(flags.FeedListen); err == nil && !isLoopback(host) {
		return d, errors.Join(fmt.Errorf("--feed-listen %s: on loopback alone, since whoever reaches it writes", flags.FeedListen), d.close())
	}
	if d.feed, err = listenNode(ctx, flags.FeedListen, "--feed-listen", false); err != nil {
		err = errors.Join(err, d.close())
	}
	return d, err
}

func (d doors) close() error {
	err := d.listen.Close()
	if d.feed != nil {
		err = errors.Join(err, d.feed.Close())
	}
	return err
}

func (d doors) greeting() string {
	if d.feed == nil {
		return ""
	}
	return fmt.Sprintf("fed on esdb://%s?tls=false\n", d.feed.Addr())
}

// serve answers until the node is closed or fails.
func (d doors) serve(n *node.Node, readOnly bool) error {
	if !readOnly {
		return n.Serve(d.listen)
	}
	fed := make(chan error, 1)
	if d.feed == nil {
		fed <- nil
	} else {
		go func() { fed <- n.Serve(d.feed) }()
	}
	err := n.ServeReadOnly(d.listen)
	if d.feed != nil && err != nil {
		_ = d.feed.Close() // what matters is why the first has ended
	}
	return errors.Join(err, <-fed)
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
