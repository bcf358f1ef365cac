// Package webtest is for tests in a headless browser. Shoot takes screenshots of a page at
// all sizes at which people should look at it.
package webtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// size is the size of a window or of a frame, in pixels.
type size struct{ width, height int64 }

var (
	windows = []size{{390, 844}, {600, 400}, {768, 1024}, {1024, 768}, {1366, 657}, {1440, 900}, {1920, 1080}}
	embeds  = []size{{320, 240}, {600, 400}, {800, 600}}
)

// tallest is the maximum height of a screenshot, in pixels. Viewers shrink taller pictures
// until nobody can read them.
const tallest = 5000

// Folder returns the folder for screenshots, or "" if nobody wants them.
func Folder() string { return os.Getenv("ARENA_SCREENSHOTS") }

// Shoot writes screenshots of the current page to the folder, in both themes: of the whole
// page at the sizes of windows, or of an embed at the sizes of frames. It changes the
// viewport and the media features of the tab. Without a folder, it does nothing.
func Shoot(tab context.Context, name string) error {
	if Folder() == "" {
		return nil
	}
	if err := os.MkdirAll(Folder(), 0o750); err != nil {
		return err
	}
	embed, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.body.matches(".embed")`))
	if err != nil {
		return err
	}
	sizes := windows
	if embed {
		sizes = embeds
	}
	for _, theme := range []string{"light", "dark"} {
		for _, s := range sizes {
			png, err := shot(tab, s, theme)
			if err != nil {
				return fmt.Errorf("screenshot of %s at %d×%d: %w", name, s.width, s.height, err)
			}
			if err := os.WriteFile(filepath.Join(Folder(), fmt.Sprintf("%s-%d-%s.png", name, s.width, theme)), png, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func shot(tab context.Context, s size, theme string) ([]byte, error) {
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	err := chromedp.Do(tab, chromedp.EmulateViewport(s.width, s.height), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return err
	}))
	if err != nil {
		return nil, err
	}
	// Scripts draw for the new size in the next frame. In kiosks, the page scrolls back.
	height, err := chromedp.Run(tab, chromedp.Evaluate[float64](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
		scrollTo(0, 0);
		done(document.documentElement.scrollHeight);
	})))`, chromedp.EvalAwaitPromise))
	if err != nil {
		return nil, err
	}
	return chromedp.Run(tab, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		taken, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: new(true), OptimizeForSpeed: new(true),
			Clip: &page.Viewport{Width: float64(s.width), Height: min(height, tallest), Scale: 1},
		})
		if err != nil {
			return nil, err
		}
		return taken.Data, nil
	})
}
