package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hexarena/adapters/client"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

const (
	// quietTime is how long a stream may send nothing. The arena sends a comment every
	// 15 s, so a longer silence means that the connection is dead.
	quietTime = 60 * time.Second
	// maxEventLine is the maximum length of a line of a stream, in bytes.
	maxEventLine = 1 << 20
	// The wait before a retry doubles each time, from firstRetry up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

var errQuiet = fmt.Errorf("the arena sent nothing for %s", quietTime)

// eventStream reads a stream of server-sent events that needs the scope bots.read.
// If the stream breaks, the next read continues after the record whose id is in the
// field last.
type eventStream struct {
	*session
	path   string
	last   string // empty if no id is known
	errors io.Writer
}

// record is one server-sent event. Empty fields were not sent.
type record struct{ event, id, data string }

// fatal is an error after which another try cannot succeed.
type fatal struct{ error }

// read opens the stream and calls handle for each record, until the stream ends or
// breaks, or handle returns an error.
func (s *eventStream) read(ctx context.Context, handle func(context.Context, record) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(quietTime, func() { cancel(errQuiet) })
	defer quiet.Stop()
	response, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEventLine)
	var r record
	for lines.Scan() {
		quiet.Stop() // handle may take longer than quietTime
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			r.event = value
		case "id":
			r.id = value
		case "data":
			r.data = value
		case "":
			if r != (record{}) {
				if err := handle(ctx, r); err != nil {
					return err
				}
			}
			r = record{}
		}
		quiet.Reset(quietTime)
	}
	if err := cmp.Or(context.Cause(ctx), lines.Err()); err != nil {
		return fmt.Errorf("the stream from %s broke: %w", s.base, err)
	}
	return nil
}

func (s *eventStream) open(ctx context.Context) (*http.Response, error) {
	credentials, err := s.credentials(owner.BotsRead)
	if err != nil {
		return nil, &fatal{err}
	}
	credentials.Base = s.base
	if s.last != "" {
		credentials.Header = http.Header{"Last-Event-Id": {s.last}}
	}
	c, err := client.New(credentials)
	if err != nil {
		return nil, &fatal{err}
	}
	return c.Open(ctx, http.MethodGet, s.path, nil)
}

// pause prints why a try failed, and waits before the next one. The waits grow up to
// lastRetry. If another try cannot help, pause returns an error. The parameter what
// describes the failure if err is nil. If ctx ends, pause returns early.
func (s *eventStream) pause(ctx context.Context, what string, err error, wait *time.Duration) error {
	var end *fatal
	var refusal *client.Refusal
	after := *wait
	switch {
	case errors.As(err, &end):
		return end.error
	case errors.As(err, &refusal):
		if refusal.Status < http.StatusInternalServerError && refusal.Status != http.StatusTooManyRequests {
			return s.explained(err)
		}
		if seconds, bad := strconv.Atoi(refusal.RetryAfter); bad == nil {
			after = max(after, time.Duration(seconds)*time.Second)
		}
	}
	if err != nil {
		what = client.OneLine(err.Error())
	}
	if ctx.Err() == nil {
		fmt.Fprintf(s.errors, "%s; trying again in %s\n", what, after)
	}
	*wait = min(2**wait, lastRetry)
	_ = eventstore.Sleep(ctx, after) // the caller checks ctx
	return nil
}
