// Package progress shows the progress of a long task that consists of named steps.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// Display shows the progress of each step. On a terminal, it draws a bar with the
// rate and the remaining time. For other outputs, it prints a line from time to
// time. It is safe for concurrent use.
type Display struct {
	w        io.Writer
	unit     string
	terminal bool

	mu   sync.Mutex // guards the fields below
	step string     // empty if no step is in progress
	bar  *progressbar.ProgressBar
	next time.Time // time of the next line
}

// lineEvery is the time between two lines if the output is not a terminal.
const lineEvery = 30 * time.Second

// New returns a Display that writes to w. The unit names the items that it counts,
// for example "events".
func New(w io.Writer, unit string) *Display {
	file, isFile := w.(*os.File)
	return &Display{w: w, unit: unit, terminal: isFile && isatty.IsTerminal(file.Fd())}
}

// Show shows how many of the total items a step has done. A total of 0 means that
// the total is not known. A new step ends the previous step. Finish ends the last
// step.
func (d *Display) Show(step string, done, total uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if step != d.step {
		d.finish()
		d.step, d.next = step, time.Now().Add(lineEvery)
		if d.terminal {
			d.bar = d.newBar(total)
		}
	}
	switch {
	case d.bar != nil:
		_ = d.bar.Set64(int64(done)) // ignore an error: the work continues without the bar
	case time.Now().After(d.next):
		d.next = time.Now().Add(lineEvery)
		fmt.Fprintf(d.w, "%s: %s\n", step, d.count(done, total))
	}
}

func (d *Display) count(done, total uint64) string {
	if total == 0 {
		return fmt.Sprintf("%d %s", done, d.unit)
	}
	return fmt.Sprintf("%d of %d %s, %d %%", done, total, d.unit, done*100/total)
}

func (d *Display) newBar(total uint64) *progressbar.ProgressBar {
	most := int64(total)
	if total == 0 {
		most = -1 // the library's value for an unknown total
	}
	return progressbar.NewOptions64(most,
		progressbar.OptionSetWriter(d.w),
		progressbar.OptionSetDescription(d.step),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString(d.unit),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetSpinnerChangeInterval(0), // redraw only on Show
	)
}

// Finish ends the current step. A later call to Show begins a new step.
func (d *Display) Finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finish()
}

func (d *Display) finish() {
	d.step = ""
	if d.bar != nil {
		_ = d.bar.Exit()
		fmt.Fprintln(d.w)
		d.bar = nil
	}
}
