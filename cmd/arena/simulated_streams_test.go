package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hexarena/adapters/client"
	"hexarena/cmd/arena/simulate"
	"hexarena/domain/match"
	"hexarena/projections/frames"
)

// streamed is a response that its reader gets while the handler writes it.
type streamed struct {
	response *http.Response
	begun    chan struct{} // closed once the status is known
	begin    func()
	body     *io.PipeWriter
	planted  simulate.Planted
}

func newStreamed(r *http.Request, planted simulate.Planted) *streamed {
	body, w := io.Pipe()
	s := &streamed{response: &http.Response{Request: r, Header: http.Header{}, Body: body, StatusCode: http.StatusOK}, begun: make(chan struct{}), body: w, planted: planted}
	s.begin = sync.OnceFunc(func() { close(s.begun) })
	return s
}

func (s *streamed) Header() http.Header { return s.response.Header }

func (s *streamed) WriteHeader(status int) {
	s.response.StatusCode = status
	s.begin()
}

func (s *streamed) Write(p []byte) (int, error) {
	s.begin()
	switch {
	case s.planted == simulate.PlantLostEvent && bytes.HasPrefix(p, []byte("event: bot.paused")):
		return len(p), nil
	case s.planted == simulate.PlantWrongFrame:
		p = bytes.ReplaceAll(p, []byte(`"phase":"main"`), []byte(`"phase":"over"`))
	case s.planted == simulate.PlantShownData:
		p = bytes.ReplaceAll(p, []byte(`"event":{`), []byte(`"event":{"data":{},`))
	}
	return s.body.Write(p)
}

// Flush implements http.Flusher.
func (s *streamed) Flush() { s.begin() }

// stream passes a call for a stream to the process. The response ends if the process is
// killed, or when the context of the call ends.
func (p *simulatedProcess) stream(r *http.Request) (*http.Response, error) {
	a := p.s.arenaOf(p)
	ctx, cancel := context.WithCancel(r.Context())
	w, done := newStreamed(r, p.s.world.Planted()), make(chan struct{})
	go func() {
		defer cancel()
		select {
		case <-done:
		case <-p.killed:
		case <-ctx.Done():
		}
		w.body.CloseWithError(io.ErrUnexpectedEOF) // the first error stays
	}()
	go func() {
		defer close(done)
		defer w.begin()
		serveLikeHTTP(a.server.Handler, w, r.WithContext(ctx))
		w.body.Close()
	}()
	select {
	case <-w.begun:
		return w.response, nil
	case <-p.killed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// streamRecord is one record of an event stream.
type streamRecord struct{ event, id, data string }

// readRecords calls f with each record of a stream until the stream ends or f returns false.
func readRecords(body io.Reader, f func(streamRecord) bool) {
	var r streamRecord
	for lines := bufio.NewScanner(body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			r.event = value
		case "id":
			r.id = value
		case "data":
			r.data = value
		case "":
			if !f(r) {
				return
			}
			r = streamRecord{}
		}
	}
}

// watch follows the live board of a match for a while, and remembers the frames.
func (s *simulation) watch(ctx context.Context, matchID string) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.world.DrawNow("watch", matchID).Int64N(int64(4*time.Minute))))
	defer cancel()
	path := "/live/" + matchID + "/stream"
	c, err := client.New(client.Options{Base: "http://watcher.arena.example", Header: http.Header{"Accept": {"text/event-stream"}}})
	if err != nil {
		s.failed("%v", err)
		return
	}
	response, err := c.Open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return
	}
	defer response.Body.Close()
	readRecords(response.Body, func(r streamRecord) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.event != "end" && r.data != "" { // the last record contains the result
			s.seen = append(s.seen, sighting{path, r.data})
		}
		if r.event == "frame" {
			s.frames[matchID] = r
			s.judgePublic(ctx, matchID, r.data)
		}
		return true
	})
}

// judgePublic checks that a frame of a running match contains no private data. Only the
// last frame of an ended match may contain all data.
// The caller must hold s.mu.
func (s *simulation) judgePublic(ctx context.Context, matchID, data string) {
	var f struct {
		Seq   int
		Event map[string]any
	}
	err := json.Unmarshal([]byte(data), &f)
	maps.DeleteFunc(f.Event, func(name string, _ any) bool { return slices.Contains([]string{"seq", "at", "kind", "seat"}, name) })
	if err == nil && len(f.Event) == 0 {
		return
	}
	h, readErr := frames.Read(context.WithoutCancel(ctx), s.log.Store(), matchID)
	last := match.Frame{}
	if readErr == nil && h.Ended() {
		last, _ = h.Last(true)
	}
	if f.Seq == 0 || last.Seq != f.Seq {
		s.fail("the live board of %s shows the frame %s (%v)", matchID, data, errors.Join(err, readErr))
	}
}

// judgeRequests checks, for one bot in each match, that the last request it got follows
// from the log. So the request shows no card that the bot may not see.
func (s *simulation) judgeRequests(ctx context.Context, matches []judgedMatch) {
	if s.world.Faults()[simulate.EventsLost] > 0 {
		return // bots may have been asked decisions that were lost
	}
	for _, m := range matches {
		asked := s.asked[m.id]
		h, err := frames.Read(ctx, s.log.Store(), m.id)
		if len(asked) == 0 || err == nil && !h.Ended() {
			continue
		}
		names := slices.Sorted(maps.Keys(asked))
		name := names[s.world.Draw("judged request", m.id).IntN(len(names))]
		var got match.Request
		err = errors.Join(err, json.Unmarshal(asked[name], &got))
		if err != nil {
			s.failed("the last request of %s in %s: %v", name, m.id, err)
			continue
		}
		_, view, _ := bytes.Cut(asked[name], []byte(`"view":`))
		for _, d := range h.Decisions(got.Seat, nil, match.NewDetails()) {
			if d.ID != got.ID {
				continue
			}
			var want []byte
			if d.Request != nil { // nil if the match cannot be replayed
				want = d.Request.View.AppendJSON(nil)
			}
			if !bytes.Equal(bytes.TrimSuffix(view, []byte("}")), want) {
				s.failed("bot %s was asked %s in %s, but should have seen %s", name, asked[name], m.id, want)
			}
		}
	}
}

// judgeFrames checks that the last frame that somebody saw of a live board is in the
// replay. A frame shows the whole board, so one frame of a match is enough.
func (s *simulation) judgeFrames(ctx context.Context) {
	if s.world.Faults()[simulate.EventsLost] > 0 {
		return // live boards may have shown events that were lost
	}
	for _, matchID := range slices.Sorted(maps.Keys(s.frames)) {
		f := s.frames[matchID]
		seq, err := strconv.Atoi(f.id)
		if err != nil {
			s.failed("a frame of the live board of %s has the number %q", matchID, f.id)
		}
		var replay struct{ Frames []json.RawMessage }
		text := s.get(ctx, fmt.Sprintf("/matches/%s/frames?after=%d&limit=1", matchID, seq-1))
		if err := json.Unmarshal(text, &replay); err != nil || len(replay.Frames) != 1 {
			s.failed("the frames of %s: %v: %.200s", matchID, err, text)
		} else if withoutData(string(replay.Frames[0])) != withoutData(f.data) {
			s.failed("the live board of %s showed the frame %s but its replay contains %s", matchID, f.data, replay.Frames[0])
		}
	}
}

// withoutData returns a frame without the data of its event, which only replays show.
func withoutData(text string) string {
	var f map[string]any
	_ = json.Unmarshal([]byte(text), &f) // the comparison fails if the frame is invalid
	if event, ok := f["event"].(map[string]any); ok {
		delete(event, "data")
	}
	return fmt.Sprint(f)
}

// listen follows the owner's events until ctx ends. It connects again if it must.
func (o *simulatedOwner) listen(ctx context.Context) {
	last := "0"
	for o.s.world.Sleep(ctx, time.Second, time.Minute, "listen", o.name) == nil {
		err := o.follow(ctx, last, func(r streamRecord) {
			last = r.id
			if r.event != "" {
				o.events = append(o.events, r.id)
			}
		})
		if ctx.Err() == nil {
			o.s.world.Step("%s hears no more events: %v", o.name, err)
		}
		var refusal *client.Refusal
		if errors.As(err, &refusal) && refusal.Status == http.StatusGone {
			o.s.failed("%s has lost events after %s: %v", o.name, last, err)
		}
	}
}

// follow reads the owner's events after an event.
func (o *simulatedOwner) follow(ctx context.Context, after string, f func(streamRecord)) error {
	o.s.mu.Lock()
	key := &client.Key{ID: o.KeyID, Private: o.Key}
	o.s.mu.Unlock()
	c, err := client.New(client.Options{
		Base: o.Base, Key: key,
		Header: http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {after}},
	})
	if err != nil {
		return err
	}
	response, err := c.Open(ctx, http.MethodGet, "/me/events", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	readRecords(response.Body, func(r streamRecord) bool {
		if r.id != "" {
			f(r)
		}
		return true
	})
	return nil
}
