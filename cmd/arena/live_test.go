package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/projections/matches"
)

// viewer watches a match, and reconnects with the last id that it received.
type viewer struct {
	frames []json.RawMessage
	ids    []int
	end    string
}

// watch reads until the stream ends, and returns the reason for the end. It calls opened
// when the arena has opened the stream.
func (v *viewer) watch(ctx context.Context, url string, opened func()) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	last := 0
	if len(v.ids) > 0 {
		last = v.ids[len(v.ids)-1]
	}
	req.Header.Set("Last-Event-ID", strconv.Itoa(last))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	opened()
	event, id := "", 0
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name == "event":
			event = value
		case name == "id":
			if id, err = strconv.Atoi(value); err != nil {
				return err
			}
		case name == "data" && event == "frame":
			v.frames, v.ids = append(v.frames, json.RawMessage(value)), append(v.ids, id)
		case name == "data":
			v.end = value
		}
	}
}

// The arena is killed and restarted while a viewer watches a match. The viewer
// reconnects with the last id that it received. It receives every frame once, and
// then the end of the match. Its frames are the same as those that /frames returns at
// the end.
func TestViewerSeesEveryFrameThroughKills(t *testing.T) {
	t.Parallel()
	f := &eventTrigger{}
	s := newTestArena(t, quick...)
	s.start()
	players := goodPlayers(t, 4, f)
	// think is how long the bots take for each answer, in nanoseconds. It is so long that
	// the match outlasts the kills, even on a busy machine.
	var think atomic.Int64
	think.Store(int64(250 * time.Millisecond))
	for _, p := range players {
		p.hold = func(*match.Request) { pause(time.Duration(think.Load())) }
	}
	s.join(players...)
	id := s.awaitRunning().ID
	v := &viewer{}
	watching := func() (ended chan error, opened chan struct{}) {
		ended, opened = make(chan error, 1), make(chan struct{})
		url := s.base() + "/live/" + id + "/stream"
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ended <- v.watch(ctx, url, func() { close(opened) })
		}()
		return ended, opened
	}
	for range 2 {
		ended, _ := watching()
		f.fireAfter(t, 20, func() { s.arena.killAfter(0) })
		<-s.arena.exited
		require.Error(t, <-ended)
		s.start()
	}
	ended, opened := watching()
	select {
	case <-opened:
	case err := <-ended:
		require.NoError(t, err, "the stream did not open")
	}
	f.fireAfter(t, 20, func() {})
	s.stop()
	require.ErrorIs(t, <-ended, io.EOF, "a stop ends streams properly")
	require.Empty(t, v.end, "the match is not over")
	think.Store(0)
	s.start()
	for v.end == "" {
		ended, _ := watching()
		require.ErrorIs(t, <-ended, io.EOF)
	}
	var whole struct{ Frames []map[string]any }
	s.get("/matches/"+id+"/frames", &whole)
	require.Len(t, v.frames, len(whole.Frames))
	for i, want := range whole.Frames {
		delete(want["event"].(map[string]any), "data")
		var got map[string]any
		require.NoError(t, json.Unmarshal(v.frames[i], &got))
		require.Equal(t, want, got)
		require.Equal(t, i+1, v.ids[i])
	}
	var told, listed matches.Summary
	require.NoError(t, json.Unmarshal([]byte(v.end), &told))
	s.get("/matches/"+id, &listed)
	require.Equal(t, listed, told)
	require.Equal(t, matches.Completed, told.Status)
}
