package practice

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hexarena/cmd/arena/processgroup"
)

const (
	patience   = time.Minute            // the time in which a program must begin to listen
	pollEvery  = 10 * time.Millisecond  // the pause between two attempts to connect to a program that is starting
	stopTime   = 2 * time.Second        // how long a program may take to end after SIGTERM
	endingTime = 200 * time.Millisecond // how long a program that has closed its connection may take to end
	tailSize   = 4096                   // how many bytes of its latest output a process keeps
)

// goCores is the variable that tells a program in Go how many cores to use. A program
// that uses more than its share wakes threads that only wait for each other's cores.
const goCores = "GOMAXPROCS"

// starter starts the programs of bots.
type starter struct {
	folder   string         // for the files with the programs' output; empty if the output is not kept
	restarts []atomic.Int64 // by bot
	cores    int            // how many cores a program may use; 0 if it may use all
}

// process is the program of one bot. It starts when it is needed, and again when it is
// needed after it has ended. It is safe for concurrent use.
type process struct {
	*starter

	bot    *bot
	number int    // of the bot
	file   string // for the output; empty if the output is not kept
	output tail

	mu  sync.Mutex // guards the fields below
	now *program   // the latest run; nil before the first
	log io.WriteCloser
}

// program is one run of a process.
type program struct {
	cmd    *exec.Cmd
	port   int
	exited chan struct{} // closed once the program has ended
}

func (s *starter) newProcess(b *bot, number, worker int) *process {
	p := &process{starter: s, bot: b, number: number}
	if s.folder != "" {
		p.file = filepath.Join(s.folder, fmt.Sprintf("bot-%d-worker-%d.log", number+1, worker+1))
	}
	return p
}

// address returns the URL of the bot once its program listens. If the program has ended,
// address starts it again. If ctx ends, the program continues to start.
func (p *process) address(ctx context.Context) (string, error) {
	g, err := p.running()
	if err != nil {
		return "", err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(g.port))
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
			return "http://" + address, nil
		}
		select {
		case <-poll.C:
		case <-g.exited:
			return "", fmt.Errorf("bot %q: the program ended (%s) before it listened on port %d; %s", p.bot.spec, g.cmd.ProcessState, g.port, p.said())
		case <-ctx.Done():
			return "", fmt.Errorf("bot %q: the program does not listen on port %d, which replaced %s; %s", p.bot.spec, g.port, portField, p.said())
		}
	}
}

// ended describes how the program ended. It returns "" if the program is running. A
// program that is about to end has a moment to do so.
func (p *process) ended() string {
	p.mu.Lock()
	g := p.now
	p.mu.Unlock()
	if g == nil {
		return ""
	}
	timer := time.NewTimer(endingTime)
	defer timer.Stop()
	select {
	case <-g.exited:
		return fmt.Sprintf("the program ended (%s); %s", g.cmd.ProcessState, p.said())
	case <-timer.C:
		return ""
	}
}

// memory returns the bytes of memory that the program and its children use. If the
// system does not tell, ok is false.
func (p *process) memory() (bytes uint64, ok bool) {
	p.mu.Lock()
	g := p.now
	p.mu.Unlock()
	if g == nil {
		return 0, false
	}
	return processgroup.Memory(g.cmd.Process.Pid)
}

// said describes the program's latest output.
func (p *process) said() string {
	text := "it printed nothing"
	if last := p.output.lastLine(); last != "" {
		text = fmt.Sprintf("its last output is %q", last)
	}
	if p.file != "" {
		text += ", and all of it is in " + p.file
	}
	return text
}

// running returns the running program, and starts one if none is running.
func (p *process) running() (*program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		select {
		case <-p.now.exited:
		default:
			return p.now, nil
		}
	}
	if p.now != nil {
		processgroup.End(p.now.cmd, true) // its children may outlive it
		p.restarts[p.number].Add(1)
	}
	g, err := p.start()
	if err != nil {
		return nil, fmt.Errorf("bot %q: %w", p.bot.spec, err)
	}
	p.now = g
	return g, nil
}

// start starts the program with a free port. The caller must hold p.mu.
func (p *process) start() (*program, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	out := io.Writer(&p.output)
	if p.file != "" && p.log == nil {
		if p.log, err = os.OpenFile(p.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
	}
	if p.log != nil {
		out = io.MultiWriter(out, p.log)
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(p.bot.command, portField, strconv.Itoa(port))) //nolint:noctx // close stops the program
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, time.Second
	cmd.Env = append(os.Environ(), // a bot's settings for a real arena would reject a local match
		"ARENA_PUBLIC_KEY="+base64.StdEncoding.EncodeToString(platformKey.Public().(ed25519.PublicKey)),
		"ARENA_RECIPIENT="+net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if p.cores > 0 && os.Getenv(goCores) == "" {
		cmd.Env = append(cmd.Env, goCores+"="+strconv.Itoa(p.cores))
	}
	processgroup.Own(cmd)
	if _, err := cmd.StdinPipe(); err != nil { // a program that reads its input learns when this process has ended
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &program{cmd: cmd, port: port, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // cmd.ProcessState contains the result
		givenPorts.Delete(port)
		close(g.exited)
	}()
	return g, nil
}

// close ends the program and its children.
func (p *process) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		p.now.stop()
		p.now = nil
	}
	if p.log != nil {
		_ = p.log.Close() // it is only the output of a bot
		p.log = nil
	}
}

func (g *program) stop() {
	processgroup.End(g.cmd, false)
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-g.exited:
	case <-timer.C:
	}
	processgroup.End(g.cmd, true) // children may outlive the program
	<-g.exited
}

// freePort chooses from these ports. By default, Linux, macOS and Windows choose higher
// ports for connections and for programs that let the system choose. Such a connection or
// program could take a higher port before the bot listens, and would get its requests.
const (
	lowestPort = 10_000
	endOfPorts = 32_768
)

// givenPorts contains the ports of programs that have not ended.
var givenPorts sync.Map

// freePort returns a port of the loopback interface on which nothing listens. It does not
// return the port again until the port is deleted from givenPorts.
func freePort() (port int, err error) {
	for range 100 {
		port = lowestPort + rand.IntN(endOfPorts-lowestPort)
		if err = unused(port); err != nil {
			continue
		}
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port, nil
		}
		err = fmt.Errorf("port %d belongs to another bot", port)
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

// The function unused() returns an error if something listens on a port. On some systems,
// a program can listen on a port of one address although another program listens on this
// port of all addresses. So it also dials the port.
func unused(port int) error {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", address) //nolint:noctx // it does not block
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	if c, err := net.Dial("tcp", address); err == nil { //nolint:noctx // nothing on this machine makes it wait
		return errors.Join(fmt.Errorf("a program listens on port %d", port), c.Close())
	}
	return nil
}

// tail keeps the end of everything that was written to it.
type tail struct {
	mu   sync.Mutex // guards the field below
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(b), nil
}

// lastLine returns the last line that is not empty.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
