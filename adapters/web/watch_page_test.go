package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/projections/frames"
)

// The Tab key reaches every control of the page, and shows which one has the focus.
func TestKeyboardReachesEveryControl(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID + "#100")
	p.until(ready)
	controls := eval[int](p, `(() => {
		globalThis.controls = [...document.querySelectorAll('.watch :is(a[href], button, select, input, summary, textarea, [tabindex="0"])')].filter((e) => e.checkVisibility() && !e.closest('dialog:not([open])') && !e.closest('.log, details:not([open]) > :not(summary)'));
		return controls.length;
	})()`)
	require.Greater(t, controls, 15)
	for range 2 * controls {
		p.do(chromedp.KeyEvent(kb.Tab))
		eval[bool](p, `(() => {
			const at = document.activeElement;
			if (getComputedStyle(at).outlineStyle !== 'none') controls = controls.filter((e) => e !== at);
			return true;
		})()`)
	}
	require.Empty(t, eval[[]string](p, `controls.map((e) => e.outerHTML.slice(0, 120))`), "controls that the Tab key does not reach, or that do not show the focus")
}

// The reader can write the number of an event.
func TestGoToAnEventByItsNumber(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(ready)
	place := func(seq int) string {
		return fmt.Sprintf(`document.querySelector('[data-place]').textContent === '%d / %d'`, seq, g.State.Seq)
	}
	ask := func() { // a synthetic event, because chromedp would also write the letter into the field
		eval[bool](p, `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'g', bubbles: true }))`)
	}
	ask()
	require.Equal(t, "1", eval[string](p, `document.activeElement.value`))
	p.do(chromedp.KeyEvent("123"), chromedp.KeyEvent(kb.Enter))
	p.until(place(123))
	p.do(chromedp.KeyEvent(kb.ArrowRight)) // keys work as before
	p.until(place(124))
	p.do(chromedp.Click(chromedp.CSS("button.place")), chromedp.KeyEvent("7"), chromedp.KeyEvent(kb.Escape))
	require.True(t, eval[bool](p, place(124)), "Escape changes nothing")
	ask()
	p.do(chromedp.KeyEvent("99999"), chromedp.KeyEvent(kb.Enter))
	p.until(place(g.State.Seq))
}

// If the bar is not visible, arrow keys scroll the page.
func TestArrowKeysScrollThePage(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.do(chromedp.EmulateViewport(390, 500))
	p.open("/watch/" + g.MatchID + "#100")
	p.until(ready)
	taken := func() bool {
		return eval[bool](p, `!document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }))`)
	}
	eval[bool](p, `(document.querySelector('.bar').scrollIntoView(), true)`)
	require.True(t, taken(), "the bar is visible")
	eval[bool](p, `(document.querySelector('.charts').scrollIntoView(), true)`)
	require.False(t, taken(), "the bar is out of view")
}

// If several seats owe an answer, the clock runs for all of them.
func TestClockShowsTheSeatsThatOweAnAnswer(t *testing.T) {
	s := newStage(t)
	g := s.seat("Ann", "Bea", "Cat", "Dot")
	for len(g.State.Asks()) < 2 {
		require.False(t, g.State.Over())
		g.Step()
	}
	s.shown(g)
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(ready)
	owed := []int{}
	for _, d := range g.State.Asks() {
		owed = append(owed, d.Seat)
	}
	p.until(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll('[data-seat]')].filter((e) => e.querySelector('[data-slot=clock]').textContent.startsWith('thinking')).map((e) => Number(e.dataset.seat))) === '%s'`, encoded(t, owed)))
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// The page of strikes shows the board of the match pages, with ids and the place that the
// answer names. The key i hides and shows the ids.
func TestStrikesShowTheAttemptOnTheBoard(t *testing.T) {
	played := newStage(t)
	g := played.ended("Ann", "Bea", "Cat", "Dot")
	h, err := frames.Read(t.Context(), played.log, g.MatchID)
	require.NoError(t, err)
	var strikes []frames.Decision
	for seat := range g.State.Started.Seats {
		for _, d := range h.Decisions(seat, nil, match.NewDetails()) {
			if d.Outcome != frames.Played {
				strikes = append(strikes, d)
			}
		}
	}
	require.NotEmpty(t, strikes)
	answer := fmt.Sprintf(`{"id":%d,"action":{"settlement":12,"road":[7],"hex":18,"edges":[3,"x",99]}}`, strikes[0].ID)
	strikes[0].Answer = &answer
	s := newViewer(t)
	s.say("GET /bots/"+botID+"/matches/"+matchID+"/decisions", encoded(t, map[string]any{"decisions": strikes}))
	server := httptest.NewServer(s.web)
	t.Cleanup(server.Close)
	p := openTab(t, server.URL)
	p.open("/bot/" + botID + "/log/" + matchID)
	p.until(fmt.Sprintf(`document.querySelectorAll('[data-position] .hx-island').length === %d`, len(strikes)))
	visible := `document.querySelectorAll('.ids[visibility=visible]').length`
	require.Equal(t, len(strikes), eval[int](p, visible))
	require.Equal(t, "1 polygon, 2 lines, 1 circle", eval[string](p, `(() => {
		const count = (name) => document.querySelector('.attempt').querySelectorAll(name).length;
		return count('polygon') + ' polygon, ' + count('line') + ' lines, ' + count('circle') + ' circle';
	})()`))
	require.Equal(t, len(strikes[0].Request.View.Roads), eval[int](p, `document.querySelector('.hx-island').querySelectorAll('.road').length`))
	p.do(chromedp.KeyEvent("i"))
	require.Zero(t, eval[int](p, visible))
	p.do(chromedp.KeyEvent("i"))
	require.Equal(t, len(strikes), eval[int](p, visible))
}

// The quick start has tabs for the languages. A link into a tab opens it. Every block of
// code has a button to copy it.
func TestGuidesHaveTabsAndCopyButtons(t *testing.T) {
	s := newStage(t)
	p := openTab(t, s.url)
	p.open("/docs/quickstart#go")
	chosen := `[...document.querySelectorAll('[role=tab][aria-selected=true]')].map((e) => e.textContent).join(' ')`
	p.until(chosen + ` === 'Python Go'`) // the kits are only in two languages
	shown := func(id string) bool {
		return eval[bool](p, fmt.Sprintf(`document.getElementById(%q).checkVisibility()`, id))
	}
	require.True(t, shown("go"))
	require.False(t, shown("python"))
	require.True(t, shown("accept-only-the-arena"))
	eval[bool](p, `(document.querySelector('[role=tab][aria-selected=true]').focus(), true)`)
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	require.Equal(t, "TypeScript TypeScript", eval[string](p, chosen))
	require.True(t, shown("typescript"))
	require.Zero(t, eval[int](p, `[...document.querySelectorAll('.prose pre')].filter((e) => !e.parentElement.querySelector('.copy')).length`))
	p.open("/docs/protocol")
	p.until(`document.querySelectorAll('.copy').length > 0`)
	require.Zero(t, eval[int](p, `document.querySelectorAll('[role=tab]').length`))
}

// Without JavaScript, the page shows the last board and the result, and no empty boxes.
func TestWatchPageInABrowserWithoutScript(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}), chromedp.Navigate(s.url+"/watch/"+g.MatchID))
	p.do(chromedp.WaitVisible(chromedp.CSS("noscript img")), chromedp.WaitVisible(chromedp.CSS(".result summary")))
	for _, empty := range []string{".events", ".strip", ".bar", ".charts", ".now"} {
		p.do(chromedp.WaitNotVisible(chromedp.CSS(empty)))
	}
	p.do(chromedp.Click(chromedp.CSS(".result summary")), chromedp.WaitVisible(chromedp.CSS(`[data-slot="sum"]`)))
}
