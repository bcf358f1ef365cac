package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
)

// A call that takes a lot of CPU time counts as several calls, and the arena creates
// each preview image only once.
func TestSecurityHeavyCalls(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t, "--rest-standard", "1h", "--decision-standard", "5m")
	key := f.member(t).newKey(everyScope()...)
	steps := make(chan struct{}) // each value lets the first bot answer once
	reached := make(chan int, 1000)
	for i := range 4 {
		p := newTestBot(t, fmt.Sprint("bot-", i))
		if i == 0 {
			p.hold = func(r *match.Request) { reached <- r.ID; <-steps }
		}
		key.do("POST", "/bots", map[string]string{"name": p.name, "mode": "standard", "url": p.url}).is(201)
	}
	f.stop()
	f.start("--tick", "250ms") // seats all four bots at one table
	defer close(steps)
	<-reached
	running := f.awaitRunning()
	id := running.ID
	target := "/watch/" + id + "/preview.png"
	first, begun := f.anonymous(t), time.Now()
	drawn := first.do("GET", target, nil).is(200)
	require.Equal(t, "image/png", drawn.header.Get("Content-Type"))
	require.Equal(t, 600-15, remaining(drawn))
	require.Equal(t, 600-15-1, remaining(first.do("GET", target, nil).is(200)))
	var readers sync.WaitGroup
	for range 30 {
		c := f.anonymous(t)
		readers.Go(func() {
			got, err := c.try(t.Context(), "GET", target, nil)
			if err != nil || !bytes.Equal(got.body, drawn.body) || remaining(got) != 600-1 {
				t.Error("the picture is drawn again", err)
			}
		})
	}
	readers.Wait()
	steps <- struct{}{}
	<-reached // the board has changed
	if again := first.do("GET", target, nil).is(200); time.Since(begun) < 15*time.Second {
		require.True(t, bytes.Equal(drawn.body, again.body), "the preview is drawn again within 15 s")
	}

	c, left := f.anonymous(t), 600
	for _, call := range []struct {
		target string
		counts int
	}{
		{"/ladder/standard/events", 1}, {"/ladder/standard/events?limit=500", 2}, {"/matches/" + id + "/frames", 1},
		{"/bot/" + running.Players[0].BotID, 5},
	} {
		got := remaining(c.do("GET", call.target, nil).is(200))
		require.Equal(t, call.counts, left-got, call.target)
		left = got
	}
}

var remainingPattern = regexp.MustCompile(`"all";r=(\d+)`)

// The function remaining() returns the number of calls that the caller has left in this
// minute.
func remaining(r *reply) int {
	found := remainingPattern.FindStringSubmatch(r.header.Get("RateLimit"))
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}
