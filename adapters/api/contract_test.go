package api_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/api/apitest"
)

// Under the race detector, validating a long response takes too long, so responses of
// longUnderRace bytes or more are not validated. Runs without the race detector
// validate every response.
const longUnderRace = 16 << 10

var theContract struct {
	once sync.Once
	*apitest.Contract
}

// contractOf returns the contract that every response in this package's tests must
// satisfy. All servers have the same description.
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
	require.NotNil(t, theContract.Contract, "the API description was not loaded")
	return theContract.Contract
}
