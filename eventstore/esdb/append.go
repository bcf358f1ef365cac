package esdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore"
)

// unbounded takes the place of the client's own deadline of 10 s: the context
// bounds every call.
var unbounded = time.Duration(math.MaxInt64)

// Append stores events; see eventstore.Log. While the outcome is unknown it
// tries again with the same ids at the same expectation, which stores once.
func (l *Log) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (appended eventstore.Appended, err error) {
	defer func(began time.Time) { l.metrics.wrote(began, len(events), err) }(time.Now())
	if err := eventstore.CheckAppend(id, expected, events); err != nil {
		return eventstore.Appended{}, err
	}
	what := fmt.Sprintf("append to %s", id)
	result, err := l.write(ctx, what, string(id), expected, proposed(events))
	if err != nil {
		return eventstore.Appended{}, l.refusal(ctx, what, id, expected, err)
	}
	return eventstore.Appended{
		Revision: eventstore.Revision(result.NextExpectedVersion),
		Position: eventstore.Position(result.CommitPosition),
	}, nil
}

// SetMetadata replaces a stream's metadata; see eventstore.Log.
func (l *Log) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) (err error) {
	defer func(began time.Time) { l.metrics.wrote(began, 1, err) }(time.Now())
	if err := errors.Join(eventstore.CheckStream(id, eventstore.Any), m.Check()); err != nil {
		return err
	}
	data, err := metadata(m)
	if err != nil {
		return fmt.Errorf("set metadata of %s: %w", id, err)
	}
	what := fmt.Sprintf("set metadata of %s", id)
	e := es.EventData{EventID: uuid.New(), EventType: "$metadata", ContentType: es.ContentTypeJson, Data: data}
	if _, err := l.write(ctx, what, "$$"+string(id), eventstore.Any, []es.EventData{e}); err != nil {
		return l.refusal(ctx, what, id, eventstore.Any, err)
	}
	return nil
}

// Tombstone deletes a stream for ever; see eventstore.Log. A retry that finds
// the stream tombstoned takes it for its own doing.
func (l *Log) Tombstone(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected) (err error) {
	defer func(began time.Time) { l.metrics.wrote(began, 1, err) }(time.Now())
	if err := eventstore.CheckStream(id, expected); err != nil {
		return err
	}
	what, tries := fmt.Sprintf("tombstone %s", id), atomic.Int32{}
	_, err = attempt(ctx, l, what, func(ctx context.Context, c *es.Client) (*es.DeleteResult, error) {
		tries.Add(1)
		return c.TombstoneStream(ctx, string(id), es.TombstoneStreamOptions{ExpectedRevision: revision(expected), Deadline: &unbounded})
	})
	if err == nil || tries.Load() > 1 && code(err) == es.ErrorCodeStreamDeleted {
		return nil
	}
	return l.refusal(ctx, what, id, expected, err)
}

func (l *Log) write(ctx context.Context, what, name string, expected eventstore.Expected, events []es.EventData) (*es.WriteResult, error) {
	opts := es.AppendToStreamOptions{ExpectedRevision: revision(expected), Deadline: &unbounded}
	return attempt(ctx, l, what, func(ctx context.Context, c *es.Client) (*es.WriteResult, error) {
		return c.AppendToStream(ctx, name, opts, events...)
	})
}

// refusal translates what a write failed with.
func (l *Log) refusal(ctx context.Context, what string, id eventstore.StreamID, expected eventstore.Expected, err error) error {
	wrong := code(err) == es.ErrorCodeWrongExpectedVersion || status.Code(err) == codes.FailedPrecondition
	if wrong && code(err) != es.ErrorCodeStreamDeleted {
		return l.wrongVersion(ctx, id, expected, err)
	}
	return translate(what, err)
}

// wrongVersion says what revision the stream is at. Of a Tombstone the client
// drops it, and it is read.
func (l *Log) wrongVersion(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, err error) error {
	wrong := &eventstore.WrongVersionError{Stream: id, Expected: expected, Current: eventstore.NoStream}
	if current, known := currentRevision(err); known {
		wrong.Current = current
		return wrong
	}
	for r, err := range l.Read(ctx, id, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return err
		}
		wrong.Current = eventstore.At(r.Revision)
	}
	return wrong
}
