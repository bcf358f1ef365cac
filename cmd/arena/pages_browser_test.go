package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tab is a tab of a headless browser that shows pages of one arena. It collects the
// pages' errors and all requests to other hosts.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string
	weight float64                       // bytes received since the last call of open, without those of frames
	frames map[network.RequestID]float64 // bytes of the frames of matches, by request
}

// newTab starts a browser. If a program is missing, it skips the test and names the
// program.
func newTab(t testing.TB) *tab {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		require.Empty(t, os.Getenv("CI"), "CI installs chromium: make deps")
		t.Skip("needs chromium: run make deps")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, frames: map[network.RequestID]float64{}}
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { // no cache, so that each visit transfers as many bytes as a first visit
		_, err := cdp.Call(ctx, t, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
		return err
	}))
	return b
}

// visit sets the arena whose pages the tab opens.
func (b *tab) visit(base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.base = base
}

// hear handles an event. It runs in the browser's event loop.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && u.Scheme != "about" && u.Scheme+"://"+u.Host != b.base {
			b.faults = append(b.faults, "a request to another host: "+e.Request.URL)
		} else if err == nil && strings.HasSuffix(u.Path, "/frames") {
			b.frames[e.RequestID] = 0
		}
	case *network.EventLoadingFinished:
		if _, ok := b.frames[e.RequestID]; ok {
			b.frames[e.RequestID] = e.EncodedDataLength
		} else {
			b.weight += e.EncodedDataLength
		}
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "an exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			b.faults = append(b.faults, fmt.Sprintf("the console: %v", e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			b.faults = append(b.faults, "the log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// The method do() requires that a series of steps succeeds.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...))
}

// The method open() loads a page of the arena without a cache, as on a first visit.
func (b *tab) open(path string) {
	b.t.Helper()
	b.mu.Lock()
	b.weight, b.frames = 0, map[network.RequestID]float64{}
	b.mu.Unlock()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitReady(chromedp.CSS("main")))
	b.awaitLoad()
}

// submit presses a button that leads to another page, and waits for that page. A
// script finds and presses the button in one step, because the page could replace the
// button between separate steps.
func (b *tab) submit(button string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(button)))
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ document.documentElement.dataset.left = "yes"; document.querySelector(%q).click() }`, button)))
	b.do(chromedp.WaitNotPresent(chromedp.CSS("html[data-left]")), chromedp.WaitReady(chromedp.CSS("main")))
	b.awaitLoad()
}

// awaitLoad waits until the page has its style sheets, because a reader sees nothing before.
// The load event for which Navigate waits may belong to the previous page.
func (b *tab) awaitLoad() {
	b.t.Helper()
	eventually(b.t, "the page is loaded", func() bool { return b.value("document.readyState") == "complete" })
}

// fill writes into a field.
func (b *tab) fill(field, value string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS(field), value))
}

// path returns the path of the current page.
func (b *tab) path() string {
	b.t.Helper()
	at, err := chromedp.Run(b.ctx, chromedp.Location())
	require.NoError(b.t, err)
	return strings.TrimPrefix(at, b.base)
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	b.do(chromedp.WaitReady(chromedp.CSS(selector)))
	said, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q).textContent", selector)))
	require.NoError(b.t, err)
	return said
}

// b.as sets the width of the window and the color scheme.
func (b *tab) as(width int64, theme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}

// The method complaints() returns the browser's errors since the last call, except
// those that the test expects.
func (b *tab) complaints(caused ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, f := range b.faults {
		wanted := false
		for _, c := range caused {
			wanted = wanted || strings.Contains(f, c)
		}
		if !wanted {
			list = append(list, f)
		}
	}
	b.faults = nil
	return list
}

// The method bytes() returns the number of bytes received since the page was opened, and
// those of the frames of matches, which the first number does not include.
func (b *tab) bytes() (page, frames float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.frames {
		frames += n
	}
	return b.weight, frames
}

// axe returns the script of axe-core, which finds accessibility problems. It skips
// the test if the script is missing.
func axe(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	script, err := os.ReadFile(filepath.Join(cache, "hexarena", "npm", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs axe-core: make deps")
		t.Skip("needs axe-core of npm: run make deps")
	}
	return string(script)
}
