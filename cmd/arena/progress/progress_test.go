package progress

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// If the output is a log file, the display writes lines instead of a bar.
func TestLogFileGetsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := New(&out, "events")
		for n := range uint64(70) {
			d.Show("survey", n, 0)
			<-time.After(time.Second)
		}
		for n := range uint64(50) {
			d.Show("copy", n*2, 200)
			<-time.After(time.Second)
		}
		d.Finish()
		require.Equal(t, "survey: 31 events\nsurvey: 62 events\ncopy: 62 of 200 events, 31 %\n", out.String())
	})
}

func TestTerminalGetsBars(t *testing.T) {
	var out bytes.Buffer
	d := New(&out, "events")
	d.terminal = true
	d.Show("survey", 10, 0)
	d.Show("copy", 0, 200)
	d.Show("copy", 200, 200)
	d.Finish()
	d.Finish()
	require.Contains(t, out.String(), "survey")
	require.Contains(t, out.String(), "copy 100%")
	require.Contains(t, out.String(), "(200/200")
	require.True(t, bytes.HasSuffix(out.Bytes(), []byte("\n")))
}
