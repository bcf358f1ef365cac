package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
)

// A Player may return these errors.
var (
	ErrNotPlaying   = errors.New("this arena does not play matches: send the order to the arena that does")
	ErrNotSeating   = errors.New("this arena does not seat tables: send the order to the arena that does")
	ErrMatchUnknown = errors.New("no such match")
	ErrMatchOver    = errors.New("the match is over")
)

var (
	errUnknownPath = errors.New("this path does not exist, or does not accept this method")
	errNoOwner     = errors.New("no such account")
)

// table maps errors to responses. An error that is not in the table is reported
// as an internal error.
var table = problem.Table{
	{Err: errUnknownPath, Status: http.StatusNotFound, Code: "not_found"},
	{Err: problem.ErrBodyTooLarge, Status: http.StatusRequestEntityTooLarge, Code: "body_too_large"},
	{Err: problem.ErrMediaType, Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type"},
	{Err: problem.ErrMalformed, Status: http.StatusBadRequest, Code: "malformed"},
	{Err: errNoOwner, Status: http.StatusNotFound, Code: "not_found"},
	{Err: owner.ErrBotUnknown, Status: http.StatusNotFound, Code: "not_found"},
	{Err: ErrMatchUnknown, Status: http.StatusNotFound, Code: "not_found"},
	{Err: ErrMatchOver, Status: http.StatusConflict, Code: "match_over"},
	{Err: ErrNotPlaying, Status: http.StatusConflict, Code: "not_playing"},
	{Err: ErrNotSeating, Status: http.StatusConflict, Code: "not_seating"},
	{Err: eventstore.ErrUnavailable, Status: http.StatusServiceUnavailable, Code: "log_unavailable"},
	{Err: eventstore.ErrEventsLost, Status: http.StatusServiceUnavailable, Code: "log_unavailable"},
	{Err: context.DeadlineExceeded, Status: http.StatusServiceUnavailable, Code: "log_unavailable"},
	{Err: projections.ErrStopped, Status: http.StatusServiceUnavailable, Code: "out_of_date"},
	{Err: projections.ErrBehind, Status: http.StatusServiceUnavailable, Code: "out_of_date"},
}

func (s *Server) refuse(c *call, err error) {
	if errors.Is(err, owner.ErrOwnerGone) {
		err = errNoOwner
	}
	p := table.Of(err)
	if p.Status == http.StatusServiceUnavailable {
		p.Detail = "the log did not respond in time: check whether the order was carried out, and repeat the order if it was not"
		if p.Code == "out_of_date" {
			p.Detail = "the data of this arena is not up to date, so the order was not carried out: see /ready, and repeat the order later"
		}
	}
	level := slog.LevelInfo
	if p.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.Logger.LogAttrs(c.ctx, level, "operator's order refused",
		slog.String("path", c.request.URL.Path), slog.Int("status", p.Status), slog.Any("error", err), slog.String("request", c.id))
	problem.Write(c.answer, p)
}
