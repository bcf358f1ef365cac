package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// If the stream of a trial breaks, the next one continues after the last decision.
// Each step is printed once.
func TestTryContinuesABrokenStream(t *testing.T) {
	var continued []string
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		continued = append(continued, r.Header.Get("Last-Event-ID"))
		running := "event: trial\ndata: {\"id\":\"t\",\"status\":\"running\",\"seat\":2}\n\n"
		switch len(continued) {
		case 1:
			fmt.Fprint(w, ":\n\n"+running+"event: decision\nid: 5\ndata: {\"seq\":5,\"kind\":\"setup\",\"outcome\":\"played\",\"elapsedMs\":7}\n\n")
			fmt.Fprint(w, "event: decision\nid: 9\n") // the record is not complete
		default:
			fmt.Fprint(w, running+"event: end\ndata: {\"id\":\"t\",\"outcome\":\"completed\"}\n\n")
		}
	}))
	defer arena.Close()
	var out, errs strings.Builder
	s := &session{base: arena.URL, out: &out, mine: &credentials{Session: "s"}}
	f := trialFollower{eventStream: eventStream{session: s, path: "/stream", errors: &errs}}
	result, err := f.follow(t.Context())
	require.NoError(t, err)
	require.Equal(t, "completed", *result.value.Outcome)
	require.Equal(t, []string{"", "5"}, continued)
	require.Equal(t, "the game has started; the bot has seat 2\nsetup    played        7 ms\n", out.String())
	require.Equal(t, "the stream of the trial ended; trying again in 1s\n", errs.String())
}

// A refusal after which another try cannot succeed ends the command.
func TestTryStopsAtARefusal(t *testing.T) {
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	defer arena.Close()
	var errs strings.Builder
	s := &session{base: arena.URL, out: &errs, mine: &credentials{Session: "s"}}
	f := trialFollower{eventStream: eventStream{session: s, path: "/stream", errors: &errs}}
	_, err := f.follow(t.Context())
	require.ErrorContains(t, err, "404")
	require.Empty(t, errs.String())
}
