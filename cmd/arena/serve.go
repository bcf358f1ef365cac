package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/adapters/api"
	"hexarena/adapters/auth"
	"hexarena/adapters/botwire"
	"hexarena/adapters/mail"
	"hexarena/adapters/matchmaker"
	"hexarena/adapters/player"
	"hexarena/adapters/referee"
	"hexarena/adapters/secrets"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/node"
	"hexarena/projections"
	"hexarena/projections/directory"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

// How long the parts of a graceful stop may take.
const (
	stopTime    = 10 * time.Second
	startupTime = 30 * time.Second
)

type serveCmd struct {
	config
	Pace pace `embed:""`
}

// Validate is called by the flag parser.
func (c *serveCmd) Validate() error {
	c.pace = c.Pace
	return c.judge()
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, s streams) error {
	logger := newLogger(s.err)
	a, err := open(ctx, c.config, logger)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Hex Arena is at %s\n", a.baseURL)
	return a.run(ctx)
}

// arena is a service that has been opened: its ports are taken, its log and
// secrets are there, its read models are up to date.
type arena struct {
	config
	baseURL   string
	logger    *slog.Logger
	log       *esdb.Log
	secrets   *secrets.Secrets
	public    ed25519.PublicKey
	lease     *player.Lease // nil where it does not play
	people    people
	referee   *referee.Referee
	tick      *matchmaker.Matchmaker
	runners   []*projections.Runner
	server    *http.Server
	admin     *http.Server
	listeners struct{ public, admin net.Listener }
	listening []net.Listener // all of them
	nodeEnded chan error     // what the embedded node ended with; nil without one
	closers   []func() error // in the order of opening
}

// open plugs everything together. What was opened before a failure is closed.
func open(ctx context.Context, c config, logger *slog.Logger) (*arena, error) {
	a := &arena{config: c, logger: logger}
	for _, step := range []func(context.Context) error{a.openPorts, a.openLog, a.openSecrets, a.openModels, a.openPlay, a.openServers} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	return a, nil
}

func (a *arena) onClose(f func() error) { a.closers = append(a.closers, f) }

// close undoes open, last first.
func (a *arena) close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(errs...)
}

func (a *arena) openPorts(ctx context.Context) error {
	if err := os.MkdirAll(a.pace.Data, 0o700); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	var err error
	if a.listeners.public, err = a.listen(ctx, "--listen", a.Listen); err != nil {
		return err
	}
	if a.listeners.admin, err = a.listen(ctx, "--admin-listen", a.AdminListen); err != nil {
		return err
	}
	a.baseURL = a.BaseURL
	if a.baseURL == "" {
		a.baseURL = "http://" + a.listeners.public.Addr().String()
	}
	return nil
}

func (a *arena) listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	a.listening = append(a.listening, l)
	a.onClose(func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return l, nil
}

// openLog starts the embedded node, where no other log is named, and connects
// to it as it would to a cluster.
func (a *arena) openLog(ctx context.Context) error {
	connection := a.EventStore
	if connection == "" {
		l, err := a.listen(ctx, "--node-listen", a.NodeListen)
		if err != nil {
			return err
		}
		n, err := node.Open(node.Options{Dir: filepath.Join(a.pace.Data, "node"), Logger: a.logger})
		if err != nil {
			return err
		}
		a.nodeEnded = make(chan error, 1)
		go func() { a.nodeEnded <- n.Serve(l) }()
		a.onClose(n.Close)
		connection = fmt.Sprintf("esdb://%s?tls=false", l.Addr())
	}
	var err error
	if a.log, err = esdb.Open(connection, a.logger); err != nil {
		return fmt.Errorf("--eventstore: %w", err)
	}
	a.onClose(a.log.Close)
	ctx, cancel := context.WithTimeout(ctx, startupTime)
	defer cancel()
	if err := a.log.Ping(ctx); err != nil {
		return fmt.Errorf("the log does not answer: %w", err)
	}
	return nil
}

func (a *arena) openSecrets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startupTime)
	defer cancel()
	var err error
	if a.secrets, err = secrets.Open(ctx, a.log, a.config.secrets(), a.Play); err != nil {
		return err
	}
	a.public = a.secrets.Platform().Public().(ed25519.PublicKey)
	return nil
}

func (a *arena) openModels(context.Context) error {
	dir := directory.New()
	a.people = people{dir, a.follow(dir)}
	return nil
}

// follow makes a runner for a read model, to be run with the rest.
func (a *arena) follow(m projections.Model) *projections.Runner {
	r := projections.New(a.log, m, a.logger)
	a.runners = append(a.runners, r)
	return r
}

// openPlay takes the player's lease, and makes what seats and plays.
func (a *arena) openPlay(ctx context.Context) error {
	if !a.Play {
		return nil
	}
	var err error
	if a.lease, err = player.Acquire(ctx, a.log, a.pace.Data); err != nil {
		return err
	}
	a.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		return a.lease.Release(ctx)
	})
	var ladders []*matchmaker.Ladder
	modes := map[string]referee.Mode{}
	for name, m := range a.modes() {
		l := matchmaker.NewLadder(a.log, matchmaker.LadderConfig{
			Mode: name, Rest: m.rest, PlatformKey: base64.StdEncoding.EncodeToString(a.public), SeedKeys: a.secrets,
		})
		ladders = append(ladders, l)
		modes[name] = referee.Mode{Decision: m.decision, Wall: m.wall, Ladder: l}
	}
	a.referee = referee.New(referee.Config{
		Log: a.log, Dial: a.dialer().dial, Modes: modes, Player: a.lease.Holder(), Logger: a.logger,
		Bots: a.people.player, SeedKey: a.secrets.SeedKey,
	})
	a.tick = matchmaker.New(matchmaker.Config{
		Ladders: ladders, Directory: a.people, Referee: a.referee, Tick: a.pace.Tick, Logger: a.logger,
	})
	return nil
}

// dialer reaches bots, and never the arena itself.
func (a *arena) dialer() wire {
	o := botwire.Options{Key: a.secrets.Platform(), Production: a.Production, Logger: a.logger}
	for _, l := range a.listening {
		if at, ok := l.Addr().(*net.TCPAddr); ok {
			o.Own = append(o.Own, at.AddrPort())
		}
	}
	if u, err := url.Parse(a.baseURL); err == nil {
		o.OwnHosts = []string{u.Host}
	}
	return wire{botwire.New(o)}
}

func (a *arena) openServers(context.Context) error {
	mailer, err := mail.Open(a.mail(), a.sender(), time.Now)
	if err != nil {
		return fmt.Errorf("--mail: %w", err)
	}
	authenticator, err := auth.New(auth.Options{
		Log: a.log, Directory: a.people, Mailer: mailer, EmailKey: a.secrets.EmailKey(),
		BaseURL: a.baseURL, Secure: a.Production, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	list, board := matches.New(), leaderboard.New()
	a.follow(list)
	a.follow(board)
	handler, err := api.New(api.Options{
		Log: a.log, Auth: authenticator, ParsePublicKey: auth.ParsePublicKey, Checker: a.dialer(), Directory: a.people,
		Matches: list, Leaderboard: rankings{board, a.people}, PlatformKey: a.public, BaseURL: a.baseURL, Now: time.Now, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.server = newServer(handler)
	a.admin = newServer(a.adminHandler())
	return nil
}

// sender is the address that mail comes from: at the base URL's host, where
// that has a name.
func (a *arena) sender() string {
	u, err := url.Parse(a.baseURL)
	if err != nil || net.ParseIP(u.Hostname()) != nil {
		return "arena@localhost"
	}
	return "arena@" + u.Hostname()
}

// newServer bounds how long a caller may take to send its headers. It sets no
// ReadTimeout, which would end long answers; bodies have a deadline of their own.
func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
}

// run serves and plays until ctx ends or a part fails, and then stops in the
// order that loses nothing: no new tables, no new calls, matches left in the
// log as they stand.
func (a *arena) run(ctx context.Context) error {
	defer func() {
		if err := a.close(); err != nil {
			a.logger.Warn("stopping", "error", err)
		}
	}()
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range a.runners {
		g.Go(func() error { return r.Run(ctx) })
	}
	g.Go(func() error { return a.serveUpToDate(ctx) })
	g.Go(func() error { return serveOn(a.admin, a.listeners.admin) })
	if a.Play {
		g.Go(func() error { return a.play(ctx) })
	}
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		return errors.Join(a.server.Shutdown(stop), a.admin.Shutdown(stop))
	})
	return g.Wait()
}

// serveUpToDate serves the API once the read models hold all that the log held,
// so that nothing that was there before a restart is missing after it. Callers
// wait meanwhile.
func (a *arena) serveUpToDate(ctx context.Context) error {
	for _, r := range a.runners {
		if err := r.Sync(ctx); err != nil {
			return unlessStopped(ctx, err)
		}
	}
	return serveOn(a.server, a.listeners.public)
}

func serveOn(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// play ticks until ctx ends or the lease is lost: then another may play, and
// this one must not. It begins with an up-to-date directory, so that a bot that
// moved is dialled where it is.
func (a *arena) play(ctx context.Context) error {
	if err := a.people.CatchUp(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	ticking, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); a.tick.Run(ticking) }()
	select {
	case <-a.lease.Lost():
		a.referee.Abandon()
		cancel()
		<-done
		return fmt.Errorf("the player's lease is lost: %w", a.lease.Err())
	case <-ctx.Done():
		a.tick.Drain()
		cancel()
		<-done
		stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancelStop()
		return a.referee.Stop(stop)
	}
}
