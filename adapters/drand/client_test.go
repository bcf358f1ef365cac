package drand

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/drand/drandtest"
	"hexarena/domain/beacon"
	"hexarena/eventstore/logtest"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

const period = 3 * time.Second

// inProcess calls a relay without a socket, so that a test can use the clock of a
// synctest bubble.
type inProcess struct{ *drandtest.Relay }

func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	res := w.Result()
	res.Request = req
	return res, nil
}

// fixture is a client that follows a relay in a synctest bubble.
type fixture struct {
	*Client
	relay  *drandtest.Relay
	logged *buffer
}

// buffer collects log output. Several goroutines may write to it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// withClient runs a test with a client that has polled once. The test starts at the
// time of a round, by the bubble's clock.
func withClient(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(drandtest.New("tests", period))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx) })
		<-f.Polled()
		test(t, f)
		cancel()
		running.Wait()
	})
}

func newFixture(relay *drandtest.Relay) *fixture {
	f := &fixture{relay: relay, logged: &buffer{}}
	f.Client = New(Options{URL: "http://relay.example/drand", Chain: relay.Chain(), Logger: slog.New(slog.NewTextHandler(f.logged, nil))})
	f.Client.relay.http.Transport = stripped{inProcess{relay}}
	return f
}

// The type stripped removes the path of the base URL from requests, so that the relay
// appears to be served below that path.
type stripped struct{ inProcess }

func (s stripped) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Path = strings.TrimPrefix(req.URL.Path, "/drand")
	return s.inProcess.RoundTrip(req)
}

// The function after() waits on the bubble's clock.
func after(d time.Duration) { <-time.After(d) }

func TestClientFollowsTheNewestRound(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		before := len(f.relay.Requests())
		for range 20 {
			after(period)
			require.GreaterOrEqual(t, f.Newest()+1, f.Chain().Newest(time.Now()))
			require.NoError(t, f.Err())
		}
		require.InDelta(t, 20, len(f.relay.Requests())-before, 1, "one call in each period")
		require.Empty(t, f.logged.String())
	})
}

func TestNameIsTwoPeriodsAfterTheTick(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		for range 30 {
			after(period / 7)
			tick := time.Now()
			n, appears, err := f.Name(tick)
			require.NoError(t, err)
			require.Equal(t, beacon.Named{Chain: f.Chain().Hash, Round: f.Chain().After(tick)}, n)
			require.Equal(t, f.Chain().Time(n.Round), appears)
			require.False(t, appears.Before(tick.Add(2*period)))
		}
	})
}

// If the relay stops serving valid new rounds, the client soon stops naming rounds.
// When the relay works again, the client names rounds again.
func TestStaleBeaconNamesNoRound(t *testing.T) {
	for name, fault := range map[string]drandtest.Fault{
		"late": drandtest.Late, "wrong signature": drandtest.WrongSignature, "wrong round": drandtest.WrongRound, "wrong randomness": drandtest.WrongRandomness,
		"forked": drandtest.Forked, "down": drandtest.Down, "slow": drandtest.Slow, "oversized": drandtest.Oversized, "redirecting": drandtest.Redirecting,
	} {
		t.Run(name, func(t *testing.T) {
			withClient(t, func(t *testing.T, f *fixture) {
				newest := f.Newest()
				f.relay.Fail(fault)
				after(2 * period)
				require.NoError(t, f.Err(), "the newest round is two periods old")
				after(time.Millisecond)
				require.ErrorIs(t, f.Err(), ErrStale)
				require.Equal(t, newest, f.Newest(), "wrong rounds do not count")
				_, _, err := f.Name(time.Now())
				require.ErrorIs(t, err, ErrStale)
				require.Zero(t, metric(t, f, "arena_beacon_up"))
				require.EqualValues(t, 6, metric(t, f, "arena_beacon_age_seconds"))
				after(period)
				require.ErrorIs(t, f.Err(), ErrStale)
				if fault != drandtest.Late && fault != drandtest.WrongRound {
					require.Positive(t, metric(t, f, "arena_beacon_failures_total"))
					require.Equal(t, 1, strings.Count(f.logged.String(), "level=WARN"), "a repeated failure is logged once: %s", f.logged)
				}

				f.relay.Fail(drandtest.None)
				after(2 * period)
				require.NoError(t, f.Err())
				_, _, err = f.Name(time.Now())
				require.NoError(t, err)
				require.EqualValues(t, 1, metric(t, f, "arena_beacon_up"))
				require.EqualValues(t, f.Newest(), metric(t, f, "arena_beacon_newest_round"))
			})
		})
	}
}

// metric returns the sum of a metric's values for all labels.
func metric(t *testing.T, f *fixture, name string) (sum float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(f.Client))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.Metric {
			if family.GetName() == name {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// If a relay serves a round that is not due yet, the arena's clock must be behind. In
// that case, the round that the client would name could already exist.
func TestClockBehindTheBeaconNamesNoRound(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		_, _, err := f.Name(time.Now().Add(-period))
		require.ErrorIs(t, err, ErrClock)
	})
}

func TestNoRoundBeforeTheFirstPoll(t *testing.T) {
	f := newFixture(drandtest.New("tests", period))
	_, _, err := f.Name(time.Now())
	require.ErrorIs(t, err, ErrStale)
	require.ErrorContains(t, f.Err(), "not served a valid round yet")
	require.Zero(t, metric(t, f, "arena_beacon_newest_round"))
}

// All callers get the round shortly after it appears, and the client sends few
// requests.
func TestAwaitReturnsTheNamedRound(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		n, appears, err := f.Name(time.Now())
		require.NoError(t, err)
		type answer struct {
			round beacon.Round
			err   error
			at    time.Time
		}
		answers := make(chan answer, 50)
		var all sync.WaitGroup
		for range cap(answers) {
			all.Go(func() {
				r, err := f.Await(t.Context(), n.Round)
				answers <- answer{r, err, time.Now()}
			})
		}
		synctest.Wait()
		require.EqualValues(t, 50, metric(t, f, "arena_beacon_waiting_matches"))
		all.Wait()
		for range cap(answers) {
			a := <-answers
			require.NoError(t, a.err)
			require.Equal(t, f.relay.Round(n.Round), a.round)
			require.False(t, a.at.Before(appears))
			require.Less(t, a.at.Sub(appears), period)
		}
		require.Zero(t, metric(t, f, "arena_beacon_waiting_matches"))
		requests := len(f.relay.Requests())
		_, err = f.Await(t.Context(), n.Round)
		require.NoError(t, err)
		require.Len(t, f.relay.Requests(), requests, "the client remembers the round")
		require.Less(t, requests, 10)
	})
}

func TestAwaitReturnsAnOldRound(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		began := time.Now()
		r, err := f.Await(t.Context(), 17)
		require.NoError(t, err)
		require.Equal(t, f.relay.Round(17), r)
		require.Less(t, time.Since(began), time.Second)
	})
}

// Await gives up 30 s after the round's time or 30 s after the call, whichever is
// later. It never returns a wrong round.
func TestAwaitIsLate(t *testing.T) {
	for name, fault := range map[string]drandtest.Fault{
		"late": drandtest.Late, "wrong signature": drandtest.WrongSignature, "wrong round": drandtest.WrongRound, "wrong randomness": drandtest.WrongRandomness,
		"forked": drandtest.Forked, "down": drandtest.Down, "slow": drandtest.Slow, "oversized": drandtest.Oversized, "redirecting": drandtest.Redirecting,
	} {
		t.Run(name, func(t *testing.T) {
			withClient(t, func(t *testing.T, f *fixture) {
				n, appears, err := f.Name(time.Now())
				require.NoError(t, err)
				f.relay.Fail(fault)
				_, err = f.Await(t.Context(), n.Round)
				require.ErrorIs(t, err, ErrLate)
				require.Equal(t, appears.Add(30*time.Second).UTC(), time.Now().UTC())
				if fault != drandtest.Late {
					require.Contains(t, f.logged.String(), "could not read the round")
				}

				again := time.Now()
				_, err = f.Await(t.Context(), n.Round)
				require.ErrorIs(t, err, ErrLate)
				require.Equal(t, again.Add(30*time.Second).UTC(), time.Now().UTC())
			})
		})
	}
}

// If the relay works again within the 30 s, Await returns the round.
func TestAwaitSurvivesAnOutage(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		n, appears, err := f.Name(time.Now())
		require.NoError(t, err)
		f.relay.Fail(drandtest.Forked)
		time.AfterFunc(time.Until(appears)+28*time.Second, func() { f.relay.Fail(drandtest.None) })
		r, err := f.Await(t.Context(), n.Round)
		require.NoError(t, err)
		require.Equal(t, f.relay.Round(n.Round), r)
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		n, _, err := f.Name(time.Now())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = f.Await(ctx, n.Round)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, ErrLate)
	})
}

// The client keeps only recent rounds in memory.
func TestClientForgetsOldRounds(t *testing.T) {
	withClient(t, func(t *testing.T, f *fixture) {
		after(2 * keptRounds * period)
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Len(t, f.rounds, keptRounds)
		require.Contains(t, f.rounds, f.newest)
	})
}

func TestFetchReadsTheChain(t *testing.T) {
	relay := drandtest.New("own", 2*time.Second)
	server := httptest.NewServer(relay)
	defer server.Close()
	known, err := ParseChain(relay.Flag())
	require.NoError(t, err)
	c, err := Fetch(t.Context(), server.URL, known)
	require.NoError(t, err)
	require.Equal(t, relay.Chain(), c)

	other, err := ParseChain(known.Hash + ":" + hex.EncodeToString(drandtest.New("other", time.Second).Chain().PublicKey))
	require.NoError(t, err)
	_, err = Fetch(t.Context(), server.URL, other)
	require.ErrorContains(t, err, "is not the key of chain")

	for name, fault := range map[string]drandtest.Fault{"down": drandtest.Down, "oversized": drandtest.Oversized, "redirecting": drandtest.Redirecting} {
		relay.Fail(fault)
		_, err = Fetch(t.Context(), server.URL, known)
		require.Error(t, err, name)
	}

	c, err = Fetch(t.Context(), "http://relay.invalid", beacon.Quicknet())
	require.NoError(t, err, "quicknet is built in")
	require.Equal(t, beacon.Quicknet(), c)
}
