package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Where there is no terminal a line is written now and then, not a bar.
func TestProgressInALogFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, "events")
		for n := range uint64(70) {
			p.show("survey", n, 0)
			<-time.After(time.Second)
		}
		for n := range uint64(50) {
			p.show("copy", n*2, 200)
			<-time.After(time.Second)
		}
		p.finish()
		require.Equal(t, "survey: 31 events\nsurvey: 62 events\ncopy: 62 of 200 events, 31 %\n", out.String())
	})
}

func TestProgressOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "events")
	p.terminal = true
	p.show("survey", 10, 0)
	p.show("copy", 0, 200)
	p.show("copy", 200, 200)
	p.finish()
	p.finish()
	require.Contains(t, out.String(), "survey")
	require.Contains(t, out.String(), "copy 100%")
	require.Contains(t, out.String(), "(200/200")
	require.True(t, bytes.HasSuffix(out.Bytes(), []byte("\n")))
}
