package api

import (
	"context"
	"fmt"
	"time"

	"hexarena/adapters/rest"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// Live is the projection of the running matches.
type Live interface {
	// Ready returns once the projection includes every match that was running
	// when the service started.
	Ready(ctx context.Context) error
	// Await waits for a match that should appear soon, and reports whether it has
	// appeared.
	Await(ctx context.Context, matchID string) bool
	List(mode string) []live.Match
	Latest(matchID string) (frame []byte, ok bool)
	// Started returns the summary of a running match, and its commitment. It returns
	// false if the projection does not show the match.
	Started(matchID string) (summary matches.Summary, commitment seed.Seed, ok bool)
	Watch(matchID string, after int) (*live.Reader, bool)
	WatchAll(mode string) *live.Reader
}

// liveTime is how long a call waits for the live boards to catch up with the
// list of matches.
const liveTime = 5 * time.Second

// liveTries is the maximum number of times that whileLive checks whether a match has
// ended.
const liveTries = 3

type liveQuery struct {
	Mode string `query:"mode" enum:"standard,parley" doc:"Default: all modes."`
}

// liveMatch names a match that has started.
type liveMatch struct {
	ID string `path:"id"`
}

func (p *liveMatch) find(c *call) error {
	if _, ok := c.server.Live.Latest(p.ID); ok {
		return nil
	}
	_, err := c.server.summary(p.ID)
	return err
}

func (s *Server) listLive(c *call, in *liveQuery) (out rest.LiveMatches, err error) {
	if err := s.liveReady(c.ctx); err != nil {
		return out, err
	}
	out.Matches, out.StaleSeconds = s.Live.List(in.Mode), s.stale(0)
	return out, nil
}

func (s *Server) getLive(c *call, in *liveMatch) (out maybeEncoded[rest.LiveFrame], err error) {
	frame, err := whileLive(c.ctx, s, in.ID,
		func(m matches.Summary) ([]byte, error) { return s.lastFrame(c.ctx, m) },
		func() ([]byte, bool) {
			frame, ok := s.Live.Latest(in.ID)
			return withAge(frame, s.stale(0)), ok
		})
	out.encoded = encodedJSON(frame)
	return out, err
}

// withAge adds the field staleSeconds to an encoded frame, unless the age is 0.
func withAge(frame []byte, seconds float64) []byte {
	if seconds == 0 || len(frame) == 0 {
		return frame
	}
	return append(fmt.Appendf(nil, `{"staleSeconds":%g,`, seconds), frame[1:]...)
}

func (s *Server) streamLive(c *call, in *liveQuery) (out stream, err error) {
	if err := s.liveReady(c.ctx); err != nil {
		return out, err
	}
	return stream{s.Live.WatchAll(in.Mode), s.streams.pace, s.stale}, nil
}

func (s *Server) streamMatch(c *call, in *liveMatch) (stream, error) {
	reader, err := whileLive(c.ctx, s, in.ID,
		func(m matches.Summary) (source, error) {
			last, err := s.lastFrame(c.ctx, m)
			if err != nil {
				return nil, err
			}
			return live.NewEnded(last, m)
		},
		func() (source, bool) { return s.Live.Watch(in.ID, lastEventID(c.request.Header)) })
	return stream{source: reader, stale: s.stale}, err
}

// whileLive calls the function ended if the match has ended, and the function running
// otherwise. It returns the result. If the match ends after the check, whileLive checks
// again.
func whileLive[T any](ctx context.Context, s *Server, id string, ended func(matches.Summary) (T, error), running func() (T, bool)) (out T, err error) {
	for range liveTries {
		m, err := s.endedOrLive(ctx, id)
		if err != nil {
			return out, err
		}
		if m != nil {
			return ended(*m)
		}
		if out, ok := running(); ok {
			return out, nil
		}
	}
	return out, eventstore.ErrUnavailable
}

// endedOrLive returns the summary of a match if the match has ended. It returns nil if
// the live boards show the match. The live boards and the match list follow the log
// separately, so endedOrLive waits if the live boards lag behind.
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

// lastFrame returns the last frame of a match that has ended, as JSON.
func (s *Server) lastFrame(ctx context.Context, m matches.Summary) ([]byte, error) {
	r, err := s.responses.get(ctx, "last "+m.ID, func(ctx context.Context) (any, error) {
		h, err := s.matchHistory(ctx, m)
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
	return r.content()
}
