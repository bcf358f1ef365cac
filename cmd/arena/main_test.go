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

	"github.com/rogpeppe/go-internal/testscript"

	"hexarena/eventstore/logtest"
)

// asArena makes the test binary be the program, so that the system tests need
// no build of their own: with "watched" it ends when its standard input does,
// that is with the test; its children are "plain".
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
		// These tests wait more than they compute; -parallel is stronger.
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
		http.DefaultTransport = roaming()
		testscript.Main(tests{m}, map[string]func(){"arena": beArena})
	}
}

// tests runs the tests of this package without the settings of a developer. The
// programs that scripts start keep theirs: they come through TestMain too, and
// never call Run.
type tests struct{ *testing.M }

func (t tests) Run() int {
	forgetSettings()
	return t.M.Run()
}

// forgetSettings removes the settings of an arena that a developer has set, as
// ARENA_ARENA. Tests that call the program in this process would obey them.
func forgetSettings() {
	ofTests := []string{logtest.SeedVariable, "ARENA_SOAK", "ARENA_SCREENSHOTS"}
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

// roaming calls from another loopback address each time, as the many people
// would that a test stands for: the arena limits each address.
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
	if err := os.Setenv(asArena, "plain"); err != nil {
		panic(err)
	}
	main()
}
