package web_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/projections/arenatest"
)

// The type traced is an event in the browser's performance trace. Times are in µs.
type traced struct {
	Name, Ph string
	Ts, Dur  float64
	TDur     float64 // the part of Dur in which the thread had a processor
	Pid, Tid int
}

// trace calls a function, and returns the browser's performance trace during that
// call.
func (p *tab) trace(meanwhile func()) []traced {
	p.t.Helper()
	var mu sync.Mutex
	var events []traced
	complete := make(chan struct{})
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	require.NoError(p.t, chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, v := range e.Value {
				var t traced
				if json.Unmarshal(v, &t) == nil {
					events = append(events, t)
				}
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	}))
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{
			IncludedCategories: []string{"disabled-by-default-devtools.timeline", "devtools.timeline", "blink.user_timing"},
		}})
		return err
	}))
	meanwhile()
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, tracing.End, cdp.Empty{})
		return err
	}))
	select {
	case <-complete:
	case <-p.ctx.Done():
		require.Fail(p.t, "the trace did not end")
	}
	mu.Lock()
	defer mu.Unlock()
	slices.SortFunc(events, func(a, b traced) int { return cmp.Compare(a.Ts, b.Ts) })
	return events
}

// tasksBetween returns the time, in milliseconds, that the page's thread spent in tasks
// between one mark and the next. Tasks are script, style, layout and paint. The result
// busy is the part of that time in which the thread had a processor, so it does not
// depend on other load on the machine.
func tasksBetween(events []traced, mark string) (work, busy []float64) {
	var pid, tid int
	for _, e := range events {
		switch {
		case e.Name == mark && (e.Ph == "I" || e.Ph == "R" || e.Ph == "i"):
			pid, tid = e.Pid, e.Tid
			work, busy = append(work, 0), append(busy, 0)
		case e.Name == "RunTask" && e.Pid == pid && e.Tid == tid && len(work) > 0:
			work[len(work)-1] += e.Dur / 1000
			busy[len(busy)-1] += e.TDur / 1000
		}
	}
	return work, busy
}

func percentile(of []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

// This test prints the cost of a match's page. It checks only the page's size.
func TestFiguresOfTheWatchPage(t *testing.T) {
	s := newStage(t)
	g := s.ended("Ann", "Bea", "Cat", "Dot")
	p := openTab(t, s.url)
	p.open("/watch/" + g.MatchID)
	p.until(ready)
	p.mu.Lock()
	frames := p.bytes["/matches/"+g.MatchID+"/frames"]
	page := p.received - frames
	p.mu.Unlock()
	t.Logf("weight: %.1f KB over the wire, and %.1f KB of frames (%d events)", page/1000, frames/1000, g.State.Seq)
	require.Less(t, page, 150e3)

	var paints []float64
	for range 10 {
		p.open("/watch/" + g.MatchID)
		p.until(`performance.getEntriesByName('first-contentful-paint').length === 1`)
		paints = append(paints, eval[float64](p, `performance.getEntriesByName('first-contentful-paint')[0].startTime`))
	}
	t.Logf("first contentful paint: median of 10 %.0f ms", percentile(paints, 0.5))

	p.open("/watch/" + g.MatchID)
	p.until(ready)
	eval[bool](p, `document.querySelector('[data-range]').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))`)
	requests := 1
	if g.State.Seq > 400 { // a replay opens with 400 frames
		requests = 2
	}
	p.until(fmt.Sprintf(`performance.getEntriesByType('resource').filter((e) => e.name.includes('/frames?') && e.responseEnd > 0).length === %d`, requests))
	eval[bool](p, `new Promise((done) => requestIdleCallback(() => requestAnimationFrame(() => done(true))))`)
	for _, c := range [][2]string{{"one by one", `i + 200`}, {"dragged by 11", `(i * 11) % range.max`}, {"far jumps", `(i * 389) % range.max`}} {
		name, step := c[0], c[1]
		events := p.trace(func() {
			eval[bool](p, fmt.Sprintf(`(async () => {
				const range = document.querySelector('[data-range]');
				for (let i = 0; i < 80; i++) {
					await new Promise(requestAnimationFrame);
					performance.mark('step');
					range.value = %s;
					range.dispatchEvent(new Event('input', { bubbles: true }));
				}
				await new Promise(requestAnimationFrame);
				performance.mark('step');
				return true;
			})()`, step))
		})
		work, busy := tasksBetween(events, "step")
		require.Len(t, work, 81)
		work, busy = work[:80], busy[:80]
		t.Logf("scrub, %s: script, layout and paint p50 %.1f ms, p95 %.1f ms; with a processor p50 %.1f ms, p95 %.1f ms",
			name, percentile(work, 0.5), percentile(work, 0.95), percentile(busy, 0.5), percentile(busy, 0.95))
	}
}

// Twenty matches begin one after another. The open home page adds their boards, and one
// stream feeds them about ten times faster than real matches. Then two matches end at the
// same time, and the others are aborted.
func TestFiguresOfTwentyLiveBoards(t *testing.T) {
	s := newStage(t)
	p := openTab(t, s.url)
	p.open("/")
	p.until(`document.querySelector('[data-connection=live]') !== null`)
	var games []*arenatest.Game
	events := p.trace(func() {
		eval[bool](p, `(performance.mark('boards'), true)`)
		for i := range 20 {
			g := s.seat(fmt.Sprint("Ann ", i), fmt.Sprint("Bea ", i), fmt.Sprint("Cat ", i), fmt.Sprint("Dot ", i))
			g.Play(2)
			games = append(games, g)
		}
		p.until(`document.querySelectorAll('[data-live-boards] .hx-small').length === 20`)
		eval[bool](p, `(() => {
			globalThis.ended = new Set(); // the page removes the boards of ended matches after a while
			new MutationObserver((changes) => {
				for (const { target } of changes) if (target.matches('[data-match].ended')) ended.add(target.dataset.match);
			}).observe(document.querySelector('[data-live-boards]'), { subtree: true, attributeFilter: ['class'] });
			return true;
		})()`)
		for turn := uint16(3); turn < 30; turn++ {
			for _, g := range games {
				g.Play(turn)
			}
			eval[bool](p, `new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true), 50)))`)
		}
		for i, g := range games {
			if i < 2 {
				g.PlayOut()
			} else {
				g.Abort(match.WallClock)
			}
			g.Conclude()
		}
		p.until(`ended.size === 20`)
	})
	require.True(t, eval[bool](p, `[...document.querySelectorAll('.ended .live-turn, .ended bdi')].every((text) => {
		for (let e = text; e; e = e.parentElement) if (getComputedStyle(e).opacity !== '1') return false;
		return true;
	})`), "faded text has too little contrast")
	longest, cpu := 0.0, 0.0
	boards := slices.IndexFunc(events, func(e traced) bool { return e.Name == "boards" })
	require.GreaterOrEqual(t, boards, 0)
	for _, e := range events {
		if e.Name == "RunTask" && e.Pid == events[boards].Pid && e.Tid == events[boards].Tid {
			longest, cpu = max(longest, e.Dur/1000), max(cpu, e.TDur/1000)
		}
	}
	require.Positive(t, longest)
	t.Logf("20 live boards, one stream: longest task %.1f ms, %.1f ms with a processor", longest, cpu)
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, 1, s.streams, "streams")
}
