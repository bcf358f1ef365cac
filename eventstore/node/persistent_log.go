package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// eventLog is the part of the node that persistent subscriptions use: they read
// their sources from the log, and keep their own state in it.
type eventLog struct {
	logger  *slog.Logger
	now     func() time.Time
	life    *lifecycle
	store   *store
	tail    *tail
	writer  *writer
	streams *streamReader
}

// write appends on the group's own account. It is false for a stream that is
// tombstoned.
func (l *eventLog) write(stream string, events ...proposed) (bool, error) {
	out, err := l.writer.submit(context.Background(), &request{act: actAppend, stream: stream, expected: expectAny, events: events})
	if err == nil && out.verdict != stored {
		l.logger.Warn("a stream of a persistent subscription takes no events", "stream", stream)
	}
	return out.verdict == stored, err
}

// writeMetaOf replaces a stream's metadata.
func (l *eventLog) writeMetaOf(stream, data string) error {
	_, err := l.write(metaPrefix+stream, proposed{id: uuid.New(), json: true, kind: typeMetadata, data: data})
	return err
}

// lastOf is a stream's last event that can be seen, if there is one.
func (l *eventLog) lastOf(stream string) (record, bool, error) {
	within := l.tail.end()
	v, err := l.store.view(stream, within, ticks(l.now()))
	if err != nil || v.tombstoned() || v.last < v.first || v.last < 0 {
		return record{}, false, err
	}
	return l.store.find(stream, uint64(v.last), within)
}
