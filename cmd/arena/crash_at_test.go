package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"modernc.org/sqlite"

	"hexarena/adapters/referee"
	"hexarena/cmd/arena/simulate"
	"hexarena/eventstore"
	"hexarena/eventstore/node"
)

// crashAt is an environment variable that contains a crash in JSON. `arena serve` and
// `arena node` then kill themselves when they pass the point of the crash. This code is
// only in the test binary: it wraps the log, the dialer, the node's files and SQLite.
const crashAt = "HEXARENA_TEST_CRASH_AT"

// crash says where a process kills itself. Without a point, the process only takes notes.
type crash struct {
	Point   simulate.Point
	Stream  string // the beginning of the stream's name; for BeforeCommit, of the read model's name
	Passing int    // at which passing of the point the process dies, from 1
	Notes   string // the file for the notes of the process
}

// appendNote is a line about an append in a file that survives the process.
type appendNote struct {
	Stream eventstore.StreamID
	IDs    []uuid.UUID
	// Acknowledged means that the log has answered that it has stored the events.
	// Otherwise, the process is about to send them.
	Acknowledged bool
	Revision     eventstore.Revision // of the last event, if they are acknowledged
}

// crashing is a process that kills itself.
type crashing struct {
	crash
	notes *os.File

	mu       sync.Mutex // guards the fields below
	passed   int
	appended int // appends to the streams of the crash that have no answer yet
}

// at counts the passings of the crash's point, and kills the process at the chosen one.
func (c *crashing) at(p simulate.Point, stream string) {
	if p != c.Point || !strings.HasPrefix(stream, c.Stream) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock() // never runs if the process dies
	if c.passed++; c.passed < c.Passing {
		return
	}
	fmt.Printf("crashes %s of %q\n", p, stream)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// beCrashing runs `arena serve` or `arena node` with the arguments of this process.
func beCrashing(text string) {
	c := &crashing{}
	command, parser, err := parsedCommand(os.Args[1:])
	parser.FatalIfErrorf(err)
	parser.FatalIfErrorf(json.Unmarshal([]byte(text), &c.crash))
	c.notes, err = os.OpenFile(c.Notes, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	parser.FatalIfErrorf(err)
	if os.Args[1] == "node" {
		_, address := c.serveNode(parser, command.Node.Serve.Data)
		fmt.Printf("event store on esdb://%s?tls=false\n", address)
		select {} // until the crash
	}
	c.serveArena(parser, command.Serve.config)
}

// serveArena runs an arena. If no flag names a log, the arena's node is in this process.
func (c *crashing) serveArena(parser *kong.Kong, config config) {
	config.snapshotEvery = 3
	closeNode := func() error { return nil }
	if config.EventStore == "" {
		n, address := c.serveNode(parser, filepath.Join(config.pace.Data, "node"))
		closeNode, config.EventStore = n.Close, fmt.Sprintf("esdb://%s?tls=false", address)
	}
	onCommit(func(path string) { c.at(simulate.BeforeCommit, strings.TrimSuffix(filepath.Base(path), ".db")) })
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	a := &arena{config: config, logger: newLogger(os.Stderr)}
	wrapLog := func(context.Context) error { a.log = crashingLog{a.log, c}; return nil }
	wrapDialer := func(context.Context) error { a.dial = c.dial(a.dial); return nil }
	for _, step := range []func(context.Context) error{a.openPorts, a.openMail, a.openLog, wrapLog, a.openSecrets, a.openDialer, wrapDialer, a.openBeacon, a.openModels, a.openPlay, a.openServers} {
		parser.FatalIfErrorf(step(ctx))
	}
	fmt.Printf("Hex Arena is at %s\n%s", a.baseURL, a.addresses())
	parser.FatalIfErrorf(errors.Join(a.run(ctx), closeNode()))
	os.Exit(0) //nolint:gocritic // nothing needs the signal any more
}

// serveNode serves a node. Just before the node syncs appends, the system has their bytes,
// and keeps them if the process is killed. But nobody has got an answer.
func (c *crashing) serveNode(parser *kong.Kong, folder string) (*node.Node, net.Addr) {
	files := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		syncs := []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo}
		if slices.Contains(syncs, op.Kind) && strings.HasSuffix(op.Path, ".log") && c.waits() {
			c.at(simulate.AfterAppend, c.Stream)
		}
		return nil
	}))
	n, err := node.Open(node.Options{Dir: folder, FS: files, Logger: newLogger(os.Stderr)})
	parser.FatalIfErrorf(err)
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	parser.FatalIfErrorf(err)
	go func() { _ = n.Serve(l) }() // a node that stops makes the test fail, because the arenas cannot continue
	return n, l.Addr()
}

// waits reports whether an append to the stream of the crash has no answer yet. A node in
// a process of its own does not know that, so it always waits.
func (c *crashing) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.appended > 0 || os.Args[1] == "node"
}

// onCommit makes SQLite call f with the path of a database before each commit.
func onCommit(f func(path string)) {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		u, err := url.Parse(dsn)
		if err != nil {
			return err
		}
		conn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 { f(u.Path); return 0 })
		return nil
	})
}

// crashingLog is a log whose process kills itself.
type crashingLog struct {
	logClient
	c *crashing
}

// Append implements eventstore.Log.
func (l crashingLog) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (appended eventstore.Appended, err error) {
	n := appendNote{Stream: id}
	for _, e := range events {
		n.IDs = append(n.IDs, e.ID)
	}
	err = l.c.write(id, &n, func() error {
		appended, err = l.logClient.Append(ctx, id, expected, events...)
		n.Revision = appended.Revision
		return err
	})
	return appended, err
}

// SetMetadata implements eventstore.Log.
func (l crashingLog) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	return l.c.write(id, &appendNote{}, func() error { return l.logClient.SetMetadata(ctx, id, m) })
}

// Read implements eventstore.Log.
func (l crashingLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	l.c.at(simulate.BeforeRead, string(id))
	return l.logClient.Read(ctx, id, from, opt)
}

// ReadAll implements eventstore.Log.
func (l crashingLog) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	l.c.at(simulate.BeforeRead, "$all")
	return l.logClient.ReadAll(ctx, from, opt)
}

// write stores something in a stream, and notes it.
func (c *crashing) write(id eventstore.StreamID, n *appendNote, store func() error) error {
	c.at(simulate.BeforeAppend, string(id))
	matches := strings.HasPrefix(string(id), c.Stream)
	if matches {
		c.count(1)
	}
	c.note(*n)
	err := store()
	if matches {
		c.count(-1)
	}
	if err == nil {
		n.Acknowledged = true
		c.note(*n)
	}
	c.at(simulate.AfterAnswer, string(id))
	return err
}

func (c *crashing) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.appended += n
}

// note writes a line with one call, so that the line is whole even if the process dies.
func (c *crashing) note(n appendNote) {
	if len(n.IDs) == 0 {
		return
	}
	line, err := json.Marshal(n)
	if err == nil {
		_, err = c.notes.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

func (c *crashing) dial(dial referee.Dial) referee.Dial {
	return func(ctx context.Context, url, matchID string, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
		line, accepted, err := dial(ctx, url, matchID, u, receive)
		if err != nil {
			return nil, accepted, err
		}
		return crashingLine{line, c}, accepted, nil
	}
}

// crashingLine is a line to a bot. Its process kills itself after a request.
type crashingLine struct {
	referee.Line
	c *crashing
}

// Send implements referee.Line.
func (l crashingLine) Send(ctx context.Context, frame []byte) error {
	err := l.Line.Send(ctx, frame)
	l.c.at(simulate.AfterSend, "")
	return err
}
