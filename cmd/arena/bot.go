package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	crand "crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/botwire"
	"hexarena/adapters/housebot"
	"hexarena/cmd/arena/listen"
)

type botCmd struct {
	Name        string        `arg:"" help:"The bot: random, greedy, search or montecarlo, from the weakest to the strongest."`
	Listen      string        `default:":9001" help:"Address to serve on; without a host, on all interfaces."`
	PublicKey   string        `help:"The arena's public key in base64, to verify connections (GET /.well-known/arena.json)."`
	Recipient   string        `placeholder:"HOST" help:"The host of the bot's URL, or BOT-ID@HOST: accept only connections that the arena signed for this bot (needs --public-key)."`
	Think       time.Duration `help:"Time to wait before each answer, so that people can watch."`
	UntilEOF    bool          `name:"until-eof" hidden:"" help:"Stop when standard input ends."`
	NonceSecret string        `placeholder:"FILE" help:"File with the secret from which the bot derives its nonces; it is created if it does not exist (default: a random secret for this run)."`
	Seed        uint64        `help:"Seed of the bot's random choices (default: a random one, which is printed)."`
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
	if c.Recipient != "" && key == nil {
		return errors.New("--recipient needs --public-key, to verify the connections")
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	secret, err := c.secret()
	if err != nil {
		return fmt.Errorf("--nonce-secret: %w", err)
	}
	h, err := housebot.Handler(housebot.Options{
		Name: c.Name, PublicKey: key, Recipient: strings.ToLower(c.Recipient), Think: c.Think, Seed: c.Seed, Secret: secret, Logger: newLogger(k.Stderr),
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
	return listen.Serve(server, botwire.Listener(l))
}

// secret returns the secret from which the bot derives its nonces. The secret is the
// text of the file, without white space at the ends. If the file does not exist, secret
// creates it. If no file is named, secret returns nil.
func (c *botCmd) secret() ([]byte, error) {
	if c.NonceSecret == "" {
		return nil, nil
	}
	f, err := os.OpenFile(c.NonceSecret, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case err == nil:
		_, err = fmt.Fprintln(f, crand.Text())
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	text, err := os.ReadFile(c.NonceSecret)
	if err != nil {
		return nil, err
	}
	secret := bytes.TrimSpace(text)
	if len(secret) == 0 {
		return nil, fmt.Errorf("%s is empty; delete it so that the bot creates a new secret", c.NonceSecret)
	}
	return secret, nil
}
