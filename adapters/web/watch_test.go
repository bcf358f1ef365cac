package web_test

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
)

func get(t *testing.T, url string) (status int, header http.Header, body string) {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, answer.Header, string(b)
}

// Without scripts, the page shows the bots, and the result in a closed
// <details> element.
func TestWatchPageWithoutScript(t *testing.T) {
	s := newStage(t)
	ended := s.ended("Ann", "Bea", "Cat", "Dot")
	running := s.seat("Eve", "<b>Fay</b>", "Gus")

	status, header, body := get(t, s.url+"/watch/"+ended.MatchID)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe")
	for seat, bot := range ended.State.Started.Seats {
		require.Contains(t, body, `<a href="/bot/`+bot.BotID+`"><bdi data-name>`+bot.BotName+`</bdi></a>`)
		require.Contains(t, body, fmt.Sprintf(`<tr data-result="%d"><td data-slot="placement">%d</td>`, seat, ended.State.End.Placements[seat]))
	}
	require.Contains(t, body, `<details class="result" data-part="result">`, "closed")
	require.Contains(t, body, `<a href="/matches/`+ended.MatchID+`/frames">`)
	require.Contains(t, body, `<meta property="og:image" content="`+s.url+`/watch/`+ended.MatchID+`/preview.png">`)
	head, _, _ := strings.Cut(body, "</head>")
	require.NotContains(t, strings.ToLower(head), "place", "the head does not reveal the result")

	_, _, body = get(t, s.url+"/watch/"+running.MatchID)
	require.Contains(t, body, `data-part="result" hidden`)
	require.Contains(t, body, "&lt;b&gt;Fay&lt;/b&gt;")
	require.NotContains(t, body, "<b>Fay")

	status, header, body = get(t, s.url+"/watch/no-such-match")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, body, "<h1>")
}

// A match that was voided before it started has no board. Its page says why.
func TestPageOfAMatchThatNeverStarted(t *testing.T) {
	s := newStage(t)
	g := s.play.Seat(ladder.Standard, s.play.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")...)[0]
	g.Void(ladder.WhyBeacon)
	s.settle()
	status, header, body := get(t, s.url+"/watch/"+g.MatchID)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, body, "The match was voided before it started, because the beacon&#39;s round did not arrive in time")
}

// Other sites may show the page of a match in an iframe, but not the other
// pages of the arena.
func TestOtherSitesMayEmbedMatches(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	_, header, body := get(t, s.url+"/watch/"+g.MatchID+"?embed=1")
	policy := header.Get("Content-Security-Policy")
	require.Contains(t, policy, "frame-ancestors *")
	require.True(t, strings.HasPrefix(policy, "default-src 'none'; "), policy)
	require.Empty(t, header.Get("X-Frame-Options"))
	require.NotContains(t, body, "<header class=\"site\">")
	require.Contains(t, body, `target="_blank" rel="noopener"`)
	for _, path := range []string{"/watch/" + g.MatchID, "/watch/" + g.MatchID + "?embed=0", "/watch/x?embed=1"} {
		_, header, _ = get(t, s.url+path)
		require.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
	}
}

// The function near() reports whether two colors look the same.
func near(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	off := func(x, y uint32) bool { return max(x, y)-min(x, y) > 6<<8 }
	return !off(ar, br) && !off(ag, bg) && !off(ab, bb)
}

// The preview shows the latest board. For an ended match, all requests return the
// same bytes.
func TestPreview(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	status, header, first := get(t, s.url+"/watch/"+g.MatchID+"/preview.png")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "image/png", header.Get("Content-Type"))
	require.Equal(t, "public, max-age=86400", header.Get("Cache-Control"))
	_, _, again := get(t, s.url+"/watch/"+g.MatchID+"/preview.png")
	require.Equal(t, first, again)
	require.Less(t, len(first), 150_000)

	picture, err := png.Decode(bytes.NewReader([]byte(first)))
	require.NoError(t, err)
	require.Equal(t, "(0,0)-(1200,630)", picture.Bounds().String())
	ground := map[string]color.Color{
		"brick": color.RGBA{0xc8, 0x6f, 0x4e, 0xff}, "lumber": color.RGBA{0x5c, 0x93, 0x57, 0xff}, "wool": color.RGBA{0xb3, 0xd0, 0x7f, 0xff},
		"grain": color.RGBA{0xea, 0xc4, 0x5c, 0xff}, "ore": color.RGBA{0x98, 0xa3, 0xb3, 0xff}, "desert": color.RGBA{0xdf, 0xd2, 0xae, 0xff},
	}
	row, x := 0, 0
	rows := []int{3, 4, 5, 4, 3}
	for _, hex := range g.State.View(0).Board.Hexes {
		if x == rows[row] {
			row, x = row+1, 0
		}
		at := [2]int{320 + int(49.36*float64(2*x+5-rows[row]-4)), 315 + (3*row-6)*57/2 - 32}
		require.True(t, near(ground[hex.Resource], picture.At(at[0], at[1])), "hex %d, %s, at %v: %v", hex.ID, hex.Resource, at, picture.At(at[0], at[1]))
		x++
	}

	running := s.seat("Eve", "Fay", "Gus")
	_, header, before := get(t, s.url+"/watch/"+running.MatchID+"/preview.png")
	require.Equal(t, "public, max-age=15", header.Get("Cache-Control"))
	running.Play(10)
	s.shown(running)
	_, _, soon := get(t, s.url+"/watch/"+running.MatchID+"/preview.png")
	require.Equal(t, before, soon, "at most one drawing in 15 s")
	s.pass(15 * time.Second)
	_, _, after := get(t, s.url+"/watch/"+running.MatchID+"/preview.png")
	require.NotEqual(t, before, after, "the preview of a running match changes")
	status, _, _ = get(t, s.url+"/watch/no-such-match/preview.png")
	require.Equal(t, http.StatusNotFound, status)
}

// The preview is a valid picture for every bot name.
func TestPreviewOfHostileNames(t *testing.T) {
	s := newStage(t)
	for what, name := range hostile {
		g := s.seat(name+"1", name+"2", name+"3")
		status, _, body := get(t, s.url+"/watch/"+g.MatchID+"/preview.png")
		require.Equal(t, http.StatusOK, status, what)
		_, err := png.Decode(strings.NewReader(body))
		require.NoError(t, err, what)
	}
}
