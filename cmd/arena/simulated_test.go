package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/drand/drandtest"
	"hexarena/cmd/arena/simulate"
	"hexarena/domain/ladder"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

// simulation is one simulated history of several arenas on one log.
type simulation struct {
	t       *testing.T
	world   *simulate.World
	log     *simulate.Log
	network *simulate.Network
	config  config
	root    string // contains the data folders and the emails
	hosts   []*simulatedHost
	owners  []*simulatedOwner
	bots    map[string]*simulate.Bot // by name
	relay   *drandtest.Relay         // of the beacon; nil without a beacon
	listens bool                     // whether the owners listen to their events
	steps   stepJudge

	mu       sync.Mutex // guards the fields below, and the fields of hosts and processes that say so
	started  []*simulatedProcess
	trap     *crashPoint // the next crash, or nil
	failures []string
	trace    []string // the steps before the first failure
	seen     []sighting
	frames   map[string]streamRecord      // by match, the last frame that somebody saw
	asked    map[string]map[string][]byte // by match and bot, the last request that arrived
}

// result is the outcome of a simulated history.
type result struct {
	Seed     uint64
	Hash     string
	Failures []string
	Trace    []string // only if there are failures
	Faults   map[string]int
	Age      time.Duration
	Events   int
	Matches  int
}

// simulateSeed plays the history of a seed.
func simulateSeed(t *testing.T, seed uint64, planted simulate.Planted) (r result) {
	cryptotest.SetGlobalRandom(t, seed)
	debug.SetGCPercent(-1) // a history needs little memory, but allocates much
	debug.SetMemoryLimit(768 << 20)
	transport := http.DefaultTransport
	defer func() { http.DefaultTransport = transport }()
	root, err := os.MkdirTemp(memoryFolder(t), "simulated") //nolint:usetesting // a folder in memory is faster
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(root)) }()
	synctest.Test(t, func(t *testing.T) {
		w := simulate.New(seed)
		reader := rand.Reader
		rand.Reader = w.Random()
		uuid.SetRand(rand.Reader)
		defer func() { rand.Reader = reader; uuid.SetRand(reader) }()
		s := &simulation{t: t, world: w, log: simulate.NewLog(w), network: simulate.NewNetwork(w), root: root, bots: map[string]*simulate.Bot{},
			frames: map[string]streamRecord{}, asked: map[string]map[string][]byte{}}
		s.steps.ladders, s.steps.ends = map[string]*ladderJudge{}, map[eventstore.StreamID]eventstore.Revision{}
		s.log.Stored = s.judgeStep
		s.network.Sent, s.network.Asked = s.sent, s.heard
		playing.Store(s)
		defer playing.Store(nil)
		http.DefaultTransport = s
		if path := os.Getenv(simulateTrace); path != "" {
			f, err := os.Create(fmt.Sprintf("%s.%d.%d", path, seed, runtime.GOMAXPROCS(0)))
			require.NoError(t, err)
			defer f.Close()
			w.TraceTo(f)
		}
		w.Plant(planted)
		s.play()
		s.judgeModels(context.Background())
		r.Faults, r.Age = w.Faults(), w.Age()
		r.Hash, r.Events = s.hash()
		r.Matches = len(s.judgeLadders())
		r.Failures, r.Trace = s.failures, s.trace
	})
	return r
}

// memoryFolder returns a folder in memory, if the system has one.
func memoryFolder(t *testing.T) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return t.TempDir()
}

// mostFailures is how many failures a history records.
const mostFailures = 8

// fail records that a judge has found a failure.
func (s *simulation) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(s.failures) == mostFailures {
		return
	}
	s.failures = append(s.failures, text)
	s.world.Step("FAILURE: %s", text)
	if s.trace == nil {
		s.trace = s.world.Trace(60)
	}
}

// failed is like fail, for callers without the lock.
func (s *simulation) failed(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(format, args...)
}

func (s *simulation) opened(p *simulatedProcess, a *arena) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.arena = a
}

func (s *simulation) arenaOf(p *simulatedProcess) *arena {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.arena
}

// running returns the processes that run.
func (s *simulation) running() (list []*simulatedProcess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		if h.now != nil {
			list = append(list, h.now)
		}
	}
	return list
}

// RoundTrip implements http.RoundTripper: it passes a call to one of the processes. The
// first label of the URL's host names the caller. The second is "arena" or "admin".
func (s *simulation) RoundTrip(r *http.Request) (*http.Response, error) {
	key := []string{"call", r.URL.Host, r.Method, r.URL.Path}
	if err := s.world.Sleep(r.Context(), time.Millisecond, 50*time.Millisecond, append(key, "request")...); err != nil {
		return nil, err
	}
	caller, rest, _ := strings.Cut(r.URL.Host, ".")
	if strings.HasPrefix(rest, "relay") {
		return s.askRelay(r, key)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(caller))
	p := s.serving(h.Sum32())
	if p == nil {
		return nil, errRefused
	}
	r = r.Clone(r.Context())
	r.RemoteAddr, r.RequestURI = fmt.Sprintf("198.18.%d.%d:1234", h.Sum32()>>8&0xff, h.Sum32()&0xff), r.URL.RequestURI()
	admin := strings.HasPrefix(rest, "admin")
	r.Host = "arena.example"
	if admin {
		r.Host = "localhost"
	}
	if s.world.Planted() == simulate.PlantFalsePause && r.Method == http.MethodPatch {
		w := httptest.NewRecorder()
		_, _ = w.WriteString("{}") // never fails
		return w.Result(), nil
	}
	if r.Header.Get("Accept") == "text/event-stream" {
		return p.stream(r)
	}
	signed, body := r.Header.Get("X-Arena-Signature") != "" && r.Method != http.MethodGet, []byte(nil)
	if signed && r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := p.serve(r, admin)
	if err != nil {
		return nil, err
	}
	if signed && response.StatusCode < 300 && s.world.Happens(repeatedCall, key...) {
		s.repeat(r, body)
	}
	s.plantInResponse(r, response)
	if response.StatusCode == http.StatusInternalServerError {
		s.failed("%s answers %s %s with 500", p.name, r.Method, r.URL)
	}
	if err := s.world.Sleep(r.Context(), time.Millisecond, 50*time.Millisecond, append(key, "response")...); err != nil {
		return nil, err
	}
	if p.isolated.Load() || s.world.Happens(lostResponse, key...) {
		return nil, errNoAnswer
	}
	return response, nil
}

// relayDown is the fault that the relay of the beacon does not answer a call.
const relayDown = "relay down"

// askRelay passes a call to the relay of the beacon.
func (s *simulation) askRelay(r *http.Request, key []string) (*http.Response, error) {
	w := httptest.NewRecorder()
	if s.world.Happens(relayDown, key...) {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else {
		s.relay.ServeHTTP(w, r)
	}
	return w.Result(), s.world.Sleep(r.Context(), time.Millisecond, 50*time.Millisecond, append(key, "response")...)
}

// repeatedCall is the fault that a stranger repeats a signed call that the arena has
// accepted.
const repeatedCall = "repeated call"

// repeat repeats a signed call at any process. No process may accept it.
func (s *simulation) repeat(r *http.Request, body []byte) {
	for _, p := range s.running() {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		if response, err := p.serve(again, false); err == nil && response.StatusCode < 300 {
			s.failed("%s accepts a repetition of %s %s: %s", p.name, r.Method, r.URL.Path, response.Status)
		}
	}
}

// lostResponse is the fault that a caller does not get the response to a call.
const lostResponse = "lost response"

var errNoAnswer = errors.New("the connection broke before the response")

// serving returns a process that accepts calls, or nil. A caller uses the same process
// while that process serves, as behind a proxy with sticky sessions.
func (s *simulation) serving(caller uint32) *simulatedProcess {
	running := s.running()
	for i := range running {
		if p := running[(int(caller>>8)+i)%len(running)]; p.serves() {
			return p
		}
	}
	return nil
}

// hash is a hash over all events of the log: their streams, revisions, types and data.
func (s *simulation) hash() (text string, events int) {
	h := sha256.New()
	for r, err := range s.log.Store().ReadAll(context.Background(), 0, eventstore.ReadOptions{}) {
		require.NoError(s.t, err)
		fmt.Fprintf(h, "%s %d %s %d %s\n", r.Stream, r.Revision, r.Type, r.Created.UnixNano(), r.Data)
		events++
	}
	return hex.EncodeToString(h.Sum(nil)), events
}

// configure parses the flags of all processes.
func (s *simulation) configure(flags ...string) {
	var err error
	s.config, _, err = parsed(append([]string{
		"serve", "--eventstore", "esdb://log.example", "--base-url", "http://arena.example",
		"--mail", "file:" + filepath.Join(s.root, "mail"), "--max-matches", "20",
	}, flags...))
	require.NoError(s.t, err)
	s.config.snapshotEvery = 3
}

// plantInResponse plants the faults of responses.
func (s *simulation) plantInResponse(r *http.Request, response *http.Response) {
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err) // it is in memory
	switch s.world.Planted() {
	case simulate.PlantForkedHead:
		if strings.HasSuffix(r.URL.Path, "/checkpoint") {
			if lines := strings.Split(string(body), "\n"); len(lines) > 2 {
				root := sha256.Sum256([]byte(lines[2]))
				lines[2] = base64.StdEncoding.EncodeToString(root[:])
				body = []byte(strings.Join(lines, "\n"))
			}
		}
	case simulate.PlantLeak:
		if id, ok := strings.CutPrefix(r.URL.Path, "/live/"); ok {
			body = fmt.Appendf(body, "%s", s.serverSeed(id))
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
}

// serverSeed returns the server seed of a match.
func (s *simulation) serverSeed(matchID string) string {
	for r, err := range s.log.Store().ReadAll(context.Background(), 0, eventstore.ReadOptions{}) {
		require.NoError(s.t, err)
		if r.Type != (ladder.TablesSeated{}).EventType() {
			continue
		}
		e, err := ladder.Decode(r.Type, r.Data)
		require.NoError(s.t, err)
		seated, ok := e.(ladder.TablesSeated)
		if !ok || !slices.ContainsFunc(seated.Tables, func(t ladder.Table) bool { return t.MatchID == matchID }) {
			continue
		}
		for _, p := range s.running() {
			if a := s.arenaOf(p); a != nil {
				if key, ok := a.secrets.SeedKey(context.Background(), seated.SeedKey); ok {
					secret := seed.Server(key, matchID)
					return hex.EncodeToString(secret[:])
				}
			}
		}
	}
	return ""
}
