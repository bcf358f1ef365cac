package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

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

	mu       sync.Mutex // guards the fields below, and the fields of hosts and processes that say so
	started  []*simulatedProcess
	trap     *crashPoint // the next crash, or nil
	failures []string
	seen     []sighting
}

// result is the outcome of a simulated history.
type result struct {
	hash     string
	failures []string
	trace    []string
	faults   map[string]int
	age      time.Duration
	events   int
	matches  int
}

// simulateSeed plays the history of a seed.
func simulateSeed(t *testing.T, seed uint64, planted simulate.Planted) (r result) {
	cryptotest.SetGlobalRandom(t, seed)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a history needs little memory, but allocates much
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
		s := &simulation{t: t, world: w, log: simulate.NewLog(w), network: simulate.NewNetwork(w), root: root, bots: map[string]*simulate.Bot{}}
		s.network.Sent = s.sent
		http.DefaultTransport = s
		if path := os.Getenv("ARENA_SIMULATE_TRACE"); path != "" {
			f, err := os.Create(path + "." + strings.ReplaceAll(t.Name(), "/", "-"))
			require.NoError(t, err)
			defer f.Close()
			w.TraceTo(f)
		}
		w.Plant(planted)
		s.play()
		s.judgeModels(context.Background())
		r.failures, r.trace, r.faults, r.age = s.failures, w.Trace(60), w.Faults(), w.Age()
		r.hash, r.events = s.hash()
		r.matches = len(s.judgeLadders())
		r.failures = s.failures
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

// fail records that a judge has found a failure.
func (s *simulation) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.failures = append(s.failures, text)
	s.world.Step("FAILURE: %s", text)
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
	response, err := p.serve(r, admin)
	if err != nil {
		return nil, err
	}
	s.plantInResponse(r, response)
	if response.StatusCode == http.StatusInternalServerError {
		s.failed("%s answers %s %s with 500", p.name, r.Method, r.URL)
	}
	return response, s.world.Sleep(r.Context(), time.Millisecond, 50*time.Millisecond, append(key, "response")...)
}

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
}

// TestSimulatedHistories plays seeds. ARENA_SIMULATE_FROM is the first seed, and
// ARENA_SIMULATE_SEEDS is the number of seeds.
func TestSimulatedHistories(t *testing.T) {
	from, seeds := numberOf(t, "ARENA_SIMULATE_FROM", 1), numberOf(t, "ARENA_SIMULATE_SEEDS", 4)
	faults := map[string]int{}
	var simulated time.Duration
	began := time.Now()
	for seed := from; seed < from+seeds; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := simulateSeed(t, seed, simulate.PlantNone)
			for name, n := range r.faults {
				faults[name] += n
			}
			simulated += r.age
			t.Logf("%s: %d matches, %d events, hash %.16s", r.age.Round(time.Second), r.matches, r.events, r.hash)
			if len(r.failures) > 0 {
				t.Errorf("make simulate SEEDS=1 FROM=%d repeats this failure:\n%s\nthe last steps:\n%s",
					seed, strings.Join(r.failures, "\n"), strings.Join(r.trace, "\n"))
			}
		})
	}
	took := time.Since(began)
	t.Logf("%d seeds in %s: %.1f seeds/s, %.0f times real time", seeds, took.Round(time.Millisecond), float64(seeds)/took.Seconds(), simulated.Seconds()/took.Seconds())
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		t.Logf("%6d × %s", faults[name], name)
	}
}

func numberOf(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

// The judges find each planted fault. The log shows how many seeds that took.
func TestSoakPlantedFaultsAreFound(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	const most = 20
	for _, planted := range simulate.Plants {
		t.Run(string(planted), func(t *testing.T) {
			for seed := uint64(1); seed <= most; seed++ {
				var r result
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { r = simulateSeed(t, seed, planted) })
				if len(r.failures) > 0 {
					t.Logf("found after %d seeds: %.300s", seed, r.failures[0])
					return
				}
			}
			t.Errorf("not found in %d seeds", most)
		})
	}
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
	for r, err := range s.log.Store().Read(context.Background(), eventstore.StreamID(ladder.Stream(ladder.Standard)), 0, eventstore.ReadOptions{}) {
		require.NoError(s.t, err)
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

// The same seed gives the same history.
func TestSimulatedHistoriesRepeat(t *testing.T) {
	from, seeds := numberOf(t, "ARENA_SIMULATE_FROM", 1), numberOf(t, "ARENA_SIMULATE_SEEDS", 1)
	for seed := from; seed < from+seeds; seed++ {
		var hashes []string
		for i := range 2 {
			t.Run(fmt.Sprintf("%d-%d", seed, i), func(t *testing.T) {
				hashes = append(hashes, simulateSeed(t, seed, simulate.PlantNone).hash)
			})
		}
		require.Equal(t, hashes[0], hashes[1], "seed %d", seed)
	}
}
