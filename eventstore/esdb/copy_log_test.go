package esdb

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node"
)

// testLog is a log on its own node. Besides the methods of eventstore.Log, it has
// methods that write everything else that clients of the server can write.
type testLog struct {
	t *testing.T
	*Log
	node *node.Node
}

// newTestLog opens a log on its own node. The node uses now as its clock.
func newTestLog(t *testing.T, now func() time.Time) testLog {
	n, err := node.Open(node.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: now})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- n.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		require.NoError(t, <-served)
	})
	return testLog{t, openDirect(t, listener.Addr().String()), n}
}

// do calls the client directly.
func (a testLog) do(what string, f func(context.Context, *es.Client) error) {
	a.t.Helper()
	_, err := attempt(a.t.Context(), a.Log, what, func(ctx context.Context, c *es.Client) (struct{}, error) {
		return struct{}{}, f(ctx, c)
	})
	require.NoError(a.t, err, what)
}

func (a testLog) append(stream string, events ...es.EventData) {
	a.t.Helper()
	a.do("append to "+stream, func(ctx context.Context, c *es.Client) error {
		_, err := c.AppendToStream(ctx, stream, es.AppendToStreamOptions{ExpectedRevision: es.Any{}}, events...)
		return err
	})
}

// appendSmall appends n small events.
func (a testLog) appendSmall(stream string, n int) {
	a.t.Helper()
	a.append(stream, some(n)...)
}

func (a testLog) describe(stream, metadata string) {
	a.t.Helper()
	a.append("$$"+stream, es.EventData{EventID: uuid.New(), EventType: "$metadata", ContentType: es.ContentTypeJson, Data: []byte(metadata)})
}

func (a testLog) softDelete(stream string) {
	a.t.Helper()
	a.do("delete "+stream, func(ctx context.Context, c *es.Client) error {
		_, err := c.DeleteStream(ctx, stream, es.DeleteStreamOptions{ExpectedRevision: es.Any{}})
		return err
	})
}

func (a testLog) tombstone(stream string) {
	a.t.Helper()
	a.do("tombstone "+stream, func(ctx context.Context, c *es.Client) error {
		_, err := c.TombstoneStream(ctx, stream, es.TombstoneStreamOptions{ExpectedRevision: es.Any{}})
		return err
	})
}

func some(n int) []es.EventData {
	all := make([]es.EventData, n)
	for i := range all {
		all[i] = es.EventData{
			EventID: uuid.New(), EventType: fmt.Sprintf("Small%d", i%3), ContentType: es.ContentTypeJson,
			Data: fmt.Appendf(nil, `{"n":%d}`, i), Metadata: []byte(`{"at":"2026-11-21T12:00:00.000Z"}`),
		}
	}
	return all
}

// fill writes about 300 events to several streams in turn. The events and streams
// include every kind for which the server has special rules.
func (a testLog) fill() {
	a.describe("arena-player", `{"$maxCount":1}`)
	a.describe("address-1", `{"$maxCount":1}`)
	a.describe("truncated", `{"$tb":4,"kept":"as it is"}`)
	for round := range 12 {
		a.appendSmall("arena-player", 2)
		a.appendSmall("ladder-standard", 1)
		for match := range 4 {
			a.appendSmall(fmt.Sprintf("match-%d", match), 3)
		}
		if round%4 == 0 {
			a.appendSmall("address-1", 1)
			a.appendSmall("truncated", 2)
			a.appendSmall("deleted", 2)
			a.appendSmall("revived", 2)
			a.appendSmall("doomed", 2)
		}
	}
	a.append("odd", es.EventData{EventID: uuid.New(), EventType: "Raw", ContentType: es.ContentTypeBinary, Data: []byte{0, 1, 0xff}, Metadata: []byte("none of JSON")},
		es.EventData{EventID: uuid.New(), EventType: "Empty", ContentType: es.ContentTypeBinary},
		es.EventData{EventID: uuid.New(), EventType: "Größe", ContentType: es.ContentTypeJson, Data: []byte(`{}`)})
	a.append("large", es.EventData{EventID: uuid.New(), EventType: "Large", ContentType: es.ContentTypeJson, Data: []byte(`"` + strings.Repeat("x", 900_000) + `"`)})
	a.append("links", es.EventData{EventID: uuid.New(), EventType: "$>", ContentType: es.ContentTypeBinary, Data: []byte("1@match-0")})
	a.describe("without-events", `{"$acl":{"$r":["arena","analysts"]},"$cacheControl":5}`)
	a.describe("match-0", `{"note":"first"}`)
	a.describe("match-0", `{"note":"second"}`)
	a.appendSmall("$of-the-server", 3)
	a.describe("$of-the-server", `{"$maxCount":3}`)
	a.softDelete("deleted")
	a.softDelete("revived")
	a.appendSmall("revived", 3)
	a.tombstone("doomed")
	a.tombstone("never-written")
	a.appendSmall("match-3", 1)
}

// contents holds the parts of a log that a copy preserves.
type contents struct {
	Events   []storedEvent // including tombstones, in the order of $all
	Metadata map[string]string
}

type storedEvent struct {
	Stream, Type, Content, Data, Metadata string
	Revision                              uint64
	ID                                    uuid.UUID
}

func (a testLog) contents() contents {
	a.t.Helper()
	h := contents{Metadata: map[string]string{}}
	gone := map[string]bool{}
	for e, err := range a.everything(a.t.Context(), nil) {
		require.NoError(a.t, err)
		switch {
		case systemStream(originalStream(e.StreamID)):
		case describes(e.StreamID):
			h.Metadata[originalStream(e.StreamID)] = string(e.Data)
		case tombstone(e):
			gone[e.StreamID] = true
			h.Events = append(h.Events, storedEvent{Stream: e.StreamID, Type: e.EventType})
		default:
			h.Events = append(h.Events, storedEvent{
				Stream: e.StreamID, Type: e.EventType, Content: e.ContentType, Data: string(e.Data),
				Metadata: string(e.UserMetadata), Revision: e.EventNumber, ID: e.EventID,
			})
		}
	}
	for stream := range gone {
		delete(h.Metadata, stream)
	}
	return h
}
