package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Refusals of a Player.
var (
	ErrNotPlaying   = errors.New("this arena does not play: order it from the one that does")
	ErrMatchUnknown = errors.New("no such match")
	ErrMatchOver    = errors.New("the match is over")
)

var (
	errUnknownPath  = errors.New("no such path, or not by this method")
	errCrossSite    = errors.New("another site sends this")
	errByName       = errors.New("call this by its address, or as localhost")
	errBodyTooLarge = errors.New("the body is larger than 65536 bytes")
	errMediaType    = errors.New("want application/json")
	errMalformed    = errors.New("the body is no JSON object")
	errNoOwner      = errors.New("no such account")
	errAway         = errors.New("the log does not answer in time: look whether the order was carried out, and give it again")
)

// table says how each error is answered; one without a row is a fault of ours.
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

// fieldError says what is wrong with one field of an order.
type fieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (e *fieldError) Error() string { return e.Field + " " + e.Message }

// problem is the body of every refusal (RFC 9457), in the shape of the API's.
type problem struct {
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Code      string        `json:"code"`
	Detail    string        `json:"detail"`
	RequestID string        `json:"requestId"`
	Errors    []*fieldError `json:"errors,omitempty"`
}

func problemOf(err error) problem {
	var field *fieldError
	if errors.As(err, &field) {
		return problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: field.Error(), Errors: []*fieldError{field}}
	}
	if errors.Is(err, owner.ErrOwnerGone) {
		err = errNoOwner
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			if row.status == http.StatusServiceUnavailable {
				row.err = errAway
			}
			return problem{Status: row.status, Code: row.code, Detail: row.err.Error()}
		}
	}
	return problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "internal error"}
}

func (s *Server) refuse(w http.ResponseWriter, c *call, err error) {
	p := problemOf(err)
	p.Title, p.RequestID = http.StatusText(p.Status), c.id
	level := slog.LevelInfo
	if p.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.Logger.LogAttrs(c.ctx, level, "an operator's order was refused",
		slog.String("path", c.request.URL.Path), slog.Int("status", p.Status), slog.Any("error", err), slog.String("request", c.id))
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who went away needs no answer
}
