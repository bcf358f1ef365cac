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

// unbounded replaces the client's own timeout of 10 s, so that only the context
// limits a call.
var unbounded = time.Duration(math.MaxInt64)

// Append stores events. See eventstore.Log. While the outcome is unknown, Append
// sends the events again with the same ids and the same expected revision, so the
// server stores them only once.
func (l *Log) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (appended eventstore.Appended, err error) {
	defer func(began time.Time) { l.metrics.wrote(began, len(events), err) }(time.Now())
	if err := eventstore.CheckAppend(id, expected, events); err != nil {
		return eventstore.Appended{}, err
	}
	result, err := l.write(ctx, fmt.Sprintf("append to %s", id), id, string(id), expected, proposed(events))
	if err != nil {
		return eventstore.Appended{}, err
	}
	appended = eventstore.Appended{
		Revision: eventstore.Revision(result.NextExpectedVersion),
		Position: eventstore.Position(result.CommitPosition),
	}
	l.known.see(&eventstore.Recorded{Event: events[len(events)-1], Stream: id, Revision: appended.Revision, Position: appended.Position})
	return appended, nil
}

// SetMetadata replaces a stream's metadata. See eventstore.Log.
func (l *Log) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) (err error) {
	defer func(began time.Time) { l.metrics.wrote(began, 1, err) }(time.Now())
	if err := errors.Join(eventstore.CheckStream(id, eventstore.Any), m.Check()); err != nil {
		return err
	}
	data, err := metadata(m)
	if err != nil {
		return fmt.Errorf("set metadata of %s: %w", id, err)
	}
	e := es.EventData{EventID: uuid.New(), EventType: "$metadata", ContentType: es.ContentTypeJson, Data: data}
	_, err = l.write(ctx, fmt.Sprintf("set metadata of %s", id), id, metaPrefix+string(id), eventstore.Any, []es.EventData{e})
	return err
}

// Tombstone deletes a stream forever. See eventstore.Log. If a retry finds the
// stream tombstoned, Tombstone assumes that its own earlier attempt succeeded,
// and returns nil.
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
	return l.writeError(ctx, what, id, expected, err)
}

// write appends events to the stream with the given name. This name is either id or the
// name of id's metadata stream. The errors mention id in both cases.
func (l *Log) write(ctx context.Context, what string, id eventstore.StreamID, name string, expected eventstore.Expected, events []es.EventData) (*es.WriteResult, error) {
	opts := es.AppendToStreamOptions{ExpectedRevision: revision(expected), Deadline: &unbounded}
	result, err := attempt(ctx, l, what, func(ctx context.Context, c *es.Client) (*es.WriteResult, error) {
		return c.AppendToStream(ctx, name, opts, events...)
	})
	if err != nil {
		return nil, l.writeError(ctx, what, id, expected, err)
	}
	return result, nil
}

// writeError translates the error of a write.
func (l *Log) writeError(ctx context.Context, what string, id eventstore.StreamID, expected eventstore.Expected, err error) error {
	wrong := code(err) == es.ErrorCodeWrongExpectedVersion || status.Code(err) == codes.FailedPrecondition
	if wrong && code(err) != es.ErrorCodeStreamDeleted {
		return l.wrongVersion(ctx, id, expected, err)
	}
	return translate(what, err)
}

// wrongVersion returns a WrongVersionError with the current revision of the stream.
// When a Tombstone fails, the client does not report the current revision, so
// wrongVersion reads it from the log.
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
