package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// progress shows how far the steps of a long work are: on a terminal by a bar
// each, with the rate and the time left, else by a line now and then.
type progress struct {
	w        io.Writer
	unit     string
	terminal bool
	step     string
	bar      *progressbar.ProgressBar
	next     time.Time // of a line
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = 30 * time.Second

func newProgress(w io.Writer, unit string) *progress {
	file, isFile := w.(*os.File)
	return &progress{w: w, unit: unit, terminal: isFile && isatty.IsTerminal(file.Fd())}
}

// show tells that a step has done so many of a total, which is 0 where it is
// not known. The last step is ended by finish.
func (p *progress) show(step string, done, total uint64) {
	if step != p.step {
		p.finish()
		p.step, p.next = step, time.Now().Add(lineEvery)
		if p.terminal {
			p.bar = p.newBar(total)
		}
	}
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(int64(done)) // a bar that cannot be drawn is no reason to stop
	case time.Now().After(p.next):
		p.next = time.Now().Add(lineEvery)
		fmt.Fprintf(p.w, "%s: %s\n", step, p.count(done, total))
	}
}

func (p *progress) count(done, total uint64) string {
	if total == 0 {
		return fmt.Sprintf("%d %s", done, p.unit)
	}
	return fmt.Sprintf("%d of %d %s, %d %%", done, total, p.unit, done*100/total)
}

func (p *progress) newBar(total uint64) *progressbar.ProgressBar {
	most := int64(total)
	if total == 0 {
		most = -1 // not known
	}
	return progressbar.NewOptions64(most,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(p.step),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString(p.unit),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetSpinnerChangeInterval(0), // nothing turns while nothing happens
	)
}

// finish ends the line of the bar, wherever it stands.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Exit()
		fmt.Fprintln(p.w)
		p.bar = nil
	}
}
