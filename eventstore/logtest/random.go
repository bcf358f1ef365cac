package logtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// SeedVariable is the environment variable that sets the seed. Set it to repeat a
// random test.
const SeedVariable = "ARENA_TEST_SEED"

// Seed returns the seed of a random test and logs it. Each run gets a new seed. To
// repeat a failure, set ARENA_TEST_SEED to the logged seed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv(SeedVariable); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err, SeedVariable)
	}
	t.Logf("%s=%d", SeedVariable, seed)
	return seed
}

// Random returns a source of random numbers with the seed Seed(t).
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
