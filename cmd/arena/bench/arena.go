package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hexarena/cmd/arena/logs"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
)

// arena is an arena in its own process. It seats no bots, unless a benchmark sets a
// shorter tick. Instead, the benchmark writes matches to its log.
type arena struct {
	url          string
	admin        string // URL of the operators' endpoints
	node         string // connection string of the arena's node
	dir          string // the data folder
	log          *esdb.Log
	pid          int
	startSeconds float64 // time from startup until /health responded with 200
}

// withArena starts an arena with the data folder dir and the additional flags. It
// calls f once the arena responds to calls, and stops the arena when f returns.
func withArena(ctx context.Context, dir string, f func(a *arena) error, more ...string) error {
	return withArenaOn(ctx, "", dir, f, more...)
}

// withArenaOn is like withArena, but the arena uses the log of a node that is already
// running. If the connection string is empty, the arena starts its own node.
func withArenaOn(ctx context.Context, node, dir string, f func(a *arena) error, more ...string) error {
	flags := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	if node == "" {
		flags = append(flags, "--node-listen", "127.0.0.1:0")
	} else {
		flags = append(flags, "--eventstore", node)
	}
	if !slices.Contains(more, "--tick") {
		flags = append(flags, "--tick", "24h")
	}
	a := &arena{node: node, dir: dir}
	begun := time.Now()
	return withProcess(ctx, append(flags, more...), a.readAddresses, func(pid int) (err error) {
		a.pid = pid
		if err := a.await(ctx, "/health", nil); err != nil {
			return err
		}
		a.startSeconds = time.Since(begun).Seconds()
		if a.log, err = logs.Open(ctx, "the arena's log", a.node, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		return errors.Join(f(a), a.log.Close())
	})
}

// withProcess runs this executable in a process of its own. The function started()
// reads the output until the process is ready. withProcess then calls f, and stops
// the process when f returns.
func withProcess(ctx context.Context, args []string, started func(*bufio.Reader) error, f func(pid int) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = &warnings{w: os.Stderr}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	if err := started(lines); err != nil {
		return errors.Join(fmt.Errorf("arena %s did not start: %w", args[0], err), cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return errors.Join(f(cmd.Process.Pid), cmd.Process.Signal(os.Interrupt), cmd.Wait())
}

// warnings is a writer that drops the lines of a log that only inform. A process that
// plays writes two of them for each match.
type warnings struct {
	w    io.Writer
	line []byte // the beginning of an incomplete line
}

// Write implements io.Writer.
func (l *warnings) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		l.line = append(l.line, part...)
		if !bytes.HasSuffix(l.line, []byte("\n")) {
			break
		}
		if !bytes.Contains(l.line, []byte(" level=INFO ")) {
			if _, err := l.w.Write(l.line); err != nil {
				return 0, err
			}
		}
		l.line = l.line[:0]
	}
	return len(p), nil
}

// readAddresses reads the addresses that an arena prints. The last one is the address
// of the arena's own node, if it has one.
func (a *arena) readAddresses(lines *bufio.Reader) error {
	for a.admin == "" || a.node == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		label, address, _ := strings.Cut(strings.TrimSpace(line), " on ")
		switch label {
		case "API":
			a.url = address
		case "operators' endpoints":
			a.admin = address
		case "event store":
			a.node = address
		}
	}
	return nil
}

// newCaller returns a client whose calls come from its own address in 127.0.0.0/8.
func newCaller(address ...byte) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: append(net.IP{127}, address...)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 1}}
}

// answer is the response to a call.
type answer struct {
	status int
	etag   string
	body   []byte
}

func get(ctx context.Context, caller *http.Client, url string, header http.Header) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	r.Header = header
	response, err := caller.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Get("ETag"), body}, err
}

// catchUpTime limits how long await waits for an arena. The signed log must first fold
// all events of the log, which takes a lot of CPU time.
const catchUpTime = time.Hour

// await calls a path of the arena every second until the arena responds with 200 and
// the function accept returns true for the body. If accept is nil, await accepts
// every body. A part of the arena that is still catching up responds with 503.
func (a *arena) await(ctx context.Context, path string, accept func(body []byte) bool) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	caller := newCaller(1, 0, 7)
	defer caller.CloseIdleConnections()
	for {
		got, err := get(ctx, caller, a.url+path, nil)
		switch {
		case err != nil:
			return err
		case got.status == http.StatusOK && (accept == nil || accept(got.body)):
			return nil
		case got.status != http.StatusOK && got.status != http.StatusServiceUnavailable:
			return fmt.Errorf("%s returned status %d", path, got.status)
		}
		if err := eventstore.Sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("%s returned status %d: %w", path, got.status, err)
		}
	}
}

// metric returns a metric of the arena. If the metric has labels, the result is the sum
// over all of them.
func (a *arena) metric(ctx context.Context, name string) (sum float64, err error) {
	caller := newCaller(1, 0, 7)
	defer caller.CloseIdleConnections()
	got, err := get(ctx, caller, a.admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? (\S+)$`).FindAllSubmatch(got.body, -1)
	if found == nil {
		return 0, fmt.Errorf("this system does not report %s", name)
	}
	for _, line := range found {
		value, err := strconv.ParseFloat(string(line[1]), 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}
