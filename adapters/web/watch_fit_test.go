package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// inside reports which of the elements are not visible inside the window.
const inside = `((selectors) => selectors.filter((selector) => {
	const box = document.querySelector(selector).getBoundingClientRect();
	return !(box.width > 0 && box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight + 0.5 && box.right <= innerWidth + 0.5);
}))`

// The board, the scores and the controls are on the first screen, also with long names.
// In an embed, they fill the frame.
func TestBoardScoresAndControlsFit(t *testing.T) {
	s := newStage(t)
	long := strings.Repeat("Long name ", 6)
	g := s.ended(long+"1", long+"2", long+"3", "Dot")
	p := openTab(t, s.url)
	for _, c := range []struct {
		width, height int64
		query         string
		scores        string
	}{
		{1366, 657, "", ".seats ol"},
		{390, 844, "", ".strip"},
		{320, 240, "?embed=1", ".strip"},
		{600, 400, "?embed=1", ".strip"},
		{800, 600, "?embed=1", ".strip"},
		{360, 480, "?embed=1", ".strip"},
	} {
		size := fmt.Sprintf("%d×%d%s", c.width, c.height, c.query)
		p.do(chromedp.EmulateViewport(c.width, c.height))
		p.open("/watch/" + g.MatchID + c.query + "#100")
		p.until(ready)
		require.Empty(t, eval[[]string](p, inside+`(['.hx-island', '`+c.scores+`', '.play', '.controls'])`), size)
		require.Greater(t, eval[float64](p, `document.querySelector('.hx-island').clientHeight`), 130.0, size)
		require.Zero(t, eval[int](p, `[...document.querySelectorAll('.strip li')].filter((li) => li.clientHeight > 0 && li.scrollHeight > li.clientHeight + 1).length`), "a cell of the strip is cut at "+size)
		if c.query != "" {
			require.Empty(t, eval[[]string](p, inside+`(['.whole'])`), size)
			require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollHeight`), int(c.height), size)
		}
	}
}

// The sentence below the board cuts no name that has room, and never its own end.
func TestSentenceFits(t *testing.T) {
	s := newStage(t)
	names := []string{"Ann the Conqueror of Islands", "Bea the Conqueror of Islands", "Cat the Conqueror of Islands"}
	g := s.ended(names...)
	p := openTab(t, s.url)
	for _, size := range [][2]int64{{390, 844}, {600, 400}, {768, 1024}, {1366, 657}} {
		p.do(chromedp.EmulateViewport(size[0], size[1]))
		p.open("/watch/" + g.MatchID + "#2") // the first seat settles
		p.until(ready)
		p.until(`document.querySelector('.now.one') !== null`)
		text := p.text("[data-part=now]")
		require.Regexp(t, `^... the Conqueror of Islands settles on \d+, with a road on \d+$`, text)
		require.True(t, eval[bool](p, `(() => {
			const now = document.querySelector('.now').getBoundingClientRect();
			const range = document.createRange();
			range.selectNodeContents(document.querySelector('.now').lastChild);
			const name = document.querySelector('.now b').getBoundingClientRect();
			return [...range.getClientRects()].every((box) => box.right <= now.right + 1 && box.bottom <= now.bottom + 1 && (box.top > name.top + 12 || box.left >= name.right - 1));
		})()`), size)
		if size[0] == 600 || size[0] == 1366 {
			require.True(t, eval[bool](p, `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.now bdi'))`), "the name is cut at %d", size[0])
		}
	}
}

// No name or number is cut that has room: short names in the title keep their width beside long
// ones, and the result and the statistics have no columns that touch.
func TestNamesAndNumbersFit(t *testing.T) {
	s := newStage(t)
	g := s.ended(strings.Repeat("Long name ", 6), strings.Repeat("W", 30), "Cat", "Dot")
	p := openTab(t, s.url)
	const cut = `((selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.trim()).filter((text) => text.length < 20))`
	for _, size := range [][2]int64{{390, 844}, {600, 400}, {768, 1024}, {1024, 768}, {1366, 657}, {1440, 900}, {1920, 1080}} {
		p.do(chromedp.EmulateViewport(size[0], size[1]))
		p.open(fmt.Sprintf("/watch/%s#%d", g.MatchID, g.State.Seq))
		p.until(ready)
		require.Empty(t, eval[[]string](p, cut+`('h1 bdi, .seat bdi')`), "names at %v", size)
		eval[bool](p, `document.querySelector('.result').open = true`)
		require.Empty(t, eval[[]string](p, cut+`('.result bdi, .result td, .result [data-slot=mark]')`), "results at %v", size)
		require.LessOrEqual(t, eval[int](p, `document.querySelector('.result thead tr').clientHeight`), 30, "a header of the result is broken at %v", size)
		require.Greater(t, eval[float64](p, `Math.min(...[...document.querySelectorAll('.result .sum td:nth-child(2)')].map((e) => e.clientWidth))`), 120.0, "sums at %v", size)
		p.open("/watch/" + g.MatchID + "/statistics?probability=1")
		p.until(graph)
		eval[bool](p, `document.querySelector('#win-probability details').open = true`)
		require.Empty(t, eval[[]string](p, cut+`('.figures-table :is(th, td)')`), "statistics at %v", size)
	}
}

// A click on the marks or on a graph goes to the event under the pointer. The address
// chooses where a replay begins and ends, its speed and its theme.
func TestSeekByClickAndByAddress(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID + "?from=300&to=302&speed=32&theme=dark&seat=1")
	p.until(ready)
	p.until(`document.querySelector('[data-place]').textContent.startsWith('300 ')`)
	p.until(`document.querySelectorAll('[data-slot=cards]:not([hidden])').length === 1`)
	require.Equal(t, "dark", eval[string](p, `document.documentElement.dataset.theme`))
	require.Equal(t, "32", eval[string](p, `document.querySelector('[data-speed]').value`))
	p.do(chromedp.KeyEvent(" "))
	p.until(`document.querySelector('[data-do=play]').getAttribute('aria-pressed') === 'false'`)
	require.Equal(t, fmt.Sprintf("302 / %d", g.State.Seq), p.text("[data-place]"))

	// Each graph is clicked at a quarter of its width. The dice are clicked on the sum 8.
	told := ""
	click := func(selector string, part float64) {
		told = eval[string](p, fmt.Sprintf(`(() => {
			const e = document.querySelector(%q);
			const box = e.getBoundingClientRect();
			const at = { clientX: box.left + box.width * %f, clientY: box.top + box.height / 2, bubbles: true };
			e.dispatchEvent(new PointerEvent('pointermove', at));
			const hint = document.querySelector('.hint');
			const told = hint.hidden ? 'the hint is hidden' : hint.firstChild.textContent.replace(/^\d+: /, '');
			e.dispatchEvent(new MouseEvent('click', at));
			return told;
		})()`, selector, part))
	}
	for _, c := range []struct {
		selector string
		part     float64
	}{{"[data-marks]", 0.25}, {"[data-part=points-chart] .line-chart", 0.4}, {"[data-part=income-chart] .line-chart", 0.7}, {".dice-chart", 0.59}} {
		p.do(chromedp.KeyEvent(kb.End))
		p.until(fmt.Sprintf(`document.querySelector('[data-place]').textContent.startsWith('%d ')`, g.State.Seq))
		click(c.selector, c.part)
		require.NotEqual(t, fmt.Sprintf("%d / %d", g.State.Seq, g.State.Seq), p.text("[data-place]"), c.selector)
		require.Equal(t, told, p.text("[data-part=now]"), c.selector)
		require.Equal(t, 4, eval[int](p, `document.querySelectorAll('.hint-scores b').length`))
	}
	require.Contains(t, p.text("[data-part=now]"), "rolls 8")
	require.GreaterOrEqual(t, eval[float64](p, `Math.min(...[...document.querySelectorAll('.marks path')].map((path) => path.getBBox().height))`), 6.0)

	p.do(chromedp.KeyEvent("i"))
	require.Equal(t, 19+54+72, eval[int](p, `document.querySelectorAll('.ids[visibility=visible] text').length`))
	p.do(chromedp.KeyEvent("i"))
	require.Zero(t, eval[int](p, `document.querySelectorAll('.ids[visibility=visible]').length`))
}

// The result explains the points of each seat. It needs no script.
func TestResultAddsUp(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	_, _, body := get(t, s.url+"/watch/"+g.MatchID)
	for seat, score := range g.State.End.Scores {
		_, row, found := strings.Cut(body, fmt.Sprintf(`<tr class="sum" data-sum="%d"><td></td><td colspan="2" data-slot="sum">`, seat))
		require.True(t, found)
		var settlements, cities, road, army, cards int
		row = strings.ReplaceAll(row, "&nbsp;", " ")
		_, err := fmt.Sscanf(row, "Points: settlements %d, cities %d, longest road %d, largest army %d, cards %d</td>", &settlements, &cities, &road, &army, &cards)
		require.NoError(t, err, row[:80])
		require.Equal(t, score, settlements+cities+road+army+cards)
		require.GreaterOrEqual(t, cards, 0)
		require.Contains(t, body, fmt.Sprintf(`<td data-slot="total">%d</td>`, score))
		require.Regexp(t, `</td><td data-slot="ratings">−?\d+\.\d → −?\d+\.\d</td>`, row)
	}
}
