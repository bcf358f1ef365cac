package main

import (
	"encoding/binary"
	"strings"

	"github.com/anishathalye/porcupine"

	"hexarena/eventstore"
)

// eventNumber is a short replacement for the id of an event. In the model, the state
// of a stream is a string: the joined numbers of its events.
type eventNumber [eventNumberSize]byte

const eventNumberSize = 4

func newEventNumber(n int) eventNumber {
	var b eventNumber
	binary.BigEndian.PutUint32(b[:], uint32(n))
	return b
}

// sequentialLog models a log that handles one call after another. Streams are
// independent.
var sequentialLog = porcupine.Model{
	Partition: byStream,
	Init:      func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		req, ans := input.(logRequest), output.(logAnswer)
		if req.ids == "" {
			return isRead(state.(string), req, ans), state
		}
		after, want := appendTo(state.(string), req)
		if ans.unknown {
			return true, after // an append that never took effect can come last in the order
		}
		return ans == want, after
	},
}

func byStream(history []porcupine.Operation) [][]porcupine.Operation {
	of := map[eventstore.StreamID]int{}
	var parts [][]porcupine.Operation
	for _, op := range history {
		id := op.Input.(logRequest).stream
		i, known := of[id]
		if !known {
			i = len(parts)
			of[id], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}

// isRead reports whether ans is the correct result of a read of a stream.
func isRead(stream string, req logRequest, ans logAnswer) bool {
	if ans.revision != revisionOf(stream) {
		return false
	}
	if req.head && stream != "" {
		stream = stream[len(stream)-eventNumberSize:]
	}
	return ans.ids == stream
}

// appendTo returns the stream after an append, and the result of the append. It
// assumes that the stream contains no id twice.
func appendTo(stream string, req logRequest) (string, logAnswer) {
	last, n := revisionOf(stream), eventstore.Expected(len(req.ids)/eventNumberSize)
	conflict := logAnswer{conflict: true, revision: last}
	switch expected := req.expected; {
	case expected == eventstore.Any, expected == eventstore.Exists && last >= 0:
		if at := indexOfEvent(stream, req.ids[:eventNumberSize]); at >= 0 {
			return stream, retried(stream, at, req.ids, conflict)
		}
	case expected == eventstore.Exists, expected > last:
		return stream, conflict
	case expected < last:
		return stream, retried(stream, int(expected)+1, req.ids, conflict)
	}
	return stream + req.ids, logAnswer{revision: last + n}
}

// The function retried() returns the result of retrying an append whose first event is
// already stored. The parameter at is the revision of that event.
func retried(stream string, at int, ids string, conflict logAnswer) logAnswer {
	if !strings.HasPrefix(stream[at*eventNumberSize:], ids) {
		return conflict
	}
	return logAnswer{revision: eventstore.Expected(at + len(ids)/eventNumberSize - 1)}
}

func revisionOf(stream string) eventstore.Expected {
	return eventstore.Expected(len(stream)/eventNumberSize) - 1
}

// indexOfEvent returns the revision of an event, or -1 if the stream does not contain
// the event.
func indexOfEvent(stream, id string) int {
	for i := 0; i < len(stream); i += eventNumberSize {
		if stream[i:i+eventNumberSize] == id {
			return i / eventNumberSize
		}
	}
	return -1
}
