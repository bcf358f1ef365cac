package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/housebot"
	"hexarena/cmd/arena/listen"
)

type botCmd struct {
	Name      string        `arg:"" help:"The bot: greedy or random."`
	Listen    string        `default:":9001" help:"Address to serve on; without a host, on all interfaces."`
	PublicKey string        `help:"The arena's public key in base64, to verify connections (GET /.well-known/arena.json)."`
	Think     time.Duration `help:"Time to wait before each answer, so that people can watch."`
	UntilEOF  bool          `name:"until-eof" hidden:"" help:"Stop when standard input ends."`
	Seed      uint64        `help:"Seed of the bot's random choices (default: a random one, which is printed)."`
}

// Run serves the bot until ctx ends. It first prints the bot's URL.
func (c *botCmd) Run(ctx context.Context, k *kong.Kong) error {
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
		Name: c.Name, PublicKey: key, Think: c.Think, Seed: c.Seed, Logger: newLogger(k.Stderr),
	})
	if err != nil {
		return err
	}
	l, err := listen.TCP(ctx, "--listen", c.Listen)
	if err != nil {
		return err
	}
	at := *l.Addr().(*net.TCPAddr)
	everywhere := at.IP.IsUnspecified()
	if everywhere {
		at.IP = net.IPv4(127, 0, 0, 1) // programs on this machine dial this address
	}
	fmt.Fprintf(k.Stdout, "http://%s\n", &at)
	fmt.Fprintf(k.Stderr, "%s uses --seed %d\n", c.Name, c.Seed)
	if everywhere {
		fmt.Fprintf(k.Stderr, "the bot listens on all interfaces: an arena on this machine uses the address above; an arena on another machine uses this machine's address. To accept only local connections, use --listen 127.0.0.1:%d\n", at.Port)
	}
	if c.UntilEOF {
		var cancel func()
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	server := listen.NewServer(h)
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	return listen.Serve(server, l)
}
