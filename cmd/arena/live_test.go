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

	"github.com/stretchr/testify/require"

	"hexarena/projections/matches"
)

// viewer watches a match, and reconnects with the last id that it received.
type viewer struct {
	frames []json.RawMessage
	ids    []int
	end    string
	opened atomic.Int64 // how many streams the arena has opened
}

// watch reads until the stream ends, and returns the reason for the end.
func (v *viewer) watch(ctx context.Context, url string) error {
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
	v.opened.Add(1)
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
	s.join(goodPlayers(t, 4, f)...)
	id := s.awaitRunning().ID
	v := &viewer{}
	watching := func() <-chan error {
		ended := make(chan error, 1)
		url := s.base() + "/live/" + id + "/stream"
		go func() { ended <- v.watch(t.Context(), url) }()
		return ended
	}
	var opened int64
	for _, interrupt := range []func(){
		func() { f.fireAfter(t, 20, func() { s.arena.killAfter(0) }); <-s.arena.exited },
		func() { f.fireAfter(t, 20, func() { s.arena.killAfter(0) }); <-s.arena.exited },
		func() {
			eventually(t, "the stream is open", func() bool { return v.opened.Load() > opened })
			f.fireAfter(t, 20, func() {})
			s.stop()
		},
	} {
		opened = v.opened.Load()
		ended := watching()
		interrupt()
		err := <-ended
		if s.arena.cmd.ProcessState.Success() {
			require.ErrorIs(t, err, io.EOF, "a stop ends streams properly")
		}
		s.start()
	}
	for v.end == "" {
		require.ErrorIs(t, <-watching(), io.EOF)
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
