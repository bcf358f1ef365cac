package web_test

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tab is a page in a headless Chromium. The test fails if the page sends a request
// to another host, or writes an error to the console.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	wrong    []string
	received float64            // number of bytes received over the network
	bytes    map[string]float64 // the same bytes, by path
	paths    map[network.RequestID]string
	streamed string        // id of the newest server-sent event
	came     chan struct{} // closed, and replaced, when an event arrives
}

// chromium returns the path of the browser. If no browser is installed, it
// skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs chromium: run make deps")
	return ""
}

// tabTime is the time limit of a test with a tab. Even on a slow machine, only a
// page that hangs takes this long.
const tabTime = 5 * time.Minute

func openTab(t *testing.T, base string) *tab {
	t.Helper()
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox)
	ctx, cancel := context.WithTimeout(context.Background(), tabTime)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, o...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, base: base, bytes: map[string]float64{}, paths: map[network.RequestID]string{}, came: make(chan struct{})}
	require.NoError(t, chromedp.Listen(ctx, p.hear))
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		return err
	}))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.wrong)
	})
	return p
}

// hear records the browser's events.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.wrong = append(p.wrong, fmt.Sprint("exception: ", e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			p.wrong = append(p.wrong, fmt.Sprint("console: ", e.Args[0]))
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			p.wrong = append(p.wrong, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err == nil && u.Scheme != "data" && u.Scheme != "about" && "http://"+u.Host != p.base {
			p.wrong = append(p.wrong, "another host: "+e.Request.URL)
		}
		p.paths[e.RequestID] = u.Path
	case *network.EventEventSourceMessageReceived:
		p.streamed = e.EventID
		close(p.came)
		p.came = make(chan struct{})
	case *network.EventLoadingFinished:
		p.received += e.EncodedDataLength
		p.bytes[p.paths[e.RequestID]] += e.EncodedDataLength
	}
}

// The method receives() waits until the page has received the server-sent event with
// the given id.
func (p *tab) receives(id string) {
	p.t.Helper()
	for {
		p.mu.Lock()
		streamed, came := p.streamed, p.came
		p.mu.Unlock()
		if streamed == id {
			return
		}
		select {
		case <-came:
		case <-p.ctx.Done():
			require.Fail(p.t, "the page did not receive event "+id)
		}
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// open loads a path, even if the path differs from the current one only in the
// hash. If the previous page has just changed its own address, Navigate returns too early.
// So open waits for the page itself.
func (p *tab) open(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.base+path))
	p.until(`location.href !== 'about:blank' && document.readyState === 'complete'`)
}

// The method until() polls a JavaScript expression and returns once it is true. If the
// browser leaves the page between two polls, the method continues on the next page.
func (p *tab) until(expression string) {
	p.t.Helper()
	for {
		_, err := chromedp.Run(p.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0)))
		if err != nil && (strings.Contains(err.Error(), "Cannot find context") || strings.Contains(err.Error(), "target navigated") || strings.Contains(err.Error(), "context was destroyed")) {
			continue
		}
		require.NoError(p.t, err, expression)
		return
	}
}

// media sets a media feature that the browser reports, such as the preferred
// color scheme.
func (p *tab) media(name, value string) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: value}}})
		return err
	}))
}

// eval returns the value of an expression. If the value is a promise, eval
// returns the promise's result.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return v
}

// text returns the text of an element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}
