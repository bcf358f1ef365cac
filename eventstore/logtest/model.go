package logtest

import (
	"encoding/binary"
	"strings"

	"github.com/anishathalye/porcupine"

	"hexarena/eventstore"
)

// number stands for the id of an event. The state of a stream in the model is the
// string of its events' numbers.
type number [numberSize]byte

const numberSize = 4

func newNumber(n int) number {
	var b number
	binary.BigEndian.PutUint32(b[:], uint32(n))
	return b
}

// sequentialLog is a log that handles one call after another. Streams are independent.
var sequentialLog = porcupine.Model{
	Partition: byStream,
	Init:      func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		req, ans := input.(request), output.(answer)
		if req.ids == "" {
			return isRead(state.(string), req, ans), state
		}
		after, want := appendTo(state.(string), req)
		if ans.unknown {
			return true, after // an append that never takes effect may as well come last
		}
		return ans == want, after
	},
}

func byStream(history []porcupine.Operation) [][]porcupine.Operation {
	of := map[eventstore.StreamID]int{}
	var parts [][]porcupine.Operation
	for _, op := range history {
		id := op.Input.(request).stream
		i, known := of[id]
		if !known {
			i = len(parts)
			of[id], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}

// isRead reports whether an answer is right for a read of a stream.
func isRead(stream string, req request, ans answer) bool {
	if ans.revision != revisionOf(stream) {
		return false
	}
	if req.head && stream != "" {
		stream = stream[len(stream)-numberSize:]
	}
	return ans.ids == stream
}

// appendTo returns a stream after an append, and the answer. It assumes that no id was
// stored twice.
func appendTo(stream string, req request) (string, answer) {
	last, n := revisionOf(stream), eventstore.Expected(len(req.ids)/numberSize)
	conflict := answer{conflict: true, revision: last}
	switch expected := req.expected; {
	case expected == eventstore.Any, expected == eventstore.Exists && last >= 0:
		if at := index(stream, req.ids[:numberSize]); at >= 0 {
			return stream, retried(stream, at, req.ids, conflict)
		}
	case expected == eventstore.Exists, expected > last:
		return stream, conflict
	case expected < last:
		return stream, retried(stream, int(expected)+1, req.ids, conflict)
	}
	return stream + req.ids, answer{revision: last + n}
}

// retried returns the answer to a retry of the events that a stream holds from a
// revision on.
func retried(stream string, at int, ids string, conflict answer) answer {
	if !strings.HasPrefix(stream[at*numberSize:], ids) {
		return conflict
	}
	return answer{revision: eventstore.Expected(at + len(ids)/numberSize - 1)}
}

func revisionOf(stream string) eventstore.Expected {
	return eventstore.Expected(len(stream)/numberSize) - 1
}

// index returns the revision of an event, and -1 if the stream does not have it.
func index(stream, id string) int {
	for i := 0; i < len(stream); i += numberSize {
		if stream[i:i+numberSize] == id {
			return i / numberSize
		}
	}
	return -1
}
