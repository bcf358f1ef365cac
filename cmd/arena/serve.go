package main

import (
	"cmp"
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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"hexarena/adapters/api"
	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/auth"
	"hexarena/adapters/botwire"
	"hexarena/adapters/drand"
	"hexarena/adapters/mail"
	"hexarena/adapters/matchmaker"
	"hexarena/adapters/notices"
	"hexarena/adapters/referee"
	"hexarena/adapters/rest"
	"hexarena/adapters/secrets"
	"hexarena/adapters/web"
	"hexarena/adapters/witness"
	"hexarena/cmd/arena/listen"
	"hexarena/cmd/arena/offline"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/node"
	"hexarena/projections"
	"hexarena/projections/accounts"
	"hexarena/projections/live"
	"hexarena/projections/readmodels"
)

// startupTime is how long the log may take to respond at startup.
const startupTime = 30 * time.Second

type serveCmd struct {
	config
	Pace pace `embed:""`
}

// Validate checks the flags. The flag parser calls it.
func (c *serveCmd) Validate() error {
	c.pace = c.Pace
	return c.validate()
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, k *kong.Kong) error {
	logger := newLogger(k.Stderr)
	a, err := open(ctx, c.config, logger)
	if err != nil {
		return err
	}
	fmt.Fprintf(k.Stdout, "Hex Arena is at %s\n%s", a.baseURL, a.addresses())
	go releaseMemory(ctx)
	return a.run(ctx)
}

// arena is a complete arena, as the function open returns it. Its listeners and read
// models are open, it is connected to the log, and its secrets are loaded.
type arena struct {
	config
	baseURL   string
	host      string // host of the base URL, with the port if the URL has one
	logger    *slog.Logger
	log       logClient
	secrets   *secrets.Secrets
	public    ed25519.PublicKey
	directory directoryAdapter
	mailer    *mail.Mailer
	auth      *auth.Service
	dial      referee.Dial // opens sockets to bots
	checker   api.Checker  // checks the URLs of bots
	notices   *notices.Notifier
	accounts  *accounts.Accounts
	matches   list
	board     rankings
	health    botHealth
	signedLog signedLogReader
	heads     *ladderHeads
	cosigners *witness.Client
	beacon    *drand.Client // nil without --beacon
	live      *live.Hub
	upToDate  chan struct{}          // closed once the read models have folded all events that were in the log at startup
	ladders   []*matchmaker.Ladder   // one for each mode
	player    *player                // plays the matches that are assigned to this process; nil with --no-play
	seating   atomic.Pointer[seater] // seats tables while this process holds the lease, else nil
	runners   []*projections.Runner
	server    *http.Server
	admin     *http.Server
	listeners struct{ public, admin, node net.Listener } // node is nil without the embedded node
	limited   *listen.Limited                            // serves the public listener
	node      *node.Node                                 // the embedded node, or nil
	nodeEnded chan error                                 // receives the embedded node's error; nil without the embedded node
	closers   []func() error                             // in the order of opening
}

// logClient is the arena's connection to the log. An *esdb.Log implements it. The
// simulation has its own.
type logClient interface {
	eventstore.Log
	Ping(ctx context.Context) error
	Outage() time.Duration // how long the log has been unavailable
	OnLoss(f func())       // calls f when the log has lost events that this process knows
	Collector() prometheus.Collector
	Close() error
}

// The function open() creates all parts and connects them. If it fails, it closes the
// parts that it has opened.
func open(ctx context.Context, c config, logger *slog.Logger) (*arena, error) {
	a := &arena{config: c, logger: logger}
	for _, step := range []func(context.Context) error{a.openPorts, a.openMail, a.openLog, a.openSecrets, a.openDialer, a.openBeacon, a.openModels, a.openPlay, a.openServers} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	return a, nil
}

func (a *arena) onClose(f func() error) { a.closers = append(a.closers, f) }

// The method close() closes the parts that the function open() has opened, in reverse
// order.
func (a *arena) close() error {
	var errs []error
	for _, f := range slices.Backward(a.closers) {
		errs = append(errs, f())
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
	a.baseURL = cmp.Or(a.BaseURL, "http://"+a.listeners.public.Addr().String())
	_, a.host, _ = strings.Cut(a.baseURL, "://")
	return nil
}

func (a *arena) listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := listen.TCP(ctx, flag, address)
	if err != nil {
		return nil, err
	}
	a.onClose(func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return l, nil
}

// The method addresses() returns the addresses that the arena listens on, one per line.
// If a flag sets port 0, these lines are the only place that shows the chosen port,
// because the base URL may belong to a proxy.
func (a *arena) addresses() string {
	text := fmt.Sprintf("API on http://%s\noperators' endpoints on http://%s\n", a.listeners.public.Addr(), a.listeners.admin.Addr())
	if a.listeners.node != nil {
		text += fmt.Sprintf("event store on esdb://%s?tls=false\n", a.listeners.node.Addr())
	}
	return text
}

func (a *arena) openMail(context.Context) error {
	var err error
	if a.mailer, err = mail.Open(a.mail(), a.sender(), time.Now); err != nil {
		return fmt.Errorf("--mail: %w", err)
	}
	return nil
}

// openLog connects to the log. If no flag names a log, it starts the embedded node,
// and connects to it with the same client that it would use for a cluster.
func (a *arena) openLog(ctx context.Context) error {
	connection := a.EventStore
	if connection == "" {
		l, err := a.listen(ctx, "--node-listen", a.NodeListen)
		if err != nil {
			return err
		}
		a.listeners.node = l
		n, err := node.Open(node.Options{Dir: filepath.Join(a.pace.Data, "node"), Logger: a.logger})
		if err != nil {
			return err
		}
		a.node, a.nodeEnded = n, make(chan error, 1)
		go func() { a.nodeEnded <- n.Serve(l) }()
		a.onClose(n.Close)
		connection = fmt.Sprintf("esdb://%s?tls=false", l.Addr())
	}
	log, err := esdb.Open(connection, a.logger)
	if err != nil {
		return fmt.Errorf("--eventstore: %w", err)
	}
	a.log = log
	a.onClose(log.Close)
	ctx, cancel := context.WithTimeout(ctx, startupTime)
	defer cancel()
	if err := a.log.Ping(ctx); err != nil {
		return fmt.Errorf("the log does not respond: %w", err)
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

// openModels opens the read models and creates their runners. The method run() starts
// the runners.
func (a *arena) openModels(context.Context) error {
	dir := offline.ProjectionsDir(a.pace.Data)
	release, err := projections.Lock(dir)
	if errors.Is(err, projections.ErrInUse) {
		return fmt.Errorf("another arena uses the data folder %s; give each arena its own --data", a.pace.Data)
	}
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	a.onClose(release)
	models, runners := readmodels.New(a.log), map[projections.Model]*projections.Runner{}
	all := models.All()
	opened, opening := make([]*projections.Runner, len(all)), errgroup.Group{}
	for i, m := range all { // at the same time, because each reads its whole file
		opening.Go(func() (err error) {
			opened[i], err = projections.Open(dir, a.log, m, a.logger)
			return err
		})
	}
	err = opening.Wait()
	for i, r := range opened {
		if r != nil {
			a.onClose(r.Close)
			a.runners = append(a.runners, r)
			runners[all[i]] = r
		}
	}
	if err != nil {
		return err
	}
	a.directory = directoryAdapter{models.Directory, runners[models.Directory]}
	a.matches = list{models.Matches, runners[models.Matches]}
	a.board = rankings{models.Leaderboard, runners[models.Leaderboard], a.directory}
	a.health = botHealth{models.Health, runners[models.Health]}
	a.signedLog = newSignedLogReader(models.SignedLog, runners[models.SignedLog])
	a.heads = newLadderHeads(a.signedLog, a.signLadderHead, a.logger)
	if a.heads.kept, err = openKeptHeads(a.pace.Data); err != nil {
		return err
	}
	a.heads.recheck = a.recheckResults
	a.cosigners = witness.New(witness.Options{Witnesses: a.config.witnesses, Modes: ladder.Modes, Trees: ladderTrees{a.heads, a.signedLog}, Logger: a.logger})
	a.heads.cosigned = func(mode string, h ladderHead) []byte { return a.cosigners.Cosignatures(mode, h.Signed) }
	a.accounts = accounts.New(a.log)
	a.openLive(a.matches.runner)
	a.notices = notices.New(notices.Options{
		Accounts: a.accounts, Directory: a.directory, Health: a.health, Mailer: a.mailer, BaseURL: a.baseURL, Logger: a.logger,
	})
	return nil
}

// openLadders creates the ladders. If the process does not play, it only reads them.
func (a *arena) openLadders() {
	rests := map[string]time.Duration{ladder.Standard: a.pace.RestStandard, ladder.Parley: a.pace.RestParley}
	for _, mode := range ladder.Modes {
		o := matchmaker.LadderOptions{
			Mode: mode, Rest: rests[mode], PlatformKey: base64.StdEncoding.EncodeToString(a.public), SeedKeys: a.secrets, Logger: a.logger,
			SnapshotEvery: a.snapshotEvery,
		}
		if a.beacon != nil {
			o.Beacon = a.beacon
		}
		a.ladders = append(a.ladders, matchmaker.NewLadder(a.log, o))
	}
}

// openDialer creates the dialer. It connects to bots, but never to the arena itself.
func (a *arena) openDialer(context.Context) error {
	o := botwire.Options{Key: a.secrets.Platform(), Production: a.Production, Now: time.Now, Logger: a.logger, OwnHosts: []string{a.host}}
	for _, l := range []net.Listener{a.listeners.public, a.listeners.admin, a.listeners.node} {
		if l != nil {
			o.Own = append(o.Own, l.Addr().(*net.TCPAddr).AddrPort())
		}
	}
	d := botwire.New(o)
	a.dial, a.checker = dial(d), d
	return nil
}

func (a *arena) openServers(context.Context) error {
	var err error
	a.auth, err = auth.New(auth.Options{
		Log: a.log, Directory: a.directory, Accounts: a.accounts, Mailer: a.mailer, EmailKey: a.secrets.EmailKey(),
		BaseURL: a.baseURL, Secure: a.Production, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	handler, err := api.New(api.Options{
		Log: a.log, Outage: a.log.Outage, Auth: a.auth, ParsePublicKey: auth.ParsePublicKey, Checker: a.checker, Directory: a.directory,
		Accounts: a.accounts, Matches: a.matches, Leaderboard: a.board, Live: a.live, Queue: newQueue(a), Health: a.health, Events: a.health, SeedKey: a.secrets.SeedKey,
		Beacon: a.beaconInfo(), SignedLog: a.signedLog, SignHead: a.signHead, Checkpoint: a.heads.Checkpoint, Cosigned: a.cosigners.Cosigned, LadderKey: a.ladderKey,
		PlatformKey: a.public, BaseURL: a.baseURL, SecurityContact: a.SecurityContact, Limits: ratelimit.Defaults(), TrustedProxies: a.trustedProxies,
		Now: time.Now, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.log.OnLoss(func() {
		for _, r := range a.runners {
			r.Doubt()
		}
		if a.player != nil {
			a.player.members.Forget()
			a.player.referee.Interrupt()
		}
		if s := a.seating.Load(); s != nil {
			s.trials.referee.Interrupt()
		}
		a.accounts.Forget()
		handler.Forget()
	})
	pages, err := web.New(web.Options{
		API: handler, Reads: handler.InternalReads(), Count: handler.CountPage, CountFile: handler.CountFile, Turn: handler.Turn,
		Spread: a.board.spread, House: a.board.directory.house, Registered: a.board.directory.registered, Tallies: a.board, BaseURL: a.baseURL, Tick: a.pace.Tick, Now: time.Now, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.server = listen.NewServer(tellAge(a.log.Outage, pages))
	if a.Production {
		a.server.Handler = listen.RequireHTTPS(a.server.Handler)
	}
	a.server.ConnContext = api.ConnContext
	a.server.RegisterOnShutdown(handler.EndStreams)
	a.limited = listen.Limit(a.listeners.public, a.trustedProxies, a.logger)
	a.limited.Full = func() { listen.CloseIdle(a.server) }
	a.admin = listen.NewServer(a.adminHandler())
	return nil
}

// tellAge adds the header rest.HeaderStale to the responses while the log is
// unavailable, because they show only what this process knew before.
func tellAge(outage func() time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if since := outage(); since > 0 {
			w.Header().Set(rest.HeaderStale, strconv.FormatFloat(since.Seconds(), 'f', 1, 64))
		}
		next.ServeHTTP(w, r)
	})
}

// sender returns the sender's address for emails. It uses the host of the base URL as
// the domain, unless that host is an IP address.
func (a *arena) sender() string {
	u := url.URL{Host: a.host}
	if net.ParseIP(u.Hostname()) != nil {
		return "arena@localhost"
	}
	return "arena@" + u.Hostname()
}
