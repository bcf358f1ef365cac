package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/arenatest"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// The type followed is a log that records the progress of its subscriber.
type followed struct {
	eventstore.Log
	mu    sync.Mutex
	at    eventstore.Position // the subscriber has handled all events up to this position
	moved chan struct{}       // closed and replaced when the field at changes
}

// Subscribe records an event as handled when the subscriber asks for the next
// message.
func (f *followed) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		f.reach(after)
		for m, err := range f.Log.Subscribe(ctx, after, filter) {
			if !yield(m, err) {
				return
			}
			if m.Event != nil {
				f.reach(m.Event.Position)
			}
		}
	}
}

func (f *followed) reach(p eventstore.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = p
	close(f.moved)
	f.moved = make(chan struct{})
}

// wait returns once the subscriber has handled the event at a position.
func (f *followed) wait(p eventstore.Position) {
	for {
		f.mu.Lock()
		at, moved := f.at, f.moved
		f.mu.Unlock()
		if at >= p {
			return
		}
		<-moved
	}
}

// newBoards starts live boards on the read models of the arena a, wired like the real
// ones in cmd. Call it before the first event is stored.
func newBoards(a *arena) {
	list := a.read.runners[0]
	a.boards = &followed{Log: a.log, moved: make(chan struct{})}
	a.live = live.New(live.Options{
		Log: a.boards, Logger: slog.New(slog.DiscardHandler),
		Running: func(ctx context.Context) ([]string, error) {
			if err := list.Sync(ctx); err != nil {
				return nil, err
			}
			var ids []string
			page, _, _, err := a.read.list.List(matches.Query{Status: matches.Running, Limit: matches.Reachable})
			for _, m := range page {
				ids = append(ids, m.ID)
			}
			return ids, err
		},
		Ended: func(ctx context.Context, id string, at eventstore.Position) (matches.Summary, error) {
			if err := list.Wait(ctx, at); err != nil {
				return matches.Summary{}, err
			}
			m, _, err := a.read.list.Get(id)
			return m, err
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var ran sync.WaitGroup
	ran.Go(func() { a.live.Run(ctx) })
	a.t.Cleanup(func() { cancel(); ran.Wait() })
	require.NoError(a.t, a.live.Ready(a.t.Context()))
}

// The method shown() waits until the live boards show the current state of the games.
// It also waits until the boards have dropped every match that the match list shows as
// ended.
func (s *spectated) shown(games ...*arenatest.Game) {
	s.t.Helper()
	s.boardsFollow()
	for _, g := range games {
		require.True(s.t, s.live.Await(s.t.Context(), g.MatchID))
		r, ok := s.live.Watch(g.MatchID, -1)
		require.True(s.t, ok)
		for seq := 0; seq < g.State.Seq; {
			records, more, ended := r.Take()
			require.False(s.t, ended)
			for _, b := range records {
				seq = parseRecord(s.t, string(b)).seq
			}
			if seq < g.State.Seq {
				<-more
			}
		}
	}
}

// boardsFollow waits until the live boards have handled every event of the log and
// have dropped every ended match.
func (s *spectated) boardsFollow() {
	s.t.Helper()
	var newest eventstore.Position
	for r, err := range s.log.ReadAll(s.t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(s.t, err)
		_, ofLadder := ladder.ModeOf(string(r.Stream))
		if ofLadder || strings.HasPrefix(string(r.Stream), match.StreamPrefix) {
			newest = r.Position
		}
	}
	s.boards.wait(newest)
	for _, m := range s.live.List("") {
		listed, found, err := s.read.list.Get(m.ID)
		require.NoError(s.t, err)
		if !found || listed.Status == matches.Running {
			continue
		}
		r, ok := s.live.Watch(m.ID, -1)
		for ok {
			_, more, ended := r.Take()
			if ended {
				break
			}
			<-more
		}
	}
}

// sse is one server-sent event.
type sse struct {
	event, data string
	seq         int // the event's id; 0 if it has none
}

func parseRecord(t require.TestingT, text string) sse {
	var e sse
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		name, value, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		switch name {
		case "event":
			e.event = value
		case "data":
			e.data = value
		case "id":
			var err error
			e.seq, err = strconv.Atoi(value)
			require.NoError(t, err)
		default:
			require.Fail(t, line)
		}
	}
	return e
}

// listener reads a stream.
type listener struct {
	*http.Response
	t     testing.TB
	lines *bufio.Reader
	stop  func()
}

// listen opens a stream.
func (a *arena) listen(target string, edit ...func(*http.Request)) *listener {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+target, nil)
	require.NoError(a.t, err)
	for _, e := range edit {
		e(r)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(a.t, err)
	l := &listener{response, a.t, bufio.NewReader(response.Body), cancel}
	a.t.Cleanup(func() { cancel(); response.Body.Close() })
	return l
}

// The method next() returns the next event, or io.EOF.
func (l *listener) next() (sse, error) {
	var text strings.Builder
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return sse{}, err
		}
		if line != "\n" && !strings.HasPrefix(line, ":") {
			text.WriteString(line)
			continue
		}
		if text.Len() > 0 {
			return parseRecord(l.t, text.String()), nil
		}
	}
}

// The method must() returns the next event. It fails the test if the stream has ended.
func (l *listener) must() sse {
	l.t.Helper()
	e, err := l.next()
	require.NoError(l.t, err)
	return e
}

// The method over() checks that the stream ends without another event.
func (l *listener) over() {
	l.t.Helper()
	_, err := l.next()
	require.ErrorIs(l.t, err, io.EOF)
}

// lastFrame returns a match's last frame in /frames, as JSON.
func (s *spectated) lastFrame(g *arenatest.Game) string {
	s.t.Helper()
	return string(last(s.frames(g)))
}

func last[T any](list []T) T { return list[len(list)-1] }

// The method frames() returns all frames in /frames, as JSON.
func (s *spectated) frames(g *arenatest.Game) []json.RawMessage {
	s.t.Helper()
	var page struct{ Frames []json.RawMessage }
	require.NoError(s.t, json.Unmarshal(s.get("/matches/"+g.MatchID+"/frames").is(http.StatusOK).body, &page))
	return page.Frames
}

func TestLiveList(t *testing.T) {
	s := newSpectated(t)
	s.shown(s.unrated, s.unvoid, s.running)
	listed := func(query string) (ids []string) {
		page := s.get("/live" + query).is(http.StatusOK)
		require.NoError(t, object(map[string]shape{"matches": list(object(with(summary("running"), map[string]shape{"turn": many, "scores": bySeat})))})(page.json))
		for _, m := range page.json["matches"].([]any) {
			ids = append(ids, m.(map[string]any)["id"].(string))
		}
		return ids
	}
	require.Equal(t, []string{s.running.MatchID, s.unvoid.MatchID, s.unrated.MatchID}, listed(""))
	require.Equal(t, []string{s.running.MatchID, s.unvoid.MatchID}, listed("?mode=standard"))
	require.Equal(t, []string{s.unrated.MatchID}, listed("?mode=parley"))
	first := s.get("/live").json["matches"].([]any)[0].(map[string]any)
	inMatches := s.get("/matches?limit=1").json["matches"].([]any)[0].(map[string]any)
	require.Equal(t, float64(s.running.State.Game.Turn), first["turn"])
	require.Equal(t, "no-store", s.get("/live").header.Get("Cache-Control"))
	delete(first, "turn")
	delete(first, "scores")
	require.Equal(t, inMatches, first, "the list is the same as in /matches")
	s.get("/live?mode=chess").is(http.StatusUnprocessableEntity, "invalid").names("mode")
	s.get("/live?status=running").is(http.StatusUnprocessableEntity, "invalid").names("status")
}

// The newest frame is the last frame of /frames, even after the match has ended.
func TestNewestFrame(t *testing.T) {
	s := newSpectated(t)
	s.shown(s.running, s.unrated)
	for _, g := range []*arenatest.Game{s.running, s.unrated, s.four, s.aborted} {
		require.Equal(t, s.lastFrame(g), string(s.get("/live/"+g.MatchID).is(http.StatusOK).body))
	}
	s.get("/live/"+s.seated.MatchID).is(http.StatusNotFound, "not_found")
	s.get("/live/none").is(http.StatusNotFound, "not_found")
	s.get("/live/none/stream").is(http.StatusNotFound, "not_found")
	s.get("/live/"+s.four.MatchID+"?seat=0").is(http.StatusUnprocessableEntity, "invalid").names("seat")
}

// A stream sends each frame of /frames as soon as the frame exists, and then the
// end of the match.
func TestMatchStream(t *testing.T) {
	s := newSpectated(t)
	g := s.running
	s.shown(g)
	l := s.listen("/live/" + g.MatchID + "/stream")
	require.Equal(t, "text/event-stream", l.Header.Get("Content-Type"))
	require.Equal(t, "no-store, no-transform", l.Header.Get("Cache-Control"))
	require.Equal(t, "nosniff", l.Header.Get("X-Content-Type-Options"))
	require.Empty(t, l.Header.Get("Content-Encoding"))
	require.Equal(t, sse{"frame", s.lastFrame(g), g.State.Seq}, l.must())
	for !g.State.Over() {
		from := g.State.Seq
		g.Step()
		if g.State.Seq > 400 {
			g.Abort(match.Operator)
		}
		for seq := from + 1; seq <= g.State.Seq; seq++ {
			e := l.must()
			require.Equal(t, seq, e.seq)
			require.Equal(t, "frame", e.event)
			if seq == g.State.Seq && seq < from+3 && seq%10 == 0 {
				require.Equal(t, s.lastFrame(g), e.data)
			}
		}
	}
	g.Conclude()
	s.read.sync()
	e := l.must()
	require.Equal(t, "end", e.event)
	require.Zero(t, e.seq)
	var told, listed any
	require.NoError(t, json.Unmarshal([]byte(e.data), &told))
	page := s.get("/matches?limit=1")
	listed = page.json["matches"].([]any)[0]
	require.Equal(t, listed, told)
	l.over()
	for _, id := range []string{"", "3", "999999", "x"} {
		again := s.listen("/live/"+g.MatchID+"/stream", lastEventID(id))
		require.Equal(t, sse{"frame", s.lastFrame(g), g.State.Seq}, again.must(), "the whole last frame")
		require.Equal(t, e, again.must())
		again.over()
	}
}

func lastEventID(id string) func(*http.Request) {
	return func(r *http.Request) {
		if id != "" {
			r.Header.Set("Last-Event-ID", id)
		}
	}
}

// If the Last-Event-ID header contains the last id that the reader received, the stream
// continues after that id, even if the id is old. If the header has any other value,
// the stream begins with the newest frame.
func TestLastEventID(t *testing.T) {
	s := newSpectated(t)
	g := s.running
	g.Play(40)
	s.read.sync()
	s.shown(g)
	n := g.State.Seq
	require.Greater(t, n, 100)
	frames := s.frames(g)
	cases := map[string]int{
		"": n, "x": n, "-1": n, "+5": n, " 5": 6, "5.0": n, "1e1": n, "0x5": n, "5 6": n, "99999999999999999999": n, "4294967300": n, fmt.Sprint(n + 1): n, "\u0665": n,
	}
	for _, id := range []int{0, 1, 5, 7, 8, 9, 15, 16, 17, 32, n - 17, n - 9, n - 2, n - 1} {
		cases[fmt.Sprint(id)] = id + 1
	}
	for id, first := range cases {
		l := s.listen("/live/"+g.MatchID+"/stream", lastEventID(id))
		for seq := first; seq <= n; seq++ {
			require.Equal(t, sse{"frame", string(frames[seq-1]), seq}, l.must(), "Last-Event-ID %q", id)
		}
		l.stop()
	}
	l := s.listen("/live/"+g.MatchID+"/stream", lastEventID(fmt.Sprint(n)))
	g.Step()
	require.Equal(t, n+1, l.must().seq, "a reader that has the newest frame gets the next one")
}

// The stream of all matches begins with the newest frame of each match.
func TestStreamOfAllMatches(t *testing.T) {
	s := newSpectated(t)
	s.shown(s.unrated, s.unvoid, s.running)
	named := func(g *arenatest.Game) string { return `{"matchId":"` + g.MatchID + `",` + s.lastFrame(g)[1:] }
	all, parley := s.listen("/live/stream"), s.listen("/live/stream?mode=parley")
	require.Equal(t, sse{"frame", named(s.unrated), 0}, parley.must())
	got := map[sse]bool{all.must(): true, all.must(): true, all.must(): true}
	for _, g := range []*arenatest.Game{s.unrated, s.unvoid, s.running} {
		require.True(t, got[sse{"frame", named(g), 0}])
	}
	s.unrated.Conclude()
	s.read.sync()
	end := parley.must()
	require.Equal(t, "end", end.event)
	require.Contains(t, end.data, s.unrated.MatchID)
	require.Equal(t, end, all.must())
	s.seated.Start()
	s.read.sync()
	require.Equal(t, sse{"frame", named(s.seated), 0}, all.must())
	s.get("/live/stream?mode=x").is(http.StatusUnprocessableEntity, "invalid").names("mode")
}

// A reader that stops reading does not delay other readers. When it reads again, it
// continues with the newest frame.
func TestReaderThatStopsReading(t *testing.T) {
	s := newSpectated(t)
	s.server.SetStreamTimes(time.Hour, time.Minute)
	g := s.running
	s.shown(g)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(64<<10))
	fmt.Fprintf(conn, "GET /live/%s/stream HTTP/1.1\r\nHost: arena\r\n\r\n", g.MatchID)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	idle := &listener{response, t, bufio.NewReader(response.Body), nil}
	first := idle.must().seq

	other := s.listen("/live/" + g.MatchID + "/stream")
	seq := other.must().seq
	for g.State.Game.Turn < 250 && !g.State.Over() {
		g.Step()
		for ; seq < g.State.Seq; seq++ {
			require.Equal(t, seq+1, other.must().seq, "the other reader misses nothing")
		}
	}
	if !g.State.Over() {
		g.Abort(match.Operator)
	}
	g.Conclude()
	s.read.sync()
	require.Equal(t, "end", other.must().event)

	n, seq := 0, first
	for {
		e := idle.must()
		if e.event == "end" {
			break
		}
		require.Greater(t, e.seq, seq)
		n, seq = n+1, e.seq
	}
	require.Equal(t, g.State.Seq, seq, "it gets the newest frame")
	require.Less(t, n, seq-first, "it misses frames")
	idle.over()
}

// An IP address may have at most 20 open streams.
func TestStreamLimitOfAnAddress(t *testing.T) {
	a := limited(t)
	here, there := from("192.0.2.1"), from("192.0.2.2")
	var open []*listener
	for range 20 {
		l := a.listen("/live/stream", here)
		require.Equal(t, http.StatusOK, l.StatusCode)
		open = append(open, l)
	}
	refused := a.anyone().do(http.MethodGet, "/live/stream", nil, here)
	refused.refused()
	require.Contains(t, refused.json["detail"], "20 streams are open")
	a.anyone().do(http.MethodGet, "/live/none/stream", nil, here).refused()
	require.Equal(t, http.StatusOK, a.listen("/live/stream", there).StatusCode)
	a.anyone().do(http.MethodGet, "/live", nil, here).is(http.StatusOK)
	open[7].stop()
	for {
		a.pass(time.Minute) // otherwise, the limit on reads would refuse the call
		l := a.listen("/live/stream", here)
		if l.StatusCode == http.StatusOK {
			break
		}
		require.Equal(t, http.StatusTooManyRequests, l.StatusCode)
		_, err := io.Copy(io.Discard, l.Body) // otherwise, the connection could not serve the next call
		require.NoError(t, err)
	}
	a.pass(time.Minute)
	a.anyone().do(http.MethodGet, "/live/stream", nil, here).refused()
}

// A HEAD request for a stream returns only the headers.
func TestHeadOfAStream(t *testing.T) {
	s := newSpectated(t)
	for _, path := range []string{"/live/stream", "/live/" + s.four.MatchID + "/stream"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	}
}

// A server that is shutting down does not wait for the readers of its streams, even if
// one of them has stopped reading.
func TestStopEndsStreams(t *testing.T) {
	s := newSpectated(t)
	s.server.SetStreamTimes(time.Hour, time.Minute)
	s.shown(s.running)
	server := &http.Server{Handler: s.server, ConnContext: api.ConnContext}
	server.RegisterOnShutdown(s.server.EndStreams)
	at, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(at) })
	t.Cleanup(func() { _ = server.Close(); served.Wait() })
	s.url = "http://" + at.Addr().String()
	stuck, err := net.Dial("tcp", at.Addr().String())
	require.NoError(t, err)
	defer stuck.Close()
	fmt.Fprintf(stuck, "GET /live/%s/stream HTTP/1.1\r\nHost: arena\r\n\r\n", s.running.MatchID)
	l := s.listen("/live/" + s.running.MatchID + "/stream")
	l.must()
	s.running.Play(200)
	for l.must().seq < s.running.State.Seq {
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // much shorter than the time limit for a write
	defer cancel()
	require.NoError(t, server.Shutdown(ctx))
	l.over()
}

// sink is a response writer that passes each write to the function wrote.
type sink struct {
	header http.Header
	wrote  func([]byte)
}

func (w sink) Header() http.Header         { return w.header }
func (w sink) WriteHeader(int)             {}
func (w sink) Write(p []byte) (int, error) { w.wrote(p); return len(p), nil }
func (w sink) Flush()                      {}

// Five thousand readers connect at the same time during a match, and all of them
// receive the end of the match.
func TestFiveThousandReaders(t *testing.T) {
	s := newSpectated(t)
	g := s.running
	s.shown(g)
	var here, done sync.WaitGroup
	here.Add(5000)
	faults := make(chan error, 5000)
	for range 5000 {
		done.Go(func() {
			var first sync.Once
			var end []byte
			r := httptest.NewRequest(http.MethodGet, "/live/"+g.MatchID+"/stream", nil)
			s.server.ServeHTTP(sink{http.Header{}, func(p []byte) { end = p; first.Do(here.Done) }}, r)
			first.Do(here.Done)
			if !bytes.HasPrefix(end, []byte("event: end\n")) {
				faults <- fmt.Errorf("the last write was %s", end)
			}
		})
	}
	here.Wait()
	for range 10 {
		g.Step()
	}
	g.Abort(match.WallClock)
	g.Conclude()
	s.read.sync()
	done.Wait()
	close(faults)
	require.NoError(t, errors.Join(<-faults))
}
