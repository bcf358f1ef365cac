package auth

import (
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// signer is an owner's program, which signs requests with its key.
type signer struct {
	keyID string
	key   ed25519.PrivateKey
}

func newSigner(t *testing.T, f *fixture) signer {
	t.Helper()
	account, _ := f.signIn(t, "ada@example.org", 0)
	return signer{"k1", f.addKey(t, account.ID, "k1", owner.BotsWrite)}
}

// write returns a signed write. Calls with equal arguments return identical
// requests.
func (s signer) write(at time.Time, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/bots", strings.NewReader(body))
	sign(r.Header, s.keyID, s.key, at, http.MethodPost, "/bots", []byte(body))
	return r
}

func at(now time.Time) eventstore.Metadata {
	return eventstore.Metadata{At: now, Correlation: "test"}
}

// The method runs() reports whether Verify accepts a request.
func (f *fixture) runs(t require.TestingT, r *http.Request, body string, now time.Time) bool {
	_, err := f.Verify(r.Context(), r, []byte(body), at(now))
	if err != nil {
		require.ErrorIs(t, err, owner.ErrUnauthenticated)
	}
	return err == nil
}

// peer returns a second Service on the same log, as if it ran in another process.
func (f *fixture) peer(t *testing.T) *fixture {
	p := fixtureOn(t, f.log, false)
	p.keys = f.keys
	return p
}

func TestSignedWriteRunsOnce(t *testing.T) {
	f := newFixture(t)
	s := newSigner(t, f)
	write := s.write(noon, "a")
	require.True(t, f.runs(t, write, "a", noon))
	require.False(t, f.runs(t, write, "a", noon), "the same request")
	require.False(t, f.runs(t, write, "a", noon.Add(maxSkew)), "at the last moment of its window")
	require.True(t, f.runs(t, s.write(noon, "b"), "b", noon), "another body")
	require.True(t, f.runs(t, s.write(noon.Add(time.Millisecond), "a"), "a", noon), "a fresh timestamp")

	read := httptest.NewRequest(http.MethodGet, "/bots", nil)
	sign(read.Header, s.keyID, s.key, noon, http.MethodGet, "/bots", nil)
	for range 3 {
		require.True(t, f.runs(t, read, "", noon), "a read may be repeated")
	}
	require.Equal(t, 3, strings.Count(f.logText(t), "SignatureSpent"))
}

// An invalid request does not spend a signature. Otherwise, anyone could spend other
// owners' signatures.
func TestInvalidRequestsSpendNothing(t *testing.T) {
	f := newFixture(t)
	s := newSigner(t, f)
	write := s.write(noon, "a")
	require.False(t, f.runs(t, write, "changed", noon))
	require.False(t, f.runs(t, write, "a", noon.Add(maxSkew+time.Millisecond)))
	require.Zero(t, strings.Count(f.logText(t), "SignatureSpent"))
	require.True(t, f.runs(t, write, "a", noon))
}

func TestSpentSignaturesSurviveRestart(t *testing.T) {
	f := newFixture(t)
	s := newSigner(t, f)
	require.True(t, f.runs(t, s.write(noon, "a"), "a", noon))
	restarted := f.peer(t)
	require.False(t, restarted.runs(t, s.write(noon, "a"), "a", noon))
	require.True(t, restarted.runs(t, s.write(noon, "b"), "b", noon))
}

func TestTwoProcessesSpendASignatureOnce(t *testing.T) {
	one := newFixture(t)
	s := newSigner(t, one)
	sides := []*fixture{one, one.peer(t)}
	require.True(t, one.runs(t, s.write(noon, "first"), "first", noon))
	var wg sync.WaitGroup
	ran := make(chan string, 500)
	for i := range 50 {
		for _, body := range []string{"a", "b", "first", fmt.Sprint(i)} {
			wg.Go(func() {
				if sides[i%2].runs(t, s.write(noon, body), body, noon) {
					ran <- body
				}
			})
		}
	}
	wg.Wait()
	close(ran)
	times := map[string]int{}
	for body := range ran {
		times[body]++
	}
	require.Zero(t, times["first"])
	require.Equal(t, 1, times["a"])
	require.Equal(t, 1, times["b"])
	for i := range 50 {
		require.Equal(t, 1, times[fmt.Sprint(i)], "write %d", i)
	}
}

// The log may have stored the signature even though the append returned an
// error.
func TestSpendWithUnknownOutcome(t *testing.T) {
	for how, runs := range map[logtest.Fault]bool{logtest.NotStored: true, logtest.StoredAnyway: false} {
		f := newFixture(t)
		s := newSigner(t, f)
		faulty := logtest.NewFaulty(f.log)
		f.spent.log = faulty
		require.True(t, f.runs(t, s.write(noon, "before"), "before", noon))
		faulty.FailAppend(2, how)
		write := s.write(noon, "a")
		_, err := f.Verify(t.Context(), write, []byte("a"), at(noon))
		require.ErrorIs(t, err, eventstore.ErrUnavailable, "the write does not run")
		require.Equal(t, runs, f.runs(t, write, "a", noon))
		require.False(t, f.runs(t, write, "a", noon))
		require.True(t, f.runs(t, s.write(noon, "b"), "b", noon))
	}
}

func TestFailedReadRejectsTheWrite(t *testing.T) {
	f := newFixture(t)
	s := newSigner(t, f)
	require.True(t, f.runs(t, s.write(noon, "a"), "a", noon))
	for events := range 2 {
		restarted := f.peer(t)
		faulty := logtest.NewFaulty(f.log)
		faulty.FailRead(1, events)
		restarted.spent.log = faulty
		_, err := restarted.Verify(t.Context(), s.write(noon, "a"), []byte("a"), at(noon))
		require.ErrorIs(t, err, logtest.ErrInjected)
		require.False(t, restarted.runs(t, s.write(noon, "a"), "a", noon))
	}
}

// The events of the stream expire, but the stream's revision never decreases.
func TestSpendAfterTheStreamExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		s := newSigner(t, f)
		stored := func() int {
			n := 0
			for r, err := range f.log.Read(t.Context(), eventstore.StreamID(owner.SignaturesStream(f.keys["k1"].OwnerID)), 0, eventstore.ReadOptions{}) {
				require.NoError(t, err)
				require.Equal(t, "SignatureSpent", r.Type)
				n++
			}
			return n
		}
		began := time.Now()
		clock := func() time.Time { return noon.Add(time.Since(began)) }
		for i := range 5 {
			require.True(t, f.runs(t, s.write(clock(), "a"), "a", clock()))
			require.Equal(t, 1, stored(), "round %d", i)
			<-time.After(spentFor - time.Second)
			require.Equal(t, 1, stored())
			<-time.After(2 * time.Second)
			require.Zero(t, stored(), "the stream keeps events for 11 minutes")
			if i%2 == 1 {
				f = f.peer(t)
			}
		}
	})
}

func TestWindowDropsExpiredSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		s := newSigner(t, f)
		began := time.Now()
		clock := func() time.Time { return noon.Add(time.Since(began)) }
		for i := range 200 {
			body := fmt.Sprint(i)
			require.True(t, f.runs(t, s.write(clock(), body), body, clock()))
			<-time.After(10 * time.Second)
		}
		w, _ := f.spent.windows.Find(eventstore.StreamID(owner.SignaturesStream(f.keys["k1"].OwnerID)))
		require.LessOrEqual(t, len(w.order), int(spentFor/(10*time.Second))+1)
		require.Len(t, w.spent, len(w.order))
		require.Less(t, w.floor, clock().Add(-maxSkew))
	})
}

// A window that exceeds its limit drops its oldest signatures. From then on, it rejects
// every write whose signature may be one of those, so that no write runs twice.
func TestFullWindowRejectsOldSignatures(t *testing.T) {
	l := newLedger(memory.New())
	hash := func(i int) spentHash { return spentHash{byte(i), byte(i >> 8), byte(i >> 16)} }
	spend := func(i int, signed time.Time) error { return l.spend(t.Context(), "o1", hash(i), signed, at(noon)) }
	require.NoError(t, spend(0, noon))
	w, _ := l.windows.Find(eventstore.StreamID(owner.SignaturesStream("o1")))
	for i := 1; i <= spentMax; i++ {
		w.add(hash(i), noon)
	}
	require.ErrorIs(t, spend(0, noon), owner.ErrUnauthenticated)
	require.Len(t, w.order, spentMax)
	require.ErrorIs(t, spend(-1, noon.Add(maxSkew)), owner.ErrUnauthenticated, "rejected for a while")
	require.NoError(t, spend(-1, noon.Add(maxSkew+time.Millisecond)))
}

func TestLedgerEvictsWindows(t *testing.T) {
	l := newLedger(memory.New())
	spend := func(i int) error {
		return l.spend(t.Context(), fmt.Sprint("o", i), spentHash{1}, noon, at(noon))
	}
	const most = ledgerMax / (windowWeight + 1)
	for i := range most + 10 {
		require.NoError(t, spend(i))
	}
	for i, kept := range map[int]bool{0: false, 9: false, 10: true, most + 9: true} {
		_, ok := l.windows.Find(eventstore.StreamID(owner.SignaturesStream(fmt.Sprint("o", i))))
		require.Equal(t, kept, ok, "window %d", i)
	}
	require.ErrorIs(t, spend(0), owner.ErrUnauthenticated, "the log still has it")
}

// After the log is restored from an older backup, the ledger reads the stream from
// scratch.
func TestSpendAfterTheLogWasRestored(t *testing.T) {
	f := newFixture(t)
	s := newSigner(t, f)
	old := f.log
	for _, body := range []string{"a", "b"} {
		require.True(t, f.runs(t, s.write(noon, body), body, noon))
	}
	restored := memory.New()
	for r, err := range old.Read(t.Context(), eventstore.StreamID(owner.SignaturesStream(f.keys["k1"].OwnerID)), 0, eventstore.ReadOptions{Limit: 1}) {
		require.NoError(t, err)
		_, err := restored.Append(t.Context(), r.Stream, eventstore.NoStream, r.Event)
		require.NoError(t, err)
	}
	f.spent.log = restored
	require.True(t, f.runs(t, s.write(noon, "c"), "c", noon))
	for _, body := range []string{"a", "b", "c"} {
		require.False(t, f.runs(t, s.write(noon, body), body, noon), body)
	}
}

// No signed write runs twice, even if the service's clock jumps. The log has its own
// clock, and its events expire by that clock.
func TestClockJumpsNeverWidenTheWindow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			f := newFixture(t)
			s := newSigner(t, f)
			began, jumped := time.Now(), time.Duration(0)
			clock := func() time.Time { return noon.Add(time.Since(began) + jumped) }
			steps := []time.Duration{time.Second, 4 * time.Minute, 12 * time.Minute, time.Hour, 25 * time.Hour}
			made, ran := []time.Time{}, map[time.Time]bool{}
			for range 40 {
				switch random.IntN(4) {
				case 0:
					<-time.After(steps[random.IntN(3)])
				case 1:
					jumped += steps[random.IntN(len(steps))] * time.Duration(1-2*random.IntN(2))
				case 2:
					made = append(made, clock().Add(time.Duration(random.Int64N(int64(2*maxSkew)))-maxSkew).Truncate(time.Millisecond))
				}
				for _, signed := range made {
					if f.runs(t, s.write(signed, "a"), "a", clock()) {
						require.False(t, ran[signed], "seed %d: %s ran twice", seed, signed)
						ran[signed] = true
					}
				}
			}
		})
	})
}

// If the clock jumps ahead and back, the service still accepts fresh writes.
func TestClockJumpAcceptsFreshWrites(t *testing.T) {
	f := newFixture(t)
	s := newSigner(t, f)
	for i, now := range []time.Time{noon, noon.Add(time.Hour), noon.Add(time.Minute), noon.Add(25 * time.Hour), noon.Add(2 * time.Minute)} {
		require.True(t, f.runs(t, s.write(now, "a"), "a", now), "write %d", i)
		require.False(t, f.runs(t, s.write(now, "a"), "a", now))
		require.False(t, f.runs(t, s.write(noon, "a"), "a", now))
	}
}

// With correct clocks, fresh writes run and repeated writes do not, even after restarts
// and after events have expired.
func TestSpendWithSteadyClocks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			f := newFixture(t)
			s := newSigner(t, f)
			sides := []*fixture{f, f.peer(t)}
			began := time.Now()
			clock := func() time.Time { return noon.Add(time.Since(began)) }
			ran := []time.Time{}
			for range 40 {
				side := random.IntN(2)
				switch random.IntN(5) {
				case 0:
					sides[side] = f.peer(t)
				case 1:
					<-time.After(time.Duration(random.Int64N(int64(7 * time.Minute))))
				case 2:
					for _, signed := range ran {
						require.False(t, sides[side].runs(t, s.write(signed, "a"), "a", clock()), "seed %d", seed)
					}
				default:
					<-time.After(time.Millisecond)
					signed := clock().Truncate(time.Millisecond)
					require.True(t, sides[side].runs(t, s.write(signed, "a"), "a", clock()), "seed %d", seed)
					ran = append(ran, signed)
				}
			}
		})
	})
}
