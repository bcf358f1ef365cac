// Package progress tells how far a long work is. It knows nothing of the work
// but the names of its steps.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// Display shows how far the steps of a long work are: on a terminal by a bar
// each, with the rate and the time left, else by a line now and then. It is for
// one goroutine at a time.
type Display struct {
	w        io.Writer
	unit     string
	terminal bool
	step     string
	bar      *progressbar.ProgressBar
	next     time.Time // of a line
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = 30 * time.Second

// New shows on w how many of a unit are done; nothing yet.
func New(w io.Writer, unit string) *Display {
	file, isFile := w.(*os.File)
	return &Display{w: w, unit: unit, terminal: isFile && isatty.IsTerminal(file.Fd())}
}

// Show tells that a step has done so many of a total, which is 0 where it is
// not known. The last step is ended by Finish.
func (d *Display) Show(step string, done, total uint64) {
	if step != d.step {
		d.Finish()
		d.step, d.next = step, time.Now().Add(lineEvery)
		if d.terminal {
			d.bar = d.newBar(total)
		}
	}
	switch {
	case d.bar != nil:
		_ = d.bar.Set64(int64(done)) // a bar that cannot be drawn is no reason to stop
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
		most = -1 // not known
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
		progressbar.OptionSetSpinnerChangeInterval(0), // nothing turns while nothing happens
	)
}

// Finish ends the line of the bar, wherever it stands.
func (d *Display) Finish() {
	if d.bar != nil {
		_ = d.bar.Exit()
		fmt.Fprintln(d.w)
		d.bar = nil
	}
}
