package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Errors of a Player.
var (
	ErrNotPlaying   = errors.New("this arena does not play: send the order to the arena that plays")
	ErrMatchUnknown = errors.New("no such match")
	ErrMatchOver    = errors.New("the match is over")
)

var (
	errUnknownPath  = errors.New("there is nothing at this path for this method")
	errCrossSite    = errors.New("the request comes from another site")
	errByName       = errors.New("call this endpoint by its IP address, or as localhost")
	errBodyTooLarge = errors.New("the body is larger than 65536 bytes")
	errMediaType    = errors.New("the content type must be application/json")
	errMalformed    = errors.New("the body is not a JSON object")
	errNoOwner      = errors.New("no such account")
	errUnavailable  = errors.New("the log does not answer in time: check whether the order was carried out, then repeat it")
)

// table maps errors to answers. An error without a row is an internal error.
var table = []struct {
	err    error
	status int
	code   string
}{
	{errUnknownPath, http.StatusNotFound, "not_found"},
	{errCrossSite, http.StatusForbidden, "cross_site"},
	{errByName, http.StatusForbidden, "host"},
	{errBodyTooLarge, http.StatusRequestEntityTooLarge, "body_too_large"},
	{errMediaType, http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{errMalformed, http.StatusBadRequest, "malformed"},
	{errNoOwner, http.StatusNotFound, "not_found"},
	{owner.ErrBotUnknown, http.StatusNotFound, "not_found"},
	{ErrMatchUnknown, http.StatusNotFound, "not_found"},
	{ErrMatchOver, http.StatusConflict, "match_over"},
	{ErrNotPlaying, http.StatusConflict, "not_playing"},
	{eventstore.ErrUnavailable, http.StatusServiceUnavailable, "log_unavailable"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "log_unavailable"},
}

// fieldError reports one invalid field of an order.
type fieldError struct{ field, message string }

func (e *fieldError) Error() string { return e.field + " " + e.message }

func problemOf(err error) rest.Problem {
	var field *fieldError
	if errors.As(err, &field) {
		return rest.Problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: field.Error(),
			Errors: []rest.FieldError{{In: "body", Field: field.field, Message: field.message}}}
	}
	if errors.Is(err, owner.ErrOwnerGone) {
		err = errNoOwner
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			if row.status == http.StatusServiceUnavailable {
				row.err = errUnavailable
			}
			return rest.Problem{Status: row.status, Code: row.code, Detail: row.err.Error()}
		}
	}
	return rest.Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "internal error"}
}

func (s *Server) refuse(w http.ResponseWriter, c *call, err error) {
	p := problemOf(err)
	p.Title, p.RequestID = http.StatusText(p.Status), c.id
	level := slog.LevelInfo
	if p.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.Logger.LogAttrs(c.ctx, level, "operator's order refused",
		slog.String("path", c.request.URL.Path), slog.Int("status", p.Status), slog.Any("error", err), slog.String("request", c.id))
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", rest.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that left needs no answer
}
