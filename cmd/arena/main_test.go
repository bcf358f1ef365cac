package main

import (
	"flag"
	"io"
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
		testscript.Main(m, map[string]func(){"arena": beArena})
	}
}

func beArena() {
	if err := os.Setenv(asArena, "plain"); err != nil {
		panic(err)
	}
	main()
}
