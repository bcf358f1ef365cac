package esdb

import (
	"cmp"
	"testing"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore"
)

// An event counts as missing only if the server says so, or if its newest events show
// it. An error of the server is not a loss, however long it lasts.
func TestOnlyAMissingEventIsALoss(t *testing.T) {
	known := seen{position: 20, stream: "match-1", revision: 7, id: uuid.New()}
	inStream := func(revision eventstore.Revision) []eventstore.Recorded {
		return []eventstore.Recorded{{Event: eventstore.Event{ID: uuid.New()}, Stream: known.stream, Revision: revision, Position: 25}}
	}
	at := func(p eventstore.Position, id uuid.UUID) eventstore.Recorded {
		return eventstore.Recorded{Event: eventstore.Event{ID: id}, Position: p}
	}
	other := func(p eventstore.Position) eventstore.Recorded { return at(p, uuid.New()) }
	many := make([]eventstore.Recorded, scanned)
	for i := range many {
		many[i] = other(eventstore.Position(30 + scanned - i))
	}
	failure := func(c codes.Code) error { return status.Error(c, "a failure") }
	for name, c := range map[string]struct {
		first    []eventstore.Recorded // the answer of the read at the position
		err      error
		stream   []eventstore.Recorded // the answer of the read of the stream
		inStream error
		newest   []eventstore.Recorded // the answer of the read of the newest events
		failed   error
		holds    bool
		fails    bool
	}{
		"the event is there":                       {first: []eventstore.Recorded{at(20, known.id)}, holds: true},
		"another event is there":                   {first: []eventstore.Recorded{other(20)}},
		"a scavenge removed it":                    {first: []eventstore.Recorded{other(25)}, stream: inStream(9), holds: true},
		"its stream is deleted":                    {first: []eventstore.Recorded{other(25)}, inStream: eventstore.ErrStreamDeleted, holds: true},
		"its stream has another event":             {first: []eventstore.Recorded{other(25)}, stream: inStream(7)},
		"its stream ends before it":                {first: []eventstore.Recorded{other(25)}},
		"its stream cannot be read":                {first: []eventstore.Recorded{other(25)}, inStream: failure(codes.Unavailable), fails: true},
		"the log is shorter":                       {},
		"no event begins there":                    {err: failure(codes.InvalidArgument)},
		"the position is out of range":             {err: failure(codes.OutOfRange)},
		"no leader":                                {err: failure(codes.Unavailable), fails: true},
		"an internal error, and nothing is read":   {err: failure(codes.Internal), failed: failure(codes.Internal), fails: true},
		"an unknown error, and the event is there": {err: failure(codes.Unknown), newest: []eventstore.Recorded{other(30), at(20, known.id)}, holds: true},
		"an internal error, and another is there":  {err: failure(codes.Internal), newest: []eventstore.Recorded{other(30), other(20)}},
		"an internal error, and none is there":     {err: failure(codes.Internal), newest: []eventstore.Recorded{other(30), other(19)}},
		"an internal error, and the log ends":      {err: failure(codes.FailedPrecondition), newest: []eventstore.Recorded{other(10)}},
		"an internal error, and the log is empty":  {err: failure(codes.Internal)},
		"too many are new, and its stream has it":  {err: failure(codes.Internal), newest: many, stream: []eventstore.Recorded{{Event: eventstore.Event{ID: known.id}, Revision: 7}}, holds: true},
		"too many are new, and its stream ends":    {err: failure(codes.Internal), newest: many},
		"a scavenge removed it, and a read fails":  {err: failure(codes.Unknown), newest: []eventstore.Recorded{other(30), other(19)}, stream: inStream(9), holds: true},
	} {
		t.Run(name, func(t *testing.T) {
			there, err := known.in(reads{
				all: func(direction es.Direction, _ es.AllPosition, _ uint64) ([]eventstore.Recorded, error) {
					if direction == es.Forwards {
						return c.first, c.err
					}
					return c.newest, c.failed
				},
				next: func(stream eventstore.StreamID, from eventstore.Revision) ([]eventstore.Recorded, error) {
					require.Equal(t, known.stream, stream)
					require.Equal(t, known.revision, from)
					return c.stream, c.inStream
				},
			})
			require.Equal(t, c.holds, there)
			if c.fails {
				require.Equal(t, cmp.Or(c.err, c.inStream), err)
				return
			}
			require.NoError(t, err)
		})
	}
}
