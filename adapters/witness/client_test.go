package witness

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/torchwood"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"hexarena/eventstore/logtest"
	"hexarena/projections"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

// serve starts a witness on a real port, below a path, and returns its URL.
func serve(t *testing.T, w http.Handler) (url string) {
	server := httptest.NewServer(http.StripPrefix("/prefix", w))
	t.Cleanup(server.Close)
	return server.URL + "/prefix/"
}

// The function cosigned() returns the newest head with its cosignatures, as the arena
// serves it.
func cosigned(c *Client, l *ladderTree) []byte {
	signed := l.newest()
	return append(signed, c.Cosignatures(mode, signed)...)
}

// retryNow makes failed witnesses due.
func retryNow(c *Client) {
	for _, p := range c.trees[mode].peers {
		p.retry = time.Time{}
	}
}

func TestEachHeadIsCosigned(t *testing.T) {
	tree := newLadderTree(t)
	a, b := newFakeWitness(t, "a.example", tree.vkey), newFakeWitness(t, "b.example/w1", tree.vkey)
	c, lines := newClient(t, tree, a.flag(serve(t, a)), b.flag(serve(t, b)))
	t.Cleanup(c.http.CloseIdleConnections)
	both := policyOf(t, tree, 2, a, b)
	var want []string
	old := int64(0)
	for _, entries := range []int{0, 1, 1, 5, 250, 1} {
		tree.grow("ladder", entries)
		require.Empty(t, c.Cosignatures(mode, tree.newest()), "no cosignature yet")
		c.submit(t.Context(), c.trees[mode])
		want = append(want, fmt.Sprintf("old %d", old))
		old = tree.size
		require.Equal(t, old, sizeOf(t, cosigned(c, tree), both))
		for n := 1; n <= 2; n++ {
			size, signed, found := c.Cosigned(mode, n)
			require.True(t, found)
			require.EqualValues(t, old, size)
			require.Equal(t, old, sizeOf(t, signed, both))
		}
	}
	c.submit(t.Context(), c.trees[mode]) // nothing is due
	require.Equal(t, want, a.seen())
	require.Equal(t, want, b.seen())
	require.Empty(t, lines.String())

	_, _, found := c.Cosigned(mode, 3)
	require.False(t, found, "there are only two witnesses")
	_, _, found = c.Cosigned(mode, 0)
	require.False(t, found)
	_, _, found = c.Cosigned("parley", 1)
	require.False(t, found)
	require.Empty(t, c.Cosignatures("parley", tree.newest()))
}

// The arena keeps cosignatures only in memory. After a restart, the witness
// responds with 409 and its size, and then cosigns the same head again.
func TestRestartedArenaGetsCosignaturesAgain(t *testing.T) {
	tree := newLadderTree(t)
	w := newFakeWitness(t, "a.example", tree.vkey)
	url := serve(t, w)
	tree.grow("ladder", 7)
	for _, entries := range []int{0, 0, 4} {
		tree.grow("ladder", entries)
		c, lines := newClient(t, tree, w.flag(url))
		t.Cleanup(c.http.CloseIdleConnections)
		_, _, found := c.Cosigned(mode, 1)
		require.False(t, found)
		c.submit(t.Context(), c.trees[mode])
		require.Equal(t, tree.size, sizeOf(t, cosigned(c, tree), policyOf(t, tree, 1, w)))
		require.Empty(t, lines.String())
	}
	require.Equal(t, []string{"old 0", "old 0", "old 7", "old 0", "old 7"}, w.seen())
}

// An arena whose log was restored from an old backup has a smaller tree than the
// witness remembers. It gets no cosignatures until its tree has grown to the size that
// the witness remembers. If the tree contains different entries by then, the arena
// never gets any.
func TestWitnessRemembersALargerTree(t *testing.T) {
	tree := newLadderTree(t)
	w := newFakeWitness(t, "a.example", tree.vkey)
	url := serve(t, w)
	tree.grow("ladder", 9)
	c, _ := newClient(t, tree, w.flag(url))
	t.Cleanup(c.http.CloseIdleConnections)
	c.submit(t.Context(), c.trees[mode])

	restored, forked := newLadderTree(t), newLadderTree(t)
	restored.grow("ladder", 8)
	forked.grow("ladder", 8)
	for _, l := range []*ladderTree{forked, restored} {
		c, lines := newClient(t, l, w.flag(url))
		t.Cleanup(c.http.CloseIdleConnections)
		c.submit(t.Context(), c.trees[mode])
		require.Contains(t, lines.String(), "size 9, but the ladder has only 8 events")
		_, _, found := c.Cosigned(mode, 1)
		require.False(t, found)
		if l == forked {
			l.grow("another ladder", 1)
			retryNow(c)
			c.submit(t.Context(), c.trees[mode])
			require.Contains(t, lines.String(), "level=ERROR")
			require.Contains(t, lines.String(), "its tree of size 9 has a different root")
			l.grow("another ladder", 1)
			retryNow(c)
			c.submit(t.Context(), c.trees[mode])
			require.Contains(t, lines.String(), "rejected the proof from size 9 to size 10 (422)")
			_, _, found = c.Cosigned(mode, 1)
			require.False(t, found)
			continue
		}
		l.grow("ladder", 2)
		retryNow(c)
		c.submit(t.Context(), c.trees[mode])
		require.EqualValues(t, 10, sizeOf(t, cosigned(c, l), policyOf(t, l, 1, w)))
	}
}

// answer returns a fault that sends the same response to every request.
func answer(status int, body string) func(http.ResponseWriter) bool {
	return func(w http.ResponseWriter) bool {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	}
}

// The client counts each fault, logs it once, and gets no cosignature. When the fault
// is over, the client gets cosignatures again.
func TestFaultsOfAWitness(t *testing.T) {
	tree := newLadderTree(t)
	tree.grow("ladder", 3)
	other := newFakeWitness(t, "other.example", tree.vkey)
	impostor, err := torchwood.NewCosignatureSigner("a.example", keyOf("impostor"))
	require.NoError(t, err)
	textAt := func(size int64) string {
		text, err := textOf(tree.at(size))
		require.NoError(t, err)
		return text
	}
	own := newFakeWitness(t, "a.example", tree.vkey).signer
	asked := 0
	for _, test := range []struct {
		name   string
		fault  func(http.ResponseWriter) bool
		why    string
		logged string
	}{
		{"unknown log", answer(404, "unknown log\n"), "unknown_log", `its operator must add it: origin \"arena.example/ladder/standard\" (404)`},
		{"another key", answer(403, ""), "wrong_key", "its operator must add the arena's key"},
		{"wrong proof", answer(422, ""), "inconsistent", "rejected the proof from size 0 to size 3 (422)"},
		{"bad request", answer(400, "what?\nmore"), "rejected", `400 Bad Request \"what?\"`},
		{"overload", answer(503, strings.Repeat("x", 300)), "rejected", `503 Service Unavailable \"` + strings.Repeat("x", 200) + `\"`},
		{"redirect", func(w http.ResponseWriter) bool {
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}, "rejected", "307 Temporary Redirect"},
		{"conflict without a size", answer(409, "<html>"), "rejected", "its 409 response contains no tree size"},
		{"conflict with a negative size", answer(409, "-1\n"), "rejected", "its 409 response contains no tree size"},
		{"conflict with the same size", answer(409, "0\n"), "rejected", "its 409 response repeats the size 0 that the arena sent"},
		{"conflict with a larger size", answer(409, "4\n"), "ahead", "size 4, but the ladder has only 3 events"},
		{"sizes that change", func(w http.ResponseWriter) bool { asked++; return answer(409, fmt.Sprint(asked%3+1))(w) }, "rejected", "each of its 409 responses contained a different size"},
		{"no cosignature", answer(200, ""), "invalid", "no valid cosignature"},
		{"garbage", answer(200, "<html>\n"), "invalid", "no valid cosignature"},
		{"a forged cosignature", answer(200, garbage("a.example")), "invalid", "no valid cosignature"},
		{"a cosignature of another witness", answer(200, cosignatures(textAt(3), other.signer)), "invalid", "no valid cosignature"},
		{"a cosignature of another key with this name", answer(200, cosignatures(textAt(3), impostor)), "invalid", "no valid cosignature"},
		{"a cosignature of another head", answer(200, cosignatures(textAt(2), own)), "invalid", "no valid cosignature"},
		{"an endless response", answer(200, strings.Repeat(garbage("b.example"), 1000)), "invalid", "no valid cosignature"},
		{"a dropped connection", func(http.ResponseWriter) bool { panic(http.ErrAbortHandler) }, "unreachable", "no response from the witness"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFakeWitness(t, "a.example", tree.vkey)
			c, lines := newClient(t, tree, w.flag(serve(t, w)))
			t.Cleanup(c.http.CloseIdleConnections)
			w.setFault(test.fault)
			began := time.Now()
			c.submit(t.Context(), c.trees[mode])
			retry := &c.trees[mode].peers[0].retry
			require.False(t, retry.Before(began.Add(firstWait)), "the client waits for a second")
			*retry = retry.Add(time.Hour) // so that a slow machine does not reach this time
			require.Empty(t, c.Cosignatures(mode, tree.newest()))
			_, _, found := c.Cosigned(mode, 1)
			require.False(t, found)
			require.Contains(t, lines.String(), test.logged)
			require.Contains(t, lines.String(), "witness=a.example mode=standard")
			require.EqualValues(t, 1, figures(t, c)[`arena_witness_failures_total{mode="standard"}{why="`+test.why+`"}{witness="a.example"}`])
			require.Zero(t, figures(t, c)[`arena_witness_cosigned_size{mode="standard"}{witness="a.example"}`])

			w.setFault(nil)
			requests := len(w.seen())
			c.submit(t.Context(), c.trees[mode])
			require.Len(t, w.seen(), requests, "the client waits before it retries")
			retryNow(c)
			c.submit(t.Context(), c.trees[mode])
			require.EqualValues(t, 3, sizeOf(t, cosigned(c, tree), policyOf(t, tree, 1, w)))
			require.EqualValues(t, 3, figures(t, c)[`arena_witness_cosigned_size{mode="standard"}{witness="a.example"}`])
			require.Contains(t, lines.String(), "the witness cosigned the head of size 3")
			require.Equal(t, 2, strings.Count(lines.String(), "\n"), lines.String())
		})
	}
}

// Witnesses may send cosignatures by several keys. The client keeps only the
// cosignature that is valid under the configured key.
func TestSignaturesByOtherKeysAreDropped(t *testing.T) {
	tree := newLadderTree(t)
	tree.grow("ladder", 3)
	w, other := newFakeWitness(t, "a.example", tree.vkey), newFakeWitness(t, "other.example", tree.vkey)
	text, err := textOf(tree.newest())
	require.NoError(t, err)
	w.setFault(answer(200, garbage("b.example")+cosignatures(text, other.signer, w.signer)))
	c, lines := newClient(t, tree, w.flag(serve(t, w)))
	t.Cleanup(c.http.CloseIdleConnections)
	c.submit(t.Context(), c.trees[mode])
	signed := string(cosigned(c, tree))
	require.EqualValues(t, 3, sizeOf(t, []byte(signed), policyOf(t, tree, 1, w)))
	require.NotContains(t, signed, "b.example")
	require.NotContains(t, signed, "other.example")
	require.Empty(t, lines.String())
}

// The function figures() returns the values of a client's metrics, by name and labels.
func figures(t *testing.T, c *Client) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c.Collector()))
	families, err := registry.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += fmt.Sprintf("{%s=%q}", label.GetName(), label.GetValue())
			}
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// run starts a client in a synctest bubble. The client stops when the test ends. The
// host in each witness's URL names a handler.
func run(t *testing.T, c *Client, handlers inMemory) {
	c.http.Transport = handlers
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// pass waits on the clock of a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }

func TestRetriesBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newLadderTree(t)
		tree.grow("ladder", 1)
		w := newFakeWitness(t, "a.example", tree.vkey)
		start := time.Now()
		var at []time.Duration
		w.setFault(func(r http.ResponseWriter) bool {
			at = append(at, time.Since(start))
			return answer(503, "")(r)
		})
		c, lines := newClient(t, tree, w.flag("http://a"))
		run(t, c, inMemory{"a": w})
		for range 400 { // new heads do not cause additional requests
			pass(500 * time.Millisecond)
			w.mu.Lock()
			tree.grow("ladder", 1)
			w.mu.Unlock()
		}
		require.Equal(t, []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183}, seconds(at))
		require.Equal(t, 1, strings.Count(lines.String(), "level=WARN"), "a repeated failure is logged once")
		w.setFault(nil)
		pass(longWait)
		synctest.Wait()
		require.Equal(t, tree.size, sizeOf(t, cosigned(c, tree), policyOf(t, tree, 1, w)))
		require.Equal(t, 1, strings.Count(lines.String(), "level=INFO"))
	})
}

func seconds(all []time.Duration) []time.Duration {
	for i := range all {
		all[i] /= time.Second
	}
	return all
}

// The head of a busy ladder changes faster than witnesses respond. Even so, there
// is always a recent head that all of them have cosigned.
func TestBusyLadderHasHeadsWithAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newLadderTree(t)
		handlers := inMemory{}
		var witnesses []*fakeWitness
		var flags []string
		for i, latency := range []time.Duration{30 * time.Millisecond, 700 * time.Millisecond, 1300 * time.Millisecond} {
			w := newFakeWitness(t, fmt.Sprintf("w%d.example", i), tree.vkey)
			w.before = func(context.Context) { pass(latency) }
			host := fmt.Sprintf("w%d", i)
			handlers[host] = w
			witnesses, flags = append(witnesses, w), append(flags, w.flag("https://"+host+"/"))
		}
		c, lines := newClient(t, tree, flags...)
		all := policyOf(t, tree, 3, witnesses...)
		run(t, c, handlers)
		const perSecond = 100
		for second := range 60 {
			for range perSecond {
				tree.grow("ladder", 1)
				pass(time.Second / perSecond)
			}
			if second < 5 {
				continue
			}
			synctest.Wait()
			_, signed, found := c.Cosigned(mode, 3)
			require.True(t, found)
			require.Greater(t, sizeOf(t, signed, all), tree.size-4*perSecond, "at most 4 seconds old")
		}
		require.Empty(t, lines.String())
		require.LessOrEqual(t, len(witnesses[0].seen()), 61, "at most one head per second")
	})
}

// A witness that does not respond delays the others only while the client waits for its
// response. The client waits for it less and less often, and the other witnesses keep
// cosigning the newest head.
func TestHangingWitnessDelaysOthersRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newLadderTree(t)
		a, b := newFakeWitness(t, "a.example", tree.vkey), newFakeWitness(t, "b.example", tree.vkey)
		b.before = func(ctx context.Context) { <-ctx.Done() }
		c, lines := newClient(t, tree, a.flag("http://a"), b.flag("http://b"), newFakeWitness(t, "c.example", "").flag("http://nowhere"))
		one := policyOf(t, tree, 1, a)
		run(t, c, inMemory{"a": a, "b": b})
		current := 0
		for range 600 {
			tree.grow("ladder", 1)
			pass(time.Second)
			synctest.Wait()
			_, signed, found := c.Cosigned(mode, 1)
			require.True(t, found)
			size := sizeOf(t, signed, one)
			require.Greater(t, size, tree.size-7, "even while the client waits for the hanging witness")
			if size >= tree.size-1 {
				current++
			}
		}
		require.Greater(t, current, 500, "of 600 seconds")
		require.EqualValues(t, 600, tree.size)
		_, _, found := c.Cosigned(mode, 2)
		require.False(t, found)
		require.Contains(t, lines.String(), "no response from the witness")
		require.Contains(t, lines.String(), "connection refused")
		require.Equal(t, 2, strings.Count(lines.String(), "\n"))
	})
}

// Witnesses cosign an unchanged head again. From the time of the newest cosignature,
// anyone can tell that the head is still the newest.
func TestUnchangedHeadIsCosignedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newLadderTree(t)
		tree.grow("ladder", 5)
		w := newFakeWitness(t, "a.example", tree.vkey)
		c, _ := newClient(t, tree, w.flag("http://a"))
		run(t, c, inMemory{"a": w})
		signedAt := func() time.Time {
			_, n, err := torchwood.VerifyCheckpoint(cosigned(c, tree), policyOf(t, tree, 1, w))
			require.NoError(t, err)
			for _, s := range n.Sigs {
				if s.Name == "a.example" {
					at, err := torchwood.CosignatureTimestamp(s)
					require.NoError(t, err)
					return time.Unix(at, 0)
				}
			}
			require.Fail(t, "no cosignature")
			return time.Time{}
		}
		synctest.Wait()
		first := signedAt()
		pass(freshTime + 2*pace)
		synctest.Wait()
		require.GreaterOrEqual(t, signedAt().Sub(first), freshTime)
		require.Equal(t, []string{"old 0", "old 5"}, w.seen())

		w.setFault(answer(503, ""))
		pass(3 * freshTime)
		synctest.Wait()
		require.False(t, signedAt().IsZero(), "the old cosignature stays")
	})
}

// Until the tree is complete, the client has no head to submit.
func TestNoHeadIsSentBeforeTheTreeIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newLadderTree(t)
		tree.err = projections.ErrBehind
		w := newFakeWitness(t, "a.example", tree.vkey)
		c, lines := newClient(t, tree, w.flag("http://a"))
		run(t, c, inMemory{"a": w})
		pass(time.Minute)
		require.Empty(t, w.seen())
		tree.mu.Lock()
		tree.err = nil
		tree.mu.Unlock()
		tree.grow("ladder", 2)
		pass(pace)
		synctest.Wait()
		require.EqualValues(t, 2, sizeOf(t, cosigned(c, tree), policyOf(t, tree, 1, w)))
		require.Empty(t, lines.String())
	})
}

func TestClientWithoutWitnessesDoesNothing(t *testing.T) {
	tree := newLadderTree(t)
	tree.grow("ladder", 2)
	c, _ := newClient(t, tree)
	c.Run(t.Context()) // returns immediately
	require.Empty(t, c.Cosignatures(mode, tree.newest()))
	_, _, found := c.Cosigned(mode, 1)
	require.False(t, found)
	require.Empty(t, figures(t, c))
}

func TestParseAll(t *testing.T) {
	key := func(name string) string { return newFakeWitness(t, name, "").signer.Verifier().String() }
	logKey, err := note.NewEd25519VerifierKey("log.example", keyOf("log").Public().(ed25519.PublicKey))
	require.NoError(t, err)
	renamed, err := torchwood.NewCosignatureSigner("renamed.example", keyOf("a.example"))
	require.NoError(t, err)
	rekeyed, err := torchwood.NewCosignatureSigner("a.example", keyOf("b.example"))
	require.NoError(t, err)
	valid := key("a.example") + " https://a.example/submit"

	all, err := ParseAll([]string{valid, " " + key("b.example/w1") + "\thttp://127.0.0.1:7380/ "})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "a.example", all[0].Name())
	require.Equal(t, "https://a.example/submit", all[0].prefix)
	require.Equal(t, "b.example/w1", all[1].Name())
	require.Equal(t, "http://127.0.0.1:7380", all[1].prefix)

	for text, want := range map[string]string{
		"":                                 `want "VKEY URL"`,
		key("a.example"):                   `want "VKEY URL"`,
		valid + " more":                    `want "VKEY URL"`,
		"a.example+00000000+AAAA http://a": "not a witness's key: invalid verifier hash",
		"nonsense http://a":                "not a witness's key: malformed verifier id",
		logKey + " http://a":               "not a witness's key: unknown verifier algorithm; want NAME+HASH+KEY, for Ed25519 cosignatures",
		key("a.example") + " a.example":    "not the URL of a witness: want http(s)://",
		key("a.example") + " ftp://a":      "not the URL of a witness",
		key("a.example") + " https://":     "not the URL of a witness",
		key("a.example") + " http://a?b":   "not the URL of a witness",
		key("a.example") + " http://a#b":   "not the URL of a witness",
		key("a.example") + " http://u@a":   "not the URL of a witness",
		key("a.example") + " http://[":     "not the URL of a witness",
	} {
		_, err := ParseAll([]string{text})
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "\n")
	}
	for _, again := range []string{valid, renamed.Verifier().String() + " http://b", rekeyed.Verifier().String() + " http://b"} {
		_, err := ParseAll([]string{valid, again})
		require.ErrorContains(t, err, "an earlier --witness has the same name or key; remove one of the two")
	}
}
