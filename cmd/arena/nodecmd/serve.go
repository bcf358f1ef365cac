package nodecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"hexarena/cmd/arena/listen"
	"hexarena/eventstore/node"
)

// serveCmd implements `arena node serve`. It serves the embedded event store
// without an arena, for any client of EventStoreDB.
type serveCmd struct {
	Listen       string            `default:"127.0.0.1:2113" help:"address to listen on"`
	Data         string            `required:"" help:"folder of the log; created if it does not exist"`
	AdminListen  string            `default:"127.0.0.1:8082" help:"address of the operators' endpoints; empty for none"`
	AdminHosts   []listen.HostName `help:"host names that monitoring may use in the URLs of the operators' endpoints, besides IP addresses and localhost"`
	InsecureNode bool              `help:"listen on an address that is not on loopback, where anyone who reaches the port can read and write"`
	ReadOnly     bool              `help:"allow clients on the --listen address only to read and subscribe; that address then need not be on loopback"`
	FeedListen   string            `help:"with --read-only: a loopback address for clients that append"`

	MaxAppendSize appendSize `default:"1048576" help:"bytes of data that one append may have; metadata does not count"`

	quotas
}

// appendSize is the value of --max-append-size, in bytes.
type appendSize int

// UnmarshalText reads the value of the flag.
func (s *appendSize) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > node.LargestAppendSize {
		return fmt.Errorf("%q: want a number of bytes from 1 to %d", text, node.LargestAppendSize)
	}
	*s = appendSize(n)
	return nil
}

// Run runs `arena node serve`.
func (c serveCmd) Run(ctx context.Context, k *kong.Kong) error {
	return c.serve(ctx, k.Stdout, slog.New(slog.NewTextHandler(k.Stderr, nil)))
}

// serve serves clients until ctx ends, and then shuts down gracefully. Its errors
// are one line long.
func (c serveCmd) serve(ctx context.Context, out io.Writer, logger *slog.Logger) error {
	l, err := c.listen(ctx)
	if err != nil {
		return err
	}
	n, err := node.Open(node.Options{Dir: c.Data, Logger: logger, Quotas: c.limits(), MaxAppendSize: int(c.MaxAppendSize)})
	if err != nil {
		return errors.Join(fmt.Errorf("--data: %w", err), l.close())
	}
	fmt.Fprintf(out, "event store on esdb://%s?tls=false, log in %s\n%s", l.clients.Addr(), c.Data, l.more())
	g, ctx := errgroup.WithContext(ctx)
	serve := n.Serve
	if c.ReadOnly {
		serve = n.ServeReadOnly
	}
	g.Go(func() error { return stopped(serve(l.clients)) })
	if l.feed != nil {
		g.Go(func() error { return stopped(n.Serve(l.feed)) })
	}
	admin := listen.NewServer(nil)
	if l.admin != nil {
		admin.Handler = c.adminHandler(n, l.admin.Addr().String(), logger)
		g.Go(func() error {
			_ = listen.Serve(admin, l.admin) // ignores the error, because the node works without these endpoints
			return nil
		})
	}
	var closed error
	g.Go(func() error {
		<-ctx.Done()
		closed = errors.Join(listen.Shutdown(context.WithoutCancel(ctx), admin), n.Close())
		return nil
	})
	return errors.Join(g.Wait(), closed)
}

// The function stopped() wraps the error of a node that stopped unexpectedly.
func stopped(err error) error {
	if err != nil {
		err = fmt.Errorf("the node stopped: %w", err)
	}
	return err
}

// listeners holds a node's listeners. The listener feed is for clients that append to a
// read-only node. The fields feed and admin may be nil.
type listeners struct{ clients, feed, admin net.Listener }

func (c serveCmd) listen(ctx context.Context) (l listeners, err error) {
	if c.FeedListen != "" && !c.ReadOnly {
		return l, errors.New("--feed-listen needs --read-only")
	}
	if l.clients, err = listenNode(ctx, c.Listen, "--listen", c.InsecureNode || c.ReadOnly); err != nil {
		return l, err
	}
	if c.FeedListen != "" {
		l.feed, err = listenFeed(ctx, c.FeedListen)
	}
	if err == nil && c.AdminListen != "" {
		l.admin, err = listen.TCP(ctx, "--admin-listen", c.AdminListen)
	}
	if err != nil {
		err = errors.Join(err, l.close())
	}
	return l, err
}

// listenNode listens for a node's clients. A node has no passwords, so an address that
// is not on loopback also needs the flag --insecure-node. Errors name the flag that
// contains the address.
func listenNode(ctx context.Context, address, flag string, insecure bool) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("%s %s: want host:port", flag, address)
	}
	if !insecure && !listen.IsLoopback(address) {
		return nil, fmt.Errorf("%s %s: an address that is not on loopback needs --insecure-node", flag, address)
	}
	return listen.TCP(ctx, flag, address)
}

// listenFeed listens for clients that append to a read-only node. Its address must
// always be on loopback.
func listenFeed(ctx context.Context, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err == nil && !listen.IsLoopback(address) {
		return nil, fmt.Errorf("--feed-listen %s: must be on loopback, because anyone who reaches it can write", address)
	}
	return listenNode(ctx, address, "--feed-listen", false)
}

// close closes the listeners. Use it only before they are served.
func (l listeners) close() (err error) {
	for _, each := range []net.Listener{l.clients, l.feed, l.admin} {
		if each != nil {
			err = errors.Join(err, each.Close())
		}
	}
	return err
}

// The method more() returns one line for each of the listeners feed and admin.
func (l listeners) more() (text string) {
	if l.feed != nil {
		text = fmt.Sprintf("feed endpoint on esdb://%s?tls=false\n", l.feed.Addr())
	}
	if l.admin != nil {
		text += fmt.Sprintf("operators' endpoints on http://%s\n", l.admin.Addr())
	}
	return text
}
