package persistent

import (
	"context"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/writer"
)

// Log is the part of the node that persistent subscriptions use. They read their
// sources from the log and keep their own state in it.
type Log struct {
	*streams.Reader
	writer *writer.Writer
}

// write appends events of the group's own. It reports false if the stream is
// tombstoned.
func (l *Log) write(stream string, events ...writer.Proposed) (bool, error) {
	out, err := l.writer.Submit(context.Background(), &writer.Request{Act: writer.Append, Stream: stream, Expected: writer.Any, Events: events})
	if err == nil && out.Verdict != writer.Stored {
		l.Logger.Warn("cannot write the state of a persistent subscription: its stream is deleted", "stream", stream)
	}
	return out.Verdict == writer.Stored, err
}

// writeMetaOf replaces a stream's metadata.
func (l *Log) writeMetaOf(stream, data string) error {
	_, err := l.write(record.MetadataPrefix+stream, writer.Proposed{ID: uuid.New(), JSON: true, Type: record.TypeMetadata, Data: data})
	return err
}

// lastOf returns a stream's last visible event; ok is false if there is none.
func (l *Log) lastOf(stream string) (r record.Record, ok bool, err error) {
	within := l.Tail.End()
	v, err := l.Store.View(stream, within, record.Ticks(l.Now()))
	if err != nil || v.Tombstoned() || v.Last < v.First || v.Last < 0 {
		return record.Record{}, false, err
	}
	return l.Store.Find(stream, uint64(v.Last), within)
}
