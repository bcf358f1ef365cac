package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"hexarena/cmd/arena/logs"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
)

// arena is an arena in its own process. It seats no bots. Instead, the
// benchmark writes matches to its log.
type arena struct {
	url          string
	admin        string // URL of the operators' endpoints
	log          *esdb.Log
	pid          int
	startSeconds float64 // time from startup until /health responded with 200
}

// withArena starts an arena with the data folder dir and the additional flags. It
// calls f once the arena responds to calls, and stops the arena when f returns.
func withArena(ctx context.Context, dir string, f func(a *arena) error, more ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	flags := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0", "--tick", "24h"}
	cmd := exec.CommandContext(ctx, self, append(flags, more...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = os.Stderr
	begun := time.Now()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	url, admin, node, err := readAddresses(out)
	if err != nil {
		return errors.Join(fmt.Errorf("the arena did not start: %w", err), cmd.Wait())
	}
	a := &arena{url: url, admin: admin, pid: cmd.Process.Pid}
	if a.log, err = logs.Open(ctx, "the arena's log", node, slog.New(slog.DiscardHandler)); err == nil {
		err = inOrder(
			func() error { return a.await(ctx, "/health", nil) },
			func() error {
				a.startSeconds = time.Since(begun).Seconds()
				return f(a)
			},
		)
		err = errors.Join(err, a.log.Close())
	}
	return errors.Join(err, cmd.Process.Signal(os.Interrupt), cmd.Wait())
}

// readAddresses reads the addresses that an arena prints. The last one is the address
// of the arena's node. readAddresses discards all later output.
func readAddresses(out io.Reader) (url, admin, node string, err error) {
	lines := bufio.NewReader(out)
	for node == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", "", "", err
		}
		label, address, _ := strings.Cut(strings.TrimSpace(line), " on ")
		switch label {
		case "API":
			url = address
		case "operators' endpoints":
			admin = address
		case "event store":
			node = address
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return url, admin, node, nil
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
