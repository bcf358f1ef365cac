package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

func TestMemoryAgreesWithEmbeddedNode(t *testing.T) {
	agree(t, memory.New(), openNode(t))
}

// This test checks the function agree: it must find no difference between two logs
// in memory. So a difference that it finds between other logs is real.
func TestMemoryAgreesWithMemory(t *testing.T) {
	agree(t, memory.New(), memory.New())
}

// agree tests that two logs return the same results. It makes the same random
// sequence of calls on both logs. The calls use few streams and few ids, so that
// they conflict. If the logs disagree, the failure shows the shortest sequence
// found.
func agree(t *testing.T, one, other eventstore.Log) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		run := uuid.New()
		d := drawer{t: rt, name: fmt.Sprintf("agree%x", run[:6])}
		for range 8 {
			d.ids = append(d.ids, uuid.New())
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			step := d.step()
			require.Equal(rt, step(ctx, one), step(ctx, other))
		}
	})
}

// drawer draws calls at random.
type drawer struct {
	t    *rapid.T
	name string
	ids  []uuid.UUID
}

// step chooses a random call. The returned function makes the call on a log and
// describes the result, which must be the same for both logs.
func (d *drawer) step() func(context.Context, eventstore.Log) string {
	id := eventstore.StreamID(fmt.Sprintf("%s-%d", d.name, rapid.IntRange(0, 2).Draw(d.t, "stream")))
	switch rapid.SampledFrom([]string{"append", "append", "append", "read", "metadata", "tombstone"}).Draw(d.t, "call") {
	case "append":
		return d.append(id)
	case "read":
		return d.read(id)
	case "metadata":
		m := eventstore.StreamMetadata{MaxCount: rapid.Uint64Range(0, 3).Draw(d.t, "max count")}
		return func(ctx context.Context, log eventstore.Log) string {
			return outcome(log.SetMetadata(ctx, id, m))
		}
	}
	if rapid.IntRange(0, 4).Draw(d.t, "tombstone if 0") > 0 {
		return d.read(id)
	}
	expected := d.expected()
	return func(ctx context.Context, log eventstore.Log) string {
		return outcome(log.Tombstone(ctx, id, expected))
	}
}

// append usually takes consecutive ids from the pool, so that some appends retry
// earlier appends or parts of them. Sometimes it takes random ids, even the same id
// twice. An append with random ids is not a retry.
func (d *drawer) append(id eventstore.StreamID) func(context.Context, eventstore.Log) string {
	expected := d.expected()
	first := rapid.IntRange(0, len(d.ids)-1).Draw(d.t, "first id")
	events := make([]eventstore.Event, rapid.IntRange(1, 3).Draw(d.t, "events"))
	consecutive := rapid.IntRange(0, 2).Draw(d.t, "consecutive ids if > 0") > 0
	drawn := make([]int, len(events))
	for i := range events {
		drawn[i] = (first + i) % len(d.ids)
		if !consecutive && i > 0 {
			drawn[i] = rapid.IntRange(0, len(d.ids)-1).Draw(d.t, "id")
		}
		events[i] = eventstore.Event{ID: d.ids[drawn[i]], Type: "Drawn", Data: []byte("{}")}
	}
	return func(ctx context.Context, log eventstore.Log) string {
		appended, err := log.Append(ctx, id, expected, events...)
		return fmt.Sprintf("append %s at %s ids %v: %d, %s", id, expected, drawn, appended.Revision, outcome(err))
	}
}

func (d *drawer) expected() eventstore.Expected {
	return rapid.SampledFrom([]eventstore.Expected{eventstore.NoStream, eventstore.Any, eventstore.Exists, 0, 1, 2, 3, 4, 5}).Draw(d.t, "expected")
}

func (d *drawer) read(id eventstore.StreamID) func(context.Context, eventstore.Log) string {
	opt := eventstore.ReadOptions{
		Direction: eventstore.Direction(rapid.Bool().Draw(d.t, "backwards")),
		Limit:     rapid.IntRange(0, 4).Draw(d.t, "limit"),
	}
	from := rapid.SampledFrom([]eventstore.Revision{0, 1, 2, 5, 100, eventstore.EndRevision}).Draw(d.t, "from")
	return func(ctx context.Context, log eventstore.Log) string {
		answer := fmt.Sprintf("read %s from %d %+v:", id, from, opt)
		for r, err := range log.Read(ctx, id, from, opt) {
			if err != nil {
				return answer + " " + outcome(err)
			}
			answer += fmt.Sprintf(" %d=%s", r.Revision, r.ID)
		}
		return answer
	}
}

// outcome describes an error with only the details that callers can
// distinguish.
func outcome(err error) string {
	var wrong *eventstore.WrongVersionError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &wrong):
		return fmt.Sprintf("at %s, not %s", wrong.Current, wrong.Expected)
	case errors.Is(err, eventstore.ErrStreamDeleted):
		return "tombstoned"
	}
	return err.Error()
}
