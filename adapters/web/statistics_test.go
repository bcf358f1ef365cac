package web_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/stats"
	"hexarena/projections/arenatest"
)

// tables returns the cells of the tables on a page, by the id of the table and the header of
// the row.
func tables(t *testing.T, page string) map[string]map[string][]string {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	all := map[string]map[string][]string{}
	for table := range tree.Descendants() {
		if table.Data != "table" {
			continue
		}
		rows := map[string][]string{}
		for row := range table.Descendants() {
			if row.Data != "tr" || row.Parent.Data != "tbody" {
				continue
			}
			name, cells := "", []string{}
			for cell := range row.ChildNodes() {
				switch cell.Data {
				case "th":
					require.Equal(t, "row", attribute(cell, "scope"))
					name = content(cell)
				case "td":
					cells = append(cells, content(cell))
				}
			}
			rows[name] = cells
		}
		all[attribute(table, "id")] = rows
	}
	return all
}

// content returns the text of an element with single spaces.
func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// The page shows the numbers of the API. It needs no script.
func TestStatisticsPageShowsTheNumbersOfTheAPI(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	_, _, body := get(t, s.url+"/matches/"+g.MatchID+"/statistics")
	var of rest.MatchStatistics
	require.NoError(t, json.Unmarshal([]byte(body), &of))
	_, _, match := get(t, s.url+"/watch/"+g.MatchID)
	require.Contains(t, match, `href="/watch/`+g.MatchID+`/statistics"`)
	status, header, page := get(t, s.url+"/watch/"+g.MatchID+"/statistics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, page, fmt.Sprintf("%d turns", of.Turns))
	shown := tables(t, page)

	require.Len(t, shown["dice"], 11)
	for _, d := range of.Dice {
		require.Equal(t, []string{strconv.Itoa(d.Count), fmt.Sprintf("%.1f", float64(d.Expected36)/36), ""}, shown["dice"][strconv.Itoa(d.Total)])
	}
	with := func(sign string, n int) string {
		if n == 0 {
			return "0"
		}
		return strings.ReplaceAll(fmt.Sprintf(sign+"%d", n), "+-", "−")
	}
	cards := func(x float64) string {
		text := strings.Replace(fmt.Sprintf("%+.1f", math.Round(10*x)/10), "-", "−", 1)
		return strings.NewReplacer("+0.0", "±0", "−0.0", "±0").Replace(text)
	}
	for i, seat := range of.Seats {
		paid := func(of func(stats.Totals) int) string {
			return fmt.Sprintf("%d , expected %.1f", of(seat.Received), float64(of(seat.Expected36))/36)
		}
		for id, rows := range map[string]map[string]string{
			"result": {"Points": strconv.Itoa(g.State.End.Scores[i]), "Place": [...]string{"1st", "2nd", "3rd", "4th"}[g.State.End.Placements[i]-1]},
			"production": {
				"Brick": paid(func(t stats.Totals) int { return t.Brick }), "Lumber": paid(func(t stats.Totals) int { return t.Lumber }),
				"Wool": paid(func(t stats.Totals) int { return t.Wool }), "Grain": paid(func(t stats.Totals) int { return t.Grain }),
				"Ore": paid(func(t stats.Totals) int { return t.Ore }), "All cards": paid(stats.Totals.Sum), "Blocked by bandit": strconv.Itoa(seat.Blocked.Sum()),
				"Luck index in 36ths": with("+", seat.Luck36), "Luck index": cards(seat.Luck),
			},
			"cards": {
				"Lost to sevens": with("−", seat.Discarded), "Stolen by others": with("−", seat.Stolen),
				"Stolen from others": with("+", seat.Stole), "At the end": strconv.Itoa(seat.CardsAtEnd),
			},
			"trades": {
				"Offers made": strconv.Itoa(seat.PlayerTrades.Offers), "Offers traded": strconv.Itoa(seat.PlayerTrades.Completed),
				"Offers accepted": strconv.Itoa(seat.PlayerTrades.Accepted), "Offers declined": strconv.Itoa(seat.PlayerTrades.Declined),
				"Trades with seats": strconv.Itoa(seat.PlayerTrades.Trades), "Balance with seats": with("+", seat.PlayerTrades.Balance),
				"Trades with bank": strconv.Itoa(seat.BankTrades.Trades), "Balance with bank": with("+", seat.BankTrades.Balance),
			},
			"time": {"Decisions": strconv.Itoa(seat.Decisions), "Seconds used": fmt.Sprintf("%.1f", float64(seat.ThinkingMs)/1000)},
		} {
			for name, want := range rows {
				require.Equal(t, want, shown[id][name][i], "%s: %s of seat %d", id, name, i)
			}
		}
		sum := 0
		for name, cells := range shown["cards"] {
			n, err := strconv.Atoi(strings.Replace(cells[i], "−", "-", 1))
			require.NoError(t, err)
			if name != "At the end" {
				sum += n
			}
		}
		require.Equal(t, seat.CardsAtEnd, sum, "the cards of seat %d add up", i)
	}
}

// Only an ended match has statistics. The page of any other match says why.
func TestStatisticsPageOfOtherMatches(t *testing.T) {
	s := newStage(t)
	running := s.seat("Eve", "Fay", "Gus")
	status, header, body := get(t, s.url+"/watch/"+running.MatchID+"/statistics")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, body, "The match is still running: wait until it has ended.")
	_, _, body = get(t, s.url+"/watch/"+running.MatchID)
	require.NotContains(t, body, "Statistics of this match")
	running.Play(3)
	running.Abort(match.Operator)
	running.Conclude()
	s.settle()
	status, _, body = get(t, s.url+"/watch/"+running.MatchID+"/statistics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "aborted by the operator")
	shown := tables(t, body)
	require.NotContains(t, shown, "result")
	require.Contains(t, shown, "dice")

	status, _, body = get(t, s.url+"/watch/none/statistics")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "This page does not exist")
	voided := s.play.Seat(ladder.Standard, s.play.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")...)[0]
	voided.Void(ladder.WhyBeacon)
	s.settle()
	status, _, body = get(t, s.url+"/watch/"+voided.MatchID+"/statistics")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "The match was voided before it started")
}

// The arena computes the win probability only on request. The request counts against the
// reader's limits. If the arena refuses, the page says why.
func TestWinProbabilityOnRequest(t *testing.T) {
	s := newSite(t)
	path := "/watch/" + matchID + "/statistics"
	const compute = "Compute the win probability"
	s.is(s.get(path), http.StatusOK, compute)
	require.Equal(t, 5, s.counted, "the page counts as")
	for _, c := range s.calls {
		require.False(t, c.Counted, c.Target)
	}
	for code, status := range map[string]int{"busy": http.StatusServiceUnavailable, "rate_limited": http.StatusTooManyRequests} {
		s.refuse("GET /matches/"+matchID+"/win-probability", status, code, nil)
		page := s.get(path + "?probability=1")
		s.is(page, http.StatusOK, "A sentence about "+code+".", "Try again</a>", `role="alert"`)
		require.NotContains(t, page.text, compute)
	}
	s.say("GET /matches/"+matchID+"/win-probability", `{"matchId":"`+matchID+`","playouts":200,"outlooks":[
		{"turn":0,"seq":1,"wins":[0.5,0.5],"error":[0.035,0.035]},{"turn":1,"seq":9,"wins":[0.755,0.245],"error":[0.03,0.03]},{"turn":1,"seq":30,"wins":[1,0],"error":[0,0]}]}`)
	s.calls = nil
	page := s.get(path + "?probability=1")
	require.Zero(t, s.turns, "the page gives up its turn")
	s.is(page, http.StatusOK, "200 times", `<a href="/watch/`+matchID+`#1">Setup</a>`, `<a href="/watch/`+matchID+`#10">Turn 1</a>`, `<a href="/watch/`+matchID+`#30">End</a>`)
	require.Equal(t, []string{"76 ± 3", "24 ± 3"}, tables(t, page.text)[""]["Turn 1"])
	counted := 0
	for _, c := range s.calls {
		if c.Counted {
			counted++
			require.Equal(t, "/matches/"+matchID+"/win-probability", c.Target)
		}
	}
	require.Equal(t, 1, counted)
	s.is(s.get("/robots.txt"), http.StatusOK, "Disallow: /*?probability=1")
}

// The pages and the board show the same marks.
func TestMarksOfSeats(t *testing.T) {
	s := newSite(t)
	page := s.get("/watch/" + matchID + "/statistics")
	art, err := os.ReadFile("static/board-art.mjs")
	require.NoError(t, err)
	marks := regexp.MustCompile(`class="mark seat-\d" aria-hidden="true"><path d="([^"]+)"`).FindAllStringSubmatch(page.text, -1)
	require.NotEmpty(t, marks)
	for _, mark := range marks {
		require.Contains(t, string(art), "'"+mark[1]+"'")
	}
}

const graph = `document.querySelector('#win-probability .line-chart') !== null`

// compute lets the arena compute the win probability, with the keyboard.
func (p *tab) compute() {
	p.t.Helper()
	p.do(chromedp.Focus(chromedp.CSS("[data-compute]")), chromedp.KeyEvent(kb.Enter))
	p.until(graph)
}

// computed opens the statistics of an ended match with its win probability.
func computed(t *testing.T) (*arenatest.Game, *tab) {
	t.Helper()
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID + "/statistics")
	p.compute()
	return g, p
}

// The graph shows the chances under the pointer. A click goes to that turn in the replay,
// and so does a link of the table, with the keyboard.
func TestWinProbabilityGraphLeadsToTurns(t *testing.T) {
	g, p := computed(t)
	require.Contains(t, eval[string](p, `location.search`), "probability=1", "the graph has an address")
	turns := int(g.State.Game.Turn)
	require.Equal(t, turns+2, eval[int](p, `document.querySelectorAll('#win-probability tbody tr').length`), "the setup, all turns and the end")
	require.Equal(t, []string{"4", "4", "20"}, eval[[]string](p, `['.line', '.band', '.along'].map((c) => String(document.querySelectorAll('#win-probability ' + c).length))`))
	const at = `(() => {
		const chart = document.querySelector('.line-chart');
		const box = chart.getBoundingClientRect();
		const x = box.left + box.width * (52 + 420 * %d / %d) / 486;
		const at = { clientX: x, clientY: box.top + box.height / 2, bubbles: true };
		chart.dispatchEvent(new PointerEvent('pointermove', at));
		const told = document.querySelector('.hint').innerText;
		if (%t) chart.dispatchEvent(new MouseEvent('click', at));
		return told;
	})()`
	for _, seat := range g.State.Started.Seats {
		require.Contains(t, p.text("#win-probability figcaption"), seat.BotName)
	}
	turn := turns / 2
	told := eval[string](p, fmt.Sprintf(at, turn, turns+1, true))
	require.Regexp(t, fmt.Sprintf(`^Turn %d\n\s*\d+%% ± \d+\n`, turn), told)
	p.until(ready)
	require.Equal(t, fmt.Sprintf("Turn %d", turn), p.text("[data-part=turn]"))
	require.Contains(t, p.text("[data-part=now]"), " rolls ")

	p.open("/watch/" + g.MatchID + "/statistics?probability=1")
	p.until(graph)
	require.Regexp(t, "^End\n", eval[string](p, fmt.Sprintf(at, turns+1, turns+1, false)))
	p.do(chromedp.Focus(chromedp.CSS("#win-probability summary")), chromedp.KeyEvent(kb.Enter))
	p.until(`document.querySelector('#win-probability details').open`)
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Turn 1", eval[string](p, `document.activeElement.textContent`))
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until(ready)
	require.Equal(t, "Turn 1", p.text("[data-part=turn]"))
}

// With the keyboard, a slider moves over the turns of the graph, and Enter opens the turn.
func TestWinProbabilityGraphByKeyboard(t *testing.T) {
	g, p := computed(t)
	const slider = "#win-probability input[type=range]"
	value := func() string {
		return eval[string](p, fmt.Sprintf(`document.querySelector(%q).ariaValueText`, slider))
	}
	// hint returns its first line, and whether it is above the thumb of the slider.
	hint := func() string {
		return eval[string](p, fmt.Sprintf(`(() => {
			const hint = document.querySelector('.hint');
			if (hint.hidden) return 'hidden';
			const range = document.querySelector(%q);
			const box = range.getBoundingClientRect();
			const thumb = box.left + 8 + (box.width - 16) * range.value / range.max;
			const { left, right } = hint.getBoundingClientRect();
			return hint.firstChild.textContent + (left <= thumb && thumb <= right ? '' : ', away from the thumb');
		})()`, slider))
	}
	focused := func() bool { return eval[bool](p, fmt.Sprintf(`document.activeElement.matches(%q)`, slider)) }
	require.Regexp(t, `^End: .*100%`, value())
	require.Equal(t, "hidden", hint())
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	require.True(t, focused(), "the slider is right after the link to the definition")
	require.NotEqual(t, "none", eval[string](p, `getComputedStyle(document.activeElement).outlineStyle`), "the focus is visible")
	require.Equal(t, "End", hint())

	turns := int(g.State.Game.Turn)
	p.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft))
	require.Equal(t, fmt.Sprint("Turn ", turns-1), hint())
	require.Regexp(t, fmt.Sprintf(`^Turn %d: (\w+ \d+%%, ){3}\w+ \d+%%$`, turns-1), value())
	p.do(chromedp.KeyEvent(kb.Home))
	require.Equal(t, "Setup", hint())
	for range 3 {
		p.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	require.Equal(t, "Turn 3", hint())
	tips := `[...document.querySelectorAll('#win-probability .tip')].map((tip) => tip.style.transform.split(',')[0])`
	x := fmt.Sprintf("translate(%gpx", math.Round(10*420*3/float64(turns+1))/10)
	require.Equal(t, []string{x, x, x, x}, eval[[]string](p, tips), "the marks of the seats are at the turn")
	p.do(chromedp.KeyEvent(kb.Tab))
	require.False(t, focused())
	require.Equal(t, "hidden", hint())
	p.do(chromedp.Focus(chromedp.CSS(slider)), chromedp.KeyEvent(kb.Enter))
	p.until(ready)
	require.Equal(t, "Turn 3", p.text("[data-part=turn]"))
	require.Contains(t, p.text("[data-part=now]"), " rolls ")
}

// While the arena is busy, the page says so, and the reader can try again.
func TestWinProbabilityWhileTheArenaIsBusy(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat")
	busy := func(on bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = on
	}
	busy(true)
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID + "/statistics")
	p.do(chromedp.Focus(chromedp.CSS("[data-compute]")), chromedp.KeyEvent(kb.Enter))
	p.until(`document.querySelector('#win-probability .notice')?.textContent === 'The arena computes the win probability of another match: try again.'`)
	require.Equal(t, "win-probability", eval[string](p, `document.activeElement.id`), "the focus stays in the section")
	require.Equal(t, "Try again", p.text("[data-compute]"))
	require.False(t, eval[bool](p, graph))
	busy(false)
	p.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Try again", eval[string](p, `document.activeElement.textContent`))
	p.compute()
}

// If the reader hides results, the page shows only the dice.
func TestStatisticsWithoutResults(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat")
	p := openTab(t, s.url)
	visible := func() []string {
		return eval[[]string](p, `[...document.querySelectorAll('main table, main .unless-shown, main #win-probability')].filter((e) => e.checkVisibility()).map((e) => e.id || e.className)`)
	}
	p.open("/watch/" + g.MatchID + "/statistics")
	require.Equal(t, []string{"result", "win-probability", "dice", "production", "cards", "trades", "time"}, visible())
	p.do(chromedp.Click(chromedp.CSS(`.spoilers [value="hide"]`)))
	require.Equal(t, []string{"notice unless-shown", "dice"}, visible())
	p.open("/watch/" + g.MatchID + "/statistics")
	require.Equal(t, []string{"notice unless-shown", "dice"}, visible())
}
