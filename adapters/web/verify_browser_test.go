package web_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/projections/arenatest"
	"hexarena/projections/signedlog"
)

var headKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))

// signHead signs the heads of the stage's signed log.
func signHead(mode string, size uint64, root []byte) ([]byte, error) {
	return signedlog.Sign(signedlog.Head{Origin: signedlog.Origin("arena.example", mode), Size: size, Root: root}, headKey)
}

// newHonestStage returns a stage whose matches pass all checks: the match ids are
// derived from the published key, and the nonces are valid.
func newHonestStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.play.PlatformKey = base64.StdEncoding.EncodeToString(headKey.Public().(ed25519.PublicKey))
	s.play.Nonce = func(b match.Seat) string { return b.BotID }
	return s
}

// The page of an ended match shows that the match is verified, and what was
// checked. The page of a running match shows this after the match has ended.
func TestMatchIsVerifiedInBrowser(t *testing.T) {
	s := newHonestStage(t)
	s.ours = map[string]bool{arenatest.ID("Ann"): true, arenatest.ID("Hal"): true, arenatest.ID("Ida"): true, arenatest.ID("Jon"): true}
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	s.ended("Eve", "Fay", "Gus")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(isVerified)
	require.Equal(t, fmt.Sprintf("Verified in your browser: %d events follow from the seed and the answers. Seed: the arena and 3 bots", g.State.Seq), p.text("[data-verify] summary"))
	told := eval[string](p, `document.querySelector('[data-verify] ul').textContent`)
	for _, want := range []string{
		"House bots do not count: 1 sent a nonce.", "id: 1 correct", "commitment: 1 correct", "board: 1 correct", "dice: ", "signed log: 1 correct", "rating: not checked",
		"seating: 1 correct", "earlier log: not checked, this browser has no earlier head to compare", "earlier ladder: not checked, this browser has no earlier head to compare", "This checker comes from the arena itself.",
	} {
		require.Contains(t, told, want)
	}

	running := s.seat("Hal", "Ida", "Jon")
	running.Play(2)
	p.open("/watch/" + running.MatchID)
	p.until(ready)
	require.True(t, eval[bool](p, `document.querySelector('[data-verify]').hidden`))
	running.PlayOut()
	running.Conclude()
	s.settle()
	p.until(isVerified)
	require.Regexp(t, `Seed: the arena only$`, p.text("[data-verify] summary"))
	require.Contains(t, eval[string](p, `document.querySelector('[data-verify] ul').textContent`), "earlier log: 1 correctearlier ladder: 1 correct")
}

const isVerified = `document.querySelector('[data-verify=verified]:not([hidden])') !== null`

// The browser keeps the newest heads of the signed logs that it has seen. If the arena
// later shows another log that its key also signed, the page shows both heads.
func TestBrowserRemembersTheSignedLog(t *testing.T) {
	honest, forked := newHonestStage(t), newHonestStage(t)
	var shown atomic.Pointer[stage]
	shown.Store(honest)
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { shown.Load().pages.ServeHTTP(w, r) }))
	t.Cleanup(arena.Close)
	p := openTab(t, arena.URL)
	check := func(g *arenatest.Game, state string) (details string) {
		p.open("/watch/" + g.MatchID)
		p.until(`document.querySelector('[data-verify=` + state + `]:not([hidden])') !== null`)
		return eval[string](p, `document.querySelector('[data-verify] ul').textContent`)
	}
	first := honest.ended("Ann", "Bea", "Cat")
	require.NotContains(t, check(first, "verified"), "earlier ladder: 1 correct")
	honest.ended("Dot", "Eve", "Fay")
	require.Contains(t, check(first, "verified"), "earlier ladder: 1 correct", "the log has grown")
	honest.ended("Gus", "Hal", "Ida")
	honest.ended("Jon", "Kim", "Lou")
	require.Contains(t, check(first, "verified"), "earlier ladder: 1 correct", "the log has grown again")

	// The matches of the other log have the same ids. So the page shows only a match
	// whose record the browser has not cached.
	for _, names := range [][]string{{"Ann", "Bea", "Cat"}, {"Dot", "Eve", "Fay"}, {"Gus", "Hal", "Ida"}} {
		forked.ended(names...)
	}
	shown.Store(forked)
	for i, names := range [][]string{{"Max", "Ned", "Oda"}, {"Pia", "Quo", "Ron"}} {
		told := check(forked.ended(names...), "differs")
		require.Equal(t, "The arena’s logs do not continue the logs that this browser saw before", p.text("[data-verify] summary"))
		require.Contains(t, told, "This browser saw a signed head of the standard log of results with 4 entries")
		require.Contains(t, told, "This browser saw a signed head of the standard ladder with 8 entries")
		for _, h := range []int{4, 4 + i} {
			require.Contains(t, told, fmt.Sprintf("arena.example/log/standard\n%d\n", h))
		}
	}
	shown.Store(honest)
	require.Contains(t, check(first, "verified"), "earlier ladder: 1 correct", "the browser still knows the honest log")
}

// If the record of a match was tampered with, the page shows the difference.
func TestTamperedMatchIsDetectedInBrowser(t *testing.T) {
	s := newHonestStage(t)
	g := s.ended("Ann", "Bea", "Cat")
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		kept := httptest.NewRecorder()
		s.pages.ServeHTTP(kept, r)
		body := kept.Body.Bytes()
		if r.URL.Path == "/matches/"+g.MatchID && !strings.Contains(r.Header.Get("Accept"), "html") {
			body = bytes.Replace(body, []byte(`"turn":1,"dice":[`), []byte(`"turn":1,"dice":[1`), 1)
		}
		for name, values := range kept.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(kept.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(liar.Close)
	p := openTab(t, liar.URL)
	p.open("/watch/" + g.MatchID)
	p.until(`document.querySelector('[data-verify=differs]:not([hidden])') !== null`)
	require.Equal(t, "This match does not follow from its seed and answers", p.text("[data-verify] summary"))
	require.Contains(t, eval[string](p, `document.querySelector('[data-verify] li').textContent`), "; expected ")
}
