package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"time"

	"hexarena/adapters/housebot"
)

type botCmd struct {
	Name      string        `arg:"" help:"Which bot: greedy or random."`
	Listen    string        `default:":9001" help:"Address to serve on; without a host, on all interfaces."`
	PublicKey string        `help:"The arena's public key in base64, to verify who connects (GET /.well-known/arena.json)."`
	Think     time.Duration `help:"Wait so long before each answer, so that people can watch."`
	UntilEOF  bool          `name:"until-eof" hidden:"" help:"Stop when standard input ends."`
	Seed      uint64        `help:"Seed of its chance (default: drawn, and printed)."`
}

// Run serves the bot until ctx ends. Its first line of output is its URL.
func (c *botCmd) Run(ctx context.Context, s streams) error {
	key, err := base64.StdEncoding.DecodeString(c.PublicKey)
	if err != nil || len(key) != 0 && len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("--public-key %q: want base64 of 32 bytes", c.PublicKey)
	}
	if len(key) == 0 {
		key = nil
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	h, err := housebot.Handler(housebot.Options{
		Name: c.Name, PublicKey: key, Think: c.Think, Seed: c.Seed, Logger: newLogger(s.err),
	})
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintf(s.out, "http://%s\n", reachable(l.Addr()))
	fmt.Fprintf(s.err, "%s serves with --seed %d\n", c.Name, c.Seed)
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		fmt.Fprintf(s.err, "it listens on all interfaces: an arena on this machine reaches it at the address above, another one at this machine's; --listen 127.0.0.1:%d is for this machine alone\n", tcp.Port)
	}
	if c.UntilEOF {
		var cancel func()
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	server := newServer(h)
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// reachable writes an address as someone on this machine would dial it.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return a.String()
}
