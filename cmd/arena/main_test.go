package main

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
		testscript.Main(m, map[string]func(){"arena": beArena})
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
