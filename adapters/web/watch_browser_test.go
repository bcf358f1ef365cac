package web_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
)

const ready = `document.querySelector('.watch.ready .current') !== null`

// A page follows a match to its end, and then offers the replay.
func TestWatchMatchToItsEnd(t *testing.T) {
	s := newStage(t)
	g := s.seat("Ann", "Bea", "Cat", "Dot")
	g.Play(3)
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(ready)
	p.until(`document.querySelector('[data-part=connection]').dataset.state === 'live'`)
	require.Equal(t, "Turn 3", p.text("[data-part=turn]"))
	require.True(t, eval[bool](p, `document.querySelector('[data-view]').disabled`), "a running match shows no cards")
	require.True(t, eval[bool](p, `document.querySelector('[data-part=result]').hidden`))

	for turn := uint16(4); turn < 20; turn++ {
		g.Play(turn)
	}
	p.until(fmt.Sprintf(`document.querySelector('[data-place]').textContent === '%d / %d'`, g.State.Seq, g.State.Seq))
	require.Equal(t, "Turn 19", p.text("[data-part=turn]"))
	p.until(`document.querySelector('[data-part=say]').textContent !== ''`)
	require.Equal(t, eval[int](p, `document.querySelectorAll('.road:not([visibility=hidden])').length`), roadsOf(g))

	p.do(chromedp.KeyEvent(kb.ArrowLeft))
	require.False(t, eval[bool](p, `document.querySelector('.watch').classList.contains('following')`), "a step back ends following")
	g.Play(24)
	p.until(fmt.Sprintf(`document.querySelector('[data-range]').max === '%d'`, g.State.Seq-1))
	require.Equal(t, "Turn 18", p.text("[data-part=turn]"))
	p.do(chromedp.KeyEvent("l"))
	p.until(`document.querySelector('[data-part=turn]').textContent === 'Turn 24'`)

	g.PlayOut()
	g.Conclude()
	p.until(`document.querySelector('.watch').dataset.status === 'completed'`)
	p.until(`document.querySelector('[data-part=result]').open`)
	require.Contains(t, p.text("[data-part=now]"), "The match ends: ")
	require.Equal(t, fmt.Sprint(g.State.End.Placements[0]), p.text(`[data-result="0"] [data-slot=placement]`))
	require.False(t, eval[bool](p, `document.querySelector('[data-view]').disabled`))
	p.do(chromedp.KeyEvent(kb.Home))
	require.Contains(t, p.text("[data-part=now]"), "The board is set up")
}

// If an operator aborts the match, the page says so.
func TestWatchMatchUntilItIsAborted(t *testing.T) {
	s := newStage(t)
	g := s.seat("Ann", "Bea", "Cat")
	g.Play(3)
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(`document.querySelector('[data-part=connection]').dataset.state === 'live'`)
	g.Abort(match.Operator)
	g.Conclude()
	p.until(`document.querySelector('.watch').dataset.status === 'aborted'`)
	p.until(`document.querySelector('[data-part=result]').open`)
	require.Equal(t, "Aborted by the operator", p.text("[data-part=connection]"))
	p.open("/watch/" + g.MatchID)
	require.Equal(t, "Aborted by the operator. The match has no placements and changes no ratings.", p.text("[data-part=result] p.quiet"))
}

// The page of an ended match replays the match. The reader can use the bar, the
// keys, the turns, the seats and the link to an event. The result stays hidden
// until the reader opens it.
func TestReplayMatch(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(ready)
	place := func() string { return p.text("[data-place]") }
	all := g.State.Seq
	require.Equal(t, fmt.Sprintf("1 / %d", all), place())
	require.Equal(t, 1, eval[int](p, `performance.getEntriesByType('resource').filter((r) => r.name.includes('/frames')).length`), "the first move reads the rest of the frames")
	require.False(t, eval[bool](p, `document.querySelector('[data-part=result]').open`), "the result is closed at first")

	p.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	require.Equal(t, fmt.Sprintf("3 / %d", all), place())
	p.do(chromedp.KeyEvent(kb.ArrowLeft))
	require.Equal(t, fmt.Sprintf("2 / %d", all), place())
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	require.Equal(t, "Turn 2", p.text("[data-part=turn]"))
	p.do(chromedp.KeyEvent(kb.ArrowUp))
	require.Equal(t, "Turn 1", p.text("[data-part=turn]"))

	p.do(chromedp.KeyEvent(kb.End))
	p.until(fmt.Sprintf(`document.querySelector('[data-place]').textContent === '%d / %d'`, all, all))
	require.Equal(t, roadsOf(g), eval[int](p, `document.querySelectorAll('.road:not([visibility=hidden])').length`))
	p.do(chromedp.KeyEvent(kb.Home))
	require.Zero(t, eval[int](p, `document.querySelectorAll('.road:not([visibility=hidden])').length`))

	eval[bool](p, `(() => { const r = document.querySelector('[data-range]'); r.value = 199; return r.dispatchEvent(new Event('input')) })()`)
	require.Equal(t, fmt.Sprintf("200 / %d", all), place())
	p.until(`location.hash === '#200'`)
	current := `document.querySelector('.event.current a')?.textContent`
	p.until(current + ` === '200'`)
	require.NotEqual(t, "205", eval[string](p, `(() => {
		const r = document.querySelector('[data-range]');
		const now = performance.now();
		performance.now = () => now; // the drag is fast, even if the browser is not
		for (const i of [209, 219, 204]) { r.value = i; r.dispatchEvent(new Event('input')); }
		delete performance.now;
		return `+current+`;
	})()`), "the list waits during a drag")
	require.Equal(t, fmt.Sprintf("205 / %d", all), place())
	p.until(current + ` === '205'`)
	p.open("/watch/" + g.MatchID + "#150")
	p.until(ready)
	require.Equal(t, fmt.Sprintf("150 / %d", all), place())

	p.do(chromedp.KeyEvent("2"))
	p.until(`document.querySelectorAll('[data-slot=cards]:not([hidden])').length === 1`)
	p.do(chromedp.KeyEvent("a"))
	p.until(`document.querySelectorAll('[data-slot=cards]:not([hidden])').length === 4`)
	require.True(t, eval[bool](p, `[...document.querySelectorAll('[data-seat]')].every((seat) => {
		const shown = [...seat.querySelectorAll('.chip:not(.chip-dev) span')].reduce((n, e) => n + Number(e.textContent), 0);
		return String(shown) === seat.querySelector('[data-slot=hand]').textContent;
	})`), "the cards of a hand add up to its count")
	p.do(chromedp.KeyEvent("p"))
	p.until(`document.querySelectorAll('[data-slot=cards]:not([hidden])').length === 0`)

	p.do(chromedp.KeyEvent("r"))
	p.until(`document.querySelector('[data-part=result]').open`)
	p.do(chromedp.KeyEvent("?"))
	p.until(`document.querySelector('[data-help]').open`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector('[data-help]').open`)

	p.do(chromedp.KeyEvent(" "))
	p.until(fmt.Sprintf(`!document.querySelector('[data-place]').textContent.startsWith('150 ') && document.querySelector('[data-place]').textContent.endsWith(' / %d')`, all))
	p.do(chromedp.KeyEvent(" "))
	require.Equal(t, "false", eval[string](p, `document.querySelector('[data-do=play]').getAttribute('aria-pressed')`))
}

// The page has descriptions of the board and of events for screen readers. Nothing
// moves if the reader prefers reduced motion.
func TestWatchPageWithScreenReaderAndReducedMotion(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.media("prefers-reduced-motion", "reduce")
	p.open("/watch/" + g.MatchID + "#100")
	p.until(ready)
	p.until(`document.querySelector('.island-land desc').textContent.includes('The bandit is on hex ')`)
	require.Regexp(t, `^Row 1: .* Ports: .* The bandit is on hex \d+, .*Ann: \d+ points?, `, p.text(".island-land desc"))
	for range 20 {
		p.do(chromedp.KeyEvent(kb.ArrowRight))
		require.Zero(t, eval[int](p, `document.getAnimations().length`))
	}
	p.until(`document.querySelector('[data-part=say]').textContent.includes(document.querySelector('[data-part=now]').textContent.split(':')[0])`)
	require.Equal(t, fmt.Sprintf("Event 120 of %d: ", g.State.Seq), eval[string](p, `document.querySelector('[data-range]').getAttribute('aria-valuetext').match(/^.*?: /)[0]`))
	p.until(`document.querySelector('.dice-chart desc').textContent.includes(' rolls. 2: ')`)
}

// The page fetches frames that the stream skipped. It shows each frame once and in
// order.
func TestSkippedFramesAreFetched(t *testing.T) {
	s := newStage(t)
	g := s.seat("Ann", "Bea", "Cat")
	g.Play(2)
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(ready)
	g.Play(9)
	p.until(`document.querySelector('[data-part=turn]').textContent === 'Turn 9'`)
	p.do(chromedp.KeyEvent(kb.ArrowLeft)) // stop following the end
	p.until(fmt.Sprintf(`document.querySelector('[data-range]').max === '%d'`, g.State.Seq-1))
	require.True(t, eval[bool](p, `[...document.querySelectorAll('.event > a')].every((a, i, all) => i === 0 || Number(a.textContent) === Number(all[i - 1].textContent) + 1)`))
}

// If a frame arrives while the page fetches other frames, the page shows it, even
// if no frame follows.
func TestFrameDuringFetchIsShown(t *testing.T) {
	s := newStage(t)
	g := s.seat("Ann", "Bea", "Cat")
	g.Play(2)
	s.shown(g)
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(ready)
	p.receives(fmt.Sprint(g.State.Seq))

	fetching, answer := make(chan struct{}), make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(answer) }))
	s.mu.Lock()
	s.drop = 1
	s.hold = func() { close(fetching); <-answer }
	s.mu.Unlock()
	g.Step()
	g.Step() // the stream skipped the frame before this one
	select {
	case <-fetching:
	case <-p.ctx.Done():
		require.Fail(t, "the page does not fetch the skipped frame")
	}
	g.Step()
	p.receives(fmt.Sprint(g.State.Seq))
	require.True(t, eval[bool](p, `true`)) // the page has handled the event
	answer <- struct{}{}
	p.until(fmt.Sprintf(`document.querySelector('[data-place]').textContent === '%d / %d'`, g.State.Seq, g.State.Seq))
}

// The variable hostile contains names and messages of bots that could break a page.
var hostile = map[string]string{
	"markup":     `<img src=x onerror=alert(1)><script>alert(2)</script>&amp;`,
	"bidi":       "\u202egnirts a\u2066 dna \u200f",
	"zero width": "a\u200b\u200d\ufeffb\u00ad",
	"nul":        "a\x00b\x1b[31m",
	"emoji":      strings.Repeat("🏴‍☠️", 60) + strings.Repeat("e\u0301\u0321", 40),
	"one word":   strings.Repeat("W", 240),
}

// Hostile names and messages do not run as code, and do not break the layout.
func TestHostileNamesAreHarmless(t *testing.T) {
	s := newStage(t)
	p := openTab(t, s.url)
	p.do(chromedp.EmulateViewport(390, 844))
	for what, text := range hostile {
		g := s.ended(text+"1", text+"2", text+"3", text+"4")
		s.mu.Lock()
		s.talk = text
		s.mu.Unlock()
		p.open("/watch/" + g.MatchID + "#250")
		p.until(ready)
		require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), 390, what)
		require.Zero(t, eval[int](p, `document.querySelectorAll('main img, main script:not([src])').length`), what)
		require.LessOrEqual(t, eval[float64](p, `Math.max(...[...document.querySelectorAll('.seat h3, .now, .event b')].map((e) => e.getBoundingClientRect().height))`), 60.0, what)
		require.Positive(t, eval[int](p, `fetch('/matches/`+g.MatchID+`/frames').then((a) => a.json()).then(({ frames }) => location.hash = frames.find((f) => f.talkLog.length > 0).seq)`), what)
		p.until(`document.querySelectorAll('.log q').length > 0`) // talk is shown
	}
}
