package main

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore/logtest"
)

// asArena is an environment variable that makes the test binary run as the program. The
// system tests therefore do not have to build the program. With the value "watched",
// the program ends when its standard input ends, so it never outlives the test. The
// program sets the value "plain" for its child processes.
const asArena = "HEXARENA_TEST_AS_ARENA"

func TestMain(m *testing.M) {
	switch os.Getenv(asArena) {
	case "watched":
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(3)
		}()
		beArena()
	case "plain":
		beArena()
	default:
		// Most of these tests spend their time waiting, so run several in parallel.
		// The flag -parallel overrides this.
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
		http.DefaultTransport = roaming()
		testscript.Main(tests{m}, map[string]func(){"arena": beArena})
	}
}

// The type tests runs the tests of this package without a developer's settings.
// Programs that scripts start also run TestMain, but they never call Run, so they keep
// the settings of the script.
type tests struct{ *testing.M }

func (t tests) Run() int {
	forgetSettings()
	folder, err := os.MkdirTemp("", "arena-tests-*")
	if err == nil {
		err = os.Setenv("XDG_CONFIG_HOME", folder) // arena verify remembers heads there
	}
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // a leftover folder does no harm
	return t.M.Run()
}

// forgetSettings removes a developer's settings from the environment, such as
// ARENA_ARENA. Without this, tests that call the program in this process would use
// these settings.
func forgetSettings() {
	ofTests := []string{logtest.SeedVariable, "ARENA_SOAK", "ARENA_SOAK_KILLS", "ARENA_SCREENSHOTS", simulateFrom, simulateSeeds, simulateJobs, simulateTrace, simulateChild}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "ARENA_") || slices.Contains(ofTests, name) {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
}

// roaming returns a transport that makes each call from another loopback address, as if
// many people made the calls. Otherwise, the arena would reject calls that exceed the
// limits of one address.
func roaming() http.RoundTripper {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			from := net.IPv4(127, byte(1+rand.N(250)), byte(rand.N(256)), byte(1+rand.N(250)))
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
			return d.DialContext(ctx, network, address)
		},
	}
}

func beArena() {
	if point := os.Getenv(holdAt); point != "" {
		beHeld(point)
	}
	if text := os.Getenv(crashAt); text != "" {
		beCrashing(text)
	}
	if err := os.Setenv(asArena, "plain"); err != nil {
		panic(err)
	}
	main()
}

// Without flags, the clocks of an arena are those of package ladder.
func TestDefaultClocks(t *testing.T) {
	c, _, err := parsed([]string{"serve"})
	require.NoError(t, err)
	decision, wall := ladder.Clocks(ladder.Standard)
	require.Equal(t, []time.Duration{decision, wall}, []time.Duration{c.DecisionStandard, c.WallStandard})
	decision, wall = ladder.Clocks(ladder.Parley)
	require.Equal(t, []time.Duration{decision, wall}, []time.Duration{c.DecisionParley, c.WallParley})
}
