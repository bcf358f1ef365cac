package web_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
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
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	s.ended("Eve", "Fay", "Gus")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(`document.querySelector('[data-verify=verified]:not([hidden])') !== null`)
	require.Equal(t, fmt.Sprintf("Verified in your browser: %d events follow from the seed and the answers", g.State.Seq), p.text("[data-verify] summary"))
	told := eval[string](p, `document.querySelector('[data-verify] ul').textContent`)
	for _, want := range []string{"id: 1 correct", "commitment: 1 correct", "board: 1 correct", "dice: ", "signed log: 1 correct", "rating: not checked"} {
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
	p.until(`document.querySelector('[data-verify=verified]:not([hidden])') !== null`)
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
