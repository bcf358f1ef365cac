package api_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/api/apitest"
)

// longUnderRace is how long an answer is that the race detector makes too slow
// to judge; it is judged without.
const longUnderRace = 16 << 10

var theContract struct {
	once sync.Once
	*apitest.Contract
}

// contractOf reads the description that a server answers with, by which every
// answer in the tests of this package is judged; it is the same for all of them.
func contractOf(t *testing.T, server http.Handler) *apitest.Contract {
	t.Helper()
	theContract.once.Do(func() {
		c, err := apitest.New(fetch(t, server, "/openapi.json"))
		require.NoError(t, err)
		if api.RaceEnabled {
			c.Longest = longUnderRace
		}
		theContract.Contract = c
	})
	require.NotNil(t, theContract.Contract, "the description was not read")
	return theContract.Contract
}
