package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// Live is the projection of the matches that run.
type Live interface {
	// Ready returns once it holds all that ran when the service began.
	Ready(ctx context.Context) error
	// Await returns once a match is there, which is about to be; false: it is not.
	Await(ctx context.Context, matchID string) bool
	List(mode string) []live.Match
	Latest(matchID string) (frame []byte, ok bool)
	Watch(matchID string, after int) (*live.Reader, bool)
	WatchAll(mode string) *live.Reader
}

// liveTime is how long a call waits for the live boards to come up to what the
// list of matches says.
const liveTime = 5 * time.Second

// liveTries bounds how often a match is looked for that ends meanwhile.
const liveTries = 3

type liveQuery struct {
	Mode string `query:"mode" enum:"standard,parley" doc:"All modes by default."`
}

type liveOutput struct {
	Body struct {
		Matches []live.Match `json:"matches" nullable:"false"`
	}
}

type frameOutput struct {
	Body match.Frame
	maybePrepared
}

func (s *Server) registerLive() {
	register(s, endpoint[liveQuery, liveOutput]{
		id: "list-live", method: http.MethodGet, path: "/live", tag: "live", summary: "The matches that run now, newest first",
		run: s.listLive,
	})
	register(s, endpoint[matchPath, frameOutput]{
		id: "get-live", method: http.MethodGet, path: "/live/{id}", tag: "live", summary: "The newest frame of a match; of one that has ended, its last",
		find: s.findLive, run: s.getLive,
	})
	register(s, endpoint[liveQuery, streamOutput]{
		id: "stream-live", method: http.MethodGet, path: "/live/stream", tag: "live", summary: "Frames of all running matches as they come, in one stream",
		stream: true, answers: []media{{kind: streamType}}, run: s.streamLive,
	})
	register(s, endpoint[matchPath, streamOutput]{
		id: "stream-match", method: http.MethodGet, path: "/live/{id}/stream", tag: "live", summary: "Frames of a match as they come, and its end",
		stream: true, answers: []media{{kind: streamType}}, find: s.findLive, run: s.streamMatch,
	})
}

func (s *Server) listLive(c *call, in *liveQuery) (*liveOutput, error) {
	if err := s.liveReady(c.ctx); err != nil {
		return nil, err
	}
	out := new(liveOutput)
	out.Body.Matches = s.Live.List(in.Mode)
	return out, nil
}

// findLive refuses what is no match, or has not started.
func (s *Server) findLive(_ *call, in *matchPath) error {
	if _, ok := s.Live.Latest(in.ID); ok {
		return nil
	}
	_, err := s.summary(in.ID)
	return err
}

func (s *Server) getLive(c *call, in *matchPath) (*frameOutput, error) {
	for range liveTries {
		ended, err := s.endedOrLive(c.ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if ended != nil {
			last, err := s.lastFrame(c.ctx, *ended)
			return &frameOutput{maybePrepared: maybePrepared{encodedJSON(last)}}, err
		}
		if frame, ok := s.Live.Latest(in.ID); ok {
			return &frameOutput{maybePrepared: maybePrepared{encodedJSON(frame)}}, nil
		}
	}
	return nil, eventstore.ErrUnavailable
}

func (s *Server) streamLive(c *call, in *liveQuery) (*streamOutput, error) {
	if err := s.liveReady(c.ctx); err != nil {
		return nil, err
	}
	return &streamOutput{stream{s.Live.WatchAll(in.Mode)}}, nil
}

func (s *Server) streamMatch(c *call, in *matchPath) (*streamOutput, error) {
	for range liveTries {
		ended, err := s.endedOrLive(c.ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if ended != nil {
			last, err := s.lastFrame(c.ctx, *ended)
			if err != nil {
				return nil, err
			}
			over, err := live.NewEnded(last, *ended)
			return &streamOutput{stream{over}}, err
		}
		if reader, ok := s.Live.Watch(in.ID, resumesAfter(c.request.Header)); ok {
			return &streamOutput{stream{reader}}, nil
		}
	}
	return nil, eventstore.ErrUnavailable
}

// endedOrLive returns the summary of a match that has ended, or nil for one that
// the live boards show. That they do not show a running match yet is a matter
// of a moment: the two follow the log apart.
func (s *Server) endedOrLive(ctx context.Context, id string) (*matches.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, liveTime)
	defer cancel()
	if err := s.liveReady(ctx); err != nil {
		return nil, err
	}
	if _, ok := s.Live.Latest(id); ok {
		return nil, nil
	}
	m, err := s.summary(id)
	switch {
	case err != nil:
		return nil, err
	case m.Status != matches.Running:
		return &m, nil
	case !s.Live.Await(ctx, id):
		return nil, eventstore.ErrUnavailable
	}
	return nil, nil
}

func (s *Server) liveReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, liveTime)
	defer cancel()
	return s.Live.Ready(ctx)
}

// lastFrame is that of a match that has ended, as JSON.
func (s *Server) lastFrame(ctx context.Context, m matches.Summary) ([]byte, error) {
	l, err := s.kept.get(ctx, "last "+m.ID, func(ctx context.Context) (any, error) {
		h, err := s.history(ctx, m)
		if err != nil {
			return nil, err
		}
		last, ok := h.Last(true)
		if !ok {
			return nil, fmt.Errorf("match %s has no frame", m.ID)
		}
		return last, nil
	})
	if err != nil {
		return nil, err
	}
	return l.plain()
}
