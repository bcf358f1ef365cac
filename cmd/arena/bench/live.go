package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/adapters/rest"
	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// liveCmd implements `arena bench live`. It starts an arena in its own process,
// plays matches into that arena's log, and reads their streams over real sockets.
// The arena limits the number of streams for each address, so the readers use
// several addresses.
type liveCmd struct {
	Readers int     `default:"5000" help:"number of readers"`
	Matches int     `default:"50" help:"number of running matches; the readers are spread over them"`
	Rate    float64 `default:"4" help:"events per second of each match"`
	Seconds float64 `default:"15" help:"how long to measure"`
}

// liveReport holds the figures of a run. The latency of an event begins just before
// its append, and ends when a reader has read the event's frame from its socket.
type liveReport struct {
	Readers         int     `json:"readers"`
	Matches         int     `json:"matches"`
	ConnectMs       float64 `json:"connectMs"` // time until all readers had received their first frame
	Events          int     `json:"events"`
	EventsPerSecond float64 `json:"eventsPerSecond"`
	Frames          int     `json:"frames"` // frames that were read
	FramesPerSecond float64 `json:"framesPerSecond"`
	AppendP99Ms     float64 `json:"appendP99Ms"` // time from an append to its acknowledgement
	latency
	Missed            int     `json:"missed"` // frames that slow readers skipped
	Ends              int     `json:"ends"`   // readers that received the end of their match
	MemoryMB          float64 `json:"memoryMB"`
	MemoryPerReaderKB float64 `json:"memoryPerReaderKB"` // resident memory of the arena's process, per reader
}

func (c liveCmd) setup() setup { return setup{"live", "", ""} }

func (c liveCmd) measure(ctx context.Context, dir string, _ *progress.Display) (report, error) {
	if c.Readers < 1 || c.Matches < 1 || c.Rate <= 0 || c.Seconds <= 0 {
		return nil, errors.New("all numbers must be above zero")
	}
	r := &liveReport{Readers: c.Readers, Matches: c.Matches}
	return r, withArena(ctx, dir, func(a *arena) error {
		s := newSimulation(a.log, ladder.Standard, c.Matches)
		matches, err := startMatches(ctx, s)
		if err != nil {
			return err
		}
		if err := a.await(ctx, "/live", func(body []byte) bool {
			var list rest.LiveMatches
			err := json.Unmarshal(body, &list)
			behind := slices.ContainsFunc(list.Matches, func(m rest.LiveMatch) bool { return m.Turn < turnsBefore })
			return err == nil && len(list.Matches) == c.Matches && !behind
		}); err != nil {
			return err
		}
		return r.measure(ctx, a, c, s, matches)
	})
}

// turnsBefore is how many turns of a match are played before the measurement, so
// that the match's frames have a typical length. The arena must show these turns
// before readers connect, because a slow reader skips frames.
const turnsBefore = 20

// startMatches seats matches and plays their first turns.
func startMatches(ctx context.Context, s *simulation) ([]*simulatedMatch, error) {
	matches, err := s.seat(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	return matches, startAll(ctx, s.log, matches)
}

// measure connects the readers, plays while they read, and ends the matches.
func (r *liveReport) measure(ctx context.Context, a *arena, c liveCmd, s *simulation, matches []*simulatedMatch) error {
	before, err := residentMB(a.pid)
	if err != nil {
		return err
	}
	streams, cancel := context.WithCancel(ctx)
	defer cancel()
	var readers []*liveReader
	if err := timed(&r.ConnectMs, time.Millisecond, func() (err error) {
		readers, err = connect(streams, a, matches, c.Readers)
		return err
	})(); err != nil {
		return err
	}
	var reading errgroup.Group
	for _, reader := range readers {
		reading.Go(func() error { return reader.read(func() bool { return false }) })
	}
	began := time.Now()
	if err := r.play(ctx, c, s.log, matches); err != nil {
		return err
	}
	if r.MemoryMB, err = residentMB(a.pid); err != nil {
		return err
	}
	r.MemoryPerReaderKB = (r.MemoryMB - before) * 1024 / float64(c.Readers)
	if err := endMatches(ctx, s, matches); err != nil {
		return err
	}
	took := time.Since(began)
	if err := reading.Wait(); err != nil {
		return err
	}
	return r.judge(readers, took)
}

// play continues the matches at the given rate until the measurement ends.
func (r *liveReport) play(ctx context.Context, c liveCmd, log eventstore.Log, matches []*simulatedMatch) error {
	var mu sync.Mutex // guards r.Events and appends
	var appends []time.Duration
	began, each := time.Now(), time.Duration(float64(time.Second)/c.Rate)
	until := began.Add(time.Duration(c.Seconds * float64(time.Second)))
	err := inParallel(ctx, len(matches), len(matches), func(ctx context.Context, i int) error {
		m := matches[i]
		next := began.Add(each * time.Duration(i) / time.Duration(len(matches)))
		for !m.state.Over() && next.Before(until) {
			if err := eventstore.Sleep(ctx, time.Until(next)); err != nil {
				return err
			}
			if err := m.decide(); err != nil {
				return err
			}
			events, begun := len(m.unstored), time.Now()
			if err := m.store(ctx, log); err != nil {
				return err
			}
			mu.Lock()
			r.Events, appends = r.Events+events, append(appends, time.Since(begun))
			mu.Unlock()
			next = next.Add(each * time.Duration(events))
		}
		return nil
	})
	r.EventsPerSecond = perSecond(r.Events, time.Since(began))
	r.AppendP99Ms = latencyOf(appends).P99Ms
	return err
}

// endMatches cancels the matches that are still running, and voids all matches.
func endMatches(ctx context.Context, s *simulation, matches []*simulatedMatch) error {
	var voided []ladder.Event
	for _, m := range matches {
		if !m.state.Over() {
			if err := m.add(m.state.Cancel(match.Operator)); err != nil {
				return err
			}
			if err := m.store(ctx, s.log); err != nil {
				return err
			}
		}
		voided = append(voided, ladder.MatchVoided{MatchID: m.id(), Why: match.Operator})
	}
	return s.store(ctx, time.Now(), voided...)
}

// judge adds the readers' figures to the report.
func (r *liveReport) judge(readers []*liveReader, took time.Duration) error {
	var all []time.Duration
	for _, reader := range readers {
		all = append(all, reader.latencies...)
		r.Missed += reader.missed
		if reader.ended {
			r.Ends++
		}
	}
	if len(all) == 0 {
		return errors.New("no frame was read")
	}
	r.Frames, r.FramesPerSecond, r.latency = len(all), perSecond(len(all), took), latencyOf(all)
	return nil
}

func (r *liveReport) print(w io.Writer) {
	fmt.Fprintf(w, `%d readers of %d matches: all connected, each with its first frame, in %.0f ms
%d events at %.0f/s, %d frames read at %.0f/s, %d missed; %d readers received the end
append → reader's socket  p50 %.1f ms  p99 %.1f ms  max %.1f ms  (append only: p99 %.1f ms)
memory of the arena %.0f MB, %.1f KB a reader
`, r.Readers, r.Matches, r.ConnectMs, r.Events, r.EventsPerSecond, r.Frames, r.FramesPerSecond, r.Missed, r.Ends, r.P50Ms, r.P99Ms, r.MaxMs, r.AppendP99Ms, r.MemoryMB, r.MemoryPerReaderKB)
}

// streamsPerAddress is how many streams an arena allows per address.
const streamsPerAddress = 20

// connectAtOnce is how many readers connect at the same time. The operating system's
// listen queue cannot hold more.
const connectAtOnce = 1000

// liveReader reads the stream of one match.
type liveReader struct {
	lines *bufio.Scanner

	latencies []time.Duration
	seq       int
	missed    int
	ended     bool
}

// connect starts n readers, spread over matches and addresses. It returns once each
// reader has received its first frame. The streams end when ctx ends.
func connect(ctx context.Context, a *arena, matches []*simulatedMatch, n int) ([]*liveReader, error) {
	readers := make([]*liveReader, n)
	return readers, inParallel(ctx, connectAtOnce, n, func(_ context.Context, i int) (err error) {
		address := i / streamsPerAddress
		caller := newCaller(77, byte(address>>8), byte(address))
		readers[i], err = openStream(ctx, caller, a.url+"/live/"+matches[i%len(matches)].id()+"/stream")
		return err
	})
}

func openStream(ctx context.Context, caller *http.Client, url string) (*liveReader, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := caller.Do(request) //nolint:bodyclose // the stream ends with its context
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	r := &liveReader{lines: bufio.NewScanner(response.Body)}
	r.lines.Buffer(make([]byte, 8<<10), 1<<20)
	if err := r.read(func() bool { return len(r.latencies) > 0 }); err != nil {
		return nil, err
	}
	r.latencies = r.latencies[:0] // drops the first frame, which shows an old event
	return r, nil
}

// The method read() handles lines until the function enough() returns true or the
// stream ends.
func (r *liveReader) read(enough func() bool) error {
	for !enough() && r.lines.Scan() {
		if err := r.line(r.lines.Bytes()); err != nil {
			return err
		}
	}
	return r.lines.Err()
}

// line handles one line of the stream. It parses only the beginning of a frame.
func (r *liveReader) line(line []byte) error {
	frame, ok := bytes.CutPrefix(line, []byte(`data: {"seq":`))
	if !ok {
		r.ended = r.ended || bytes.HasPrefix(line, []byte("event: end"))
		return nil
	}
	now := time.Now()
	number, frame, _ := bytes.Cut(frame, []byte(","))
	seq, err := strconv.Atoi(string(number))
	if err != nil {
		return err
	}
	_, at, _ := bytes.Cut(frame, []byte(`"at":"`))
	if len(at) < len(match.TimeFormat) {
		return fmt.Errorf("a frame without a time: %.100s", line)
	}
	occurred, err := time.Parse(match.TimeFormat, string(at[:len(match.TimeFormat)]))
	if r.seq > 0 {
		r.missed += seq - r.seq - 1
	}
	r.seq, r.latencies = seq, append(r.latencies, now.Sub(occurred))
	return err
}
