package practice

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/housebot"
	"hexarena/cmd/arena/records"
	"hexarena/eventstore/logtest"
	"hexarena/projections"
)

// asBot is an environment variable that makes the test binary run as a bot: as the house
// bot that it names. Its argument is the port, or the path of a Unix socket.
const asBot = "HEXARENA_TEST_AS_BOT"

// childAt is an environment variable for a bot: it first starts a bot that listens on the
// Unix socket with this path.
const childAt = "HEXARENA_TEST_CHILD_AT"

// dieAt is an environment variable for a bot: it ends at the upgrade with this number.
const dieAt = "HEXARENA_TEST_DIE_AT"

func TestMain(m *testing.M) {
	if name := os.Getenv(asBot); name != "" {
		beBot(name)
	}
	logtest.VerifyNoLeaks(m)
}

func beBot(name string) {
	h, err := housebot.Handler(housebot.Options{Name: name, Seed: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	if socket := os.Getenv(childAt); socket != "" {
		startChild(socket)
	}
	network, address := "tcp", "127.0.0.1:"+os.Args[1]
	if filepath.IsAbs(os.Args[1]) {
		network, address = "unix", os.Args[1]
	}
	l, err := net.Listen(network, address)
	if err != nil {
		panic(err)
	}
	leak, _ := strconv.Atoi(os.Getenv(leakEach))
	var upgrades atomic.Int64
	server := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fmt.Sprint(upgrades.Add(1)) == os.Getenv(dieAt) {
			os.Exit(3)
		}
		leaked.add(make([]byte, leak))
		h.ServeHTTP(w, r)
	})}
	panic(server.Serve(l))
}

// leaked is memory that a bot never frees.
var leaked heap

type heap struct {
	mu   sync.Mutex // guards the field below
	kept [][]byte
}

// add keeps memory, and writes to it so that the system provides it.
func (l *heap) add(b []byte) {
	for i := range b {
		b[i] = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b)
}

// startChild starts a bot, and returns once it listens.
func startChild(socket string) {
	child := exec.Command(os.Args[0], socket)
	child.Env = append(os.Environ(), childAt+"=")
	if err := child.Start(); err != nil {
		panic(err)
	}
	for !listens(socket) {
		runtime.Gosched()
	}
	fmt.Println("the child listens")
}

func listens(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// botCommand returns the argument for a bot that this test binary runs.
func botCommand(t testing.TB, environment string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return fmt.Sprintf("cmd:%s=greedy %s exec '%s' {port}", asBot, environment, self)
}

// call runs `arena play` in this process.
func call(ctx context.Context, args ...string) (out string, err error) {
	return callCommand(ctx, append([]string{"play"}, args...)...)
}

// callCommand runs a command in this process.
func callCommand(ctx context.Context, args ...string) (out string, err error) {
	return runCommand(ctx, new(struct{ Cmds }), args...)
}

// runCommand runs one of the commands of cli in this process.
func runCommand(ctx context.Context, cli any, args ...string) (out string, err error) {
	var o, e bytes.Buffer
	parser, err := kong.New(cli, kong.Writers(&o, &e))
	if err != nil {
		panic(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return "", err
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run()
	return o.String(), err
}

func callJSON(t testing.TB, args ...string) report {
	t.Helper()
	out, err := call(t.Context(), append(args, "--json")...)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return r
}

func TestPlayPrintsStandings(t *testing.T) {
	out, err := call(t.Context(), "house:greedy", "house:random", "house:random", "-n", "10", "--seed", "x")
	require.NoError(t, err)
	require.Contains(t, out, "12 standard matches in blocks of 3, seed x (")
	require.Regexp(t, `(?m)^bot +matches +wins +95 % +place +points +rating +95 % +strikes +defaults +p50 +p99$`, out)
	require.Regexp(t, `(?m)^greedy +12 +\d+\.\d % +\d+\.\d to \d+\.\d % .* 0 +0 +\d+ ms +\d+ ms$`, out)
	require.Regexp(t, `(?m)^random 2 +12 `, out)
	require.Regexp(t, `(?m)^by seat +0 +1 +2$`, out)
	require.Regexp(t, `(?m)^greedy +\d+\.\d %, place \d\.\d\d +\d+\.\d %, place \d\.\d\d +\d+\.\d %, place \d\.\d\d$`, out)

	fixed := callJSON(t, "house:greedy", "house:random", "house:random", "-n", "10", "--seats", "fixed", "--seed", "x")
	require.Equal(t, []int{10, 10}, []int{fixed.Planned, fixed.Matches})
	require.Equal(t, []int{10, 0, 0}, []int{fixed.Bots[0].Seats[0].Matches, fixed.Bots[0].Seats[1].Matches, fixed.Bots[0].Seats[2].Matches})

	// Without --seed, the seed is random, and printed.
	random := callJSON(t, "house:greedy", "house:random", "house:random", "-n", "3")
	again := callJSON(t, "house:greedy", "house:random", "house:random", "-n", "3", "--seed", random.Seed, "--parallel", "3")
	require.Equal(t, random.Bots[0].MeanPoints, again.Bots[0].MeanPoints)
	require.Equal(t, random.Bots[1].Seats, again.Bots[1].Seats)
}

func TestSeedsFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seeds")
	require.NoError(t, os.WriteFile(file, []byte("one\n\n two \n"), 0o600))
	r := callJSON(t, "house:greedy", "house:random", "house:random", "house:random", "--seeds", file, "-n", "1")
	require.Equal(t, 8, r.Matches)
	require.Equal(t, []string{"one", "two"}, r.Seeds)

	require.NoError(t, os.WriteFile(file, []byte("one\ntwo\none\n"), 0o600))
	_, err := call(t.Context(), "house:greedy", "house:random", "house:random", "--seeds", file)
	require.ErrorContains(t, err, `line 3: the seed "one" is listed twice`)
	require.NoError(t, os.WriteFile(file, []byte("\n"), 0o600))
	_, err = call(t.Context(), "house:greedy", "house:random", "house:random", "--seeds", file)
	require.ErrorContains(t, err, "the file contains no seeds")
}

func TestPlayRejectsWrongArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"a match has 3 or 4 bots, not 2":                                           {"house:greedy", "house:random"},
		"choose one of house:greedy, house:montecarlo, house:random, house:search": {"house:greedy", "house:random", "house:clever"},
		"does not contain {port}":                                                  {"house:greedy", "house:random", "cmd:python3 bot.py"},
		`bot "greedy" is neither a URL`:                                            {"house:greedy", "house:random", "greedy"},
		"is listed twice":                                                          {"house:greedy", "http://127.0.0.1:1", "http://127.0.0.1:1"},
		"--seed cannot be combined with --seeds":                                   {"house:greedy", "house:random", "house:random", "--seed", "x", "--seeds", os.Args[0]},
		"--matches must be above 0":                                                {"house:greedy", "house:random", "house:random", "-n", "0"},
		"does not accept connections":                                              {"house:greedy", "house:random", "http://" + logtest.ClosedAddress(t)},
		"ended (exit status 7) before it listened":                                 {"house:greedy", "house:random", "cmd:exit 7; {port}"},
		`its last output is "no module"`:                                           {"house:greedy", "house:random", "cmd:echo no module; exit 7; {port}"},
		"--decision and --wall must be above 0":                                    {"house:greedy", "house:random", "house:random", "--wall=-1s"},
	} {
		_, err := call(t.Context(), args...)
		require.ErrorContains(t, err, want)
	}
}

// A bot at a URL plays over a socket. If it never answers, --fail-on reports its strikes.
func TestFailOnStrikes(t *testing.T) {
	silent := httptest.NewServer(http.NotFoundHandler())
	defer silent.Close()
	args := []string{"house:greedy", "house:random", silent.URL, "-n", "3", "--parallel", "3", "--decision", "500ms"}
	out, err := call(t.Context(), args...)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^127\.0\.0\.1:\d+: strikes: 9 dropped; resigned in 3 matches$`, out)
	out, err = call(t.Context(), append(args, "--fail-on", "strikes")...)
	require.Contains(t, out, "strikes: 9 dropped")
	require.Error(t, err)
	require.Regexp(t, "--fail-on strikes: the bots got (9|[1-9][0-9]) strikes", err.Error()) // on a busy machine, a house bot may be late, too
}

// Programs play over sockets. The results are those of the same bots in this process.
func TestProgramsPlay(t *testing.T) {
	bot := botCommand(t, "")
	outside := callJSON(t, bot, bot, "house:random", "-n", "6", "--seed", "x", "--parallel", "2", "--decision", "1m")
	inside := callJSON(t, "house:greedy", "house:greedy", "house:random", "-n", "6", "--seed", "x")
	for i := range outside.Bots {
		require.Equal(t, inside.Bots[i].Seats, outside.Bots[i].Seats)
		require.Empty(t, outside.Bots[i].Strikes)
		require.Zero(t, outside.Bots[i].Restarts)
	}
}

// A program that ends is started again.
func TestProgramsAreRestarted(t *testing.T) {
	r := callJSON(t, botCommand(t, dieAt+"=3"), "house:greedy", "house:greedy", "-n", "6", "--parallel", "1", "--decision", "1m")
	require.Equal(t, 6, r.Matches)
	require.GreaterOrEqual(t, r.Bots[0].Restarts, int64(2))
	require.Greater(t, r.Bots[0].MeanPoints, 4.0, "it plays on")
}

// The programs of matches that run at the same time share the cores, unless the user has
// chosen a number.
func TestProgramsShareTheCores(t *testing.T) {
	bot := "cmd:echo cores=$" + goCores + "; " + strings.TrimPrefix(botCommand(t, ""), "cmd:")
	cores := func(parallel int) string {
		dir := t.TempDir()
		_, err := call(t.Context(), bot, "house:random", "house:random", "-n", "3", "--parallel", strconv.Itoa(parallel), "--decision", "1m", "--out", dir)
		require.NoError(t, err)
		output, err := os.ReadFile(filepath.Join(dir, outputFolder, "bot-1-worker-1.log"))
		require.NoError(t, err)
		line, _, _ := strings.Cut(string(output), "\n")
		return strings.TrimPrefix(line, "cores=")
	}
	t.Setenv(goCores, "")
	require.Equal(t, strconv.Itoa(runtime.NumCPU()), cores(1))
	require.Equal(t, strconv.Itoa(max(1, runtime.NumCPU()/3)), cores(3))
	t.Setenv(goCores, "7")
	require.Equal(t, "7", cores(3))
}

// No two programs get the same port.
func TestFreePorts(t *testing.T) {
	given := map[int]bool{}
	for range 1000 {
		port, err := freePort()
		require.NoError(t, err)
		defer givenPorts.Delete(port)
		require.GreaterOrEqual(t, port, lowestPort)
		require.Less(t, port, endOfPorts)
		require.False(t, given[port], port)
		given[port] = true
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	require.Error(t, unused(l.Addr().(*net.TCPAddr).Port))
}

// At the end, the children of a program end too. The child listens on a Unix socket, so no
// other process can listen in its place.
func TestProgramsEndWithTheirChildren(t *testing.T) {
	child, dir := filepath.Join(t.TempDir(), "child"), t.TempDir()
	_, err := call(t.Context(), botCommand(t, childAt+"='"+child+"'"), "house:random", "house:random", "-n", "3", "--parallel", "1", "--out", dir)
	require.NoError(t, err)
	output, err := os.ReadFile(filepath.Join(dir, outputFolder, "bot-1-worker-1.log"))
	require.NoError(t, err)
	require.Contains(t, string(output), "the child listens\n")
	require.Eventually(t, func() bool { return !listens(child) }, time.Minute, time.Millisecond)
}

// An interrupted run prints the matches that have ended, and the same command continues
// it. The bot gives the signal.
func TestInterruptedRunContinues(t *testing.T) {
	h, err := housebot.Handler(housebot.Options{Name: "greedy", Seed: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, interrupt := context.WithCancel(t.Context())
	var upgrades atomic.Int64
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if upgrades.Add(1) == 5 {
			interrupt()
		}
		h.ServeHTTP(w, r)
	}))
	defer bot.Close()
	dir := t.TempDir()
	args := []string{bot.URL, "house:greedy", "house:greedy", "-n", "6", "--out", dir, "--parallel", "1", "--decision", "1m"}
	out, err := call(ctx, args...)
	require.EqualError(t, err, "stopped after 4 of 6 matches; run the same command again to continue")
	require.Contains(t, out, "4 standard matches")

	// A crash can leave an incomplete line behind.
	results, err := os.OpenFile(filepath.Join(dir, records.ResultsFile), os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = results.WriteString(`{"match":5,"id":"`)
	require.NoError(t, err)
	require.NoError(t, results.Close())

	continued := callJSON(t, args...)
	require.Equal(t, []int{6, 6}, []int{continued.Planned, continued.Matches})
	require.Equal(t, int64(7), upgrades.Load(), "only the interrupted match is played again")
	whole := callJSON(t, bot.URL, "house:greedy", "house:greedy", "-n", "6", "--seed", continued.Seed, "--decision", "1m")
	for i := range whole.Bots {
		require.Equal(t, whole.Bots[i].Seats, continued.Bots[i].Seats)
		require.Equal(t, whole.Bots[i].Rating, continued.Bots[i].Rating)
	}
	files, err := os.ReadDir(filepath.Join(dir, records.MatchFolder))
	require.NoError(t, err)
	require.Len(t, files, 6)

	_, err = call(t.Context(), append(args, "--wall", "7m")...)
	require.ErrorContains(t, err, `the folder belongs to another series: --wall was "10m0s" and is now "7m0s"`)
	_, err = call(t.Context(), append(args, "--seed", "other")...)
	require.ErrorContains(t, err, `and is now "other"`)
	require.Equal(t, 9, callJSON(t, append(args, "-n", "9")...).Matches, "a run may add matches")
}

// Without --out, a run leaves nothing behind, and prints how many matches ended.
func TestInterruptedRunWithoutAFolder(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := call(ctx, "house:random", "house:random", "house:random")
	require.EqualError(t, err, "stopped after 0 of 102 matches")
}

// A second run cannot use the folder of a run in progress. The bot of the first run
// starts the second one.
func TestTwoRunsCannotShareAFolder(t *testing.T) {
	h, err := housebot.Handler(housebot.Options{Name: "greedy", Seed: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	dir := t.TempDir()
	second := make(chan error, 1)
	var args []string
	var once sync.Once
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			_, err := call(t.Context(), args...)
			second <- err
		})
		h.ServeHTTP(w, r)
	}))
	defer bot.Close()
	args = []string{bot.URL, "house:greedy", "house:greedy", "-n", "3", "--out", dir, "--parallel", "1", "--decision", "1m", "--seed", "x"}
	require.Equal(t, 3, callJSON(t, args...).Matches)
	require.EqualError(t, <-second, "--out "+dir+": another run is writing to this folder; wait until it ends, or choose another folder")
	require.Equal(t, 3, callJSON(t, args...).Matches, "the folder is unlocked")

	release, err := projections.Lock(filepath.Join(dir, "duel", versions[1]))
	require.NoError(t, err)
	defer func() { require.NoError(t, release()) }()
	_, err = callCommand(t.Context(), "compare", "house:greedy", "house:random", "--out", filepath.Join(dir, "duel"))
	require.ErrorContains(t, err, "new: another run is writing to this folder")
}

// The sample bot of the Python kit beats house:greedy: the interval of its wins is above
// the quarter that equal bots would win.
func TestTheSampleBotBeatsGreedy(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs python3: make deps")
		t.Skip("needs python3: run make deps")
	}
	kit, err := filepath.Abs("../../../docs/kits/python")
	require.NoError(t, err)
	r := callJSON(t, "cmd:cd "+kit+" && python3 -B sample_bot.py {port}", "house:greedy", "house:greedy", "house:greedy", "-n", "80", "--seed", "kits", "--decision", "1m")
	require.Greater(t, r.Bots[0].WinLow, 0.25)
	require.Empty(t, r.Bots[0].Strikes)
}
