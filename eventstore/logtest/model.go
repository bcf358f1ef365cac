package logtest

import (
	"encoding/binary"
	"strings"

	"github.com/anishathalye/porcupine"

	"hexarena/eventstore"
)

// number stands for an event's id. A stream, to the model, is its events'
// numbers in a row.
type number [numberSize]byte

const numberSize = 4

func newNumber(n int) number {
	var b number
	binary.BigEndian.PutUint32(b[:], uint32(n))
	return b
}

// oneAfterAnother is a log that does one thing after another, stream by stream.
var oneAfterAnother = porcupine.Model{
	Partition: byStream,
	Init:      func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		question, answer := input.(asked), output.(told)
		if question.ids == "" {
			return isRead(state.(string), question, answer), state
		}
		after, want := appendTo(state.(string), question)
		if answer.unknown {
			return true, after // if it never happens, it may as well come last
		}
		return answer == want, after
	},
}

func byStream(history []porcupine.Operation) [][]porcupine.Operation {
	of := map[eventstore.StreamID]int{}
	var parts [][]porcupine.Operation
	for _, op := range history {
		id := op.Input.(asked).stream
		i, known := of[id]
		if !known {
			i = len(parts)
			of[id], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}

// isRead says whether a read of a stream may be answered so.
func isRead(stream string, question asked, answer told) bool {
	if answer.revision != revisionOf(stream) {
		return false
	}
	if question.head && stream != "" {
		stream = stream[len(stream)-numberSize:]
	}
	return answer.ids == stream
}

// appendTo returns a stream after an append and what the client is told: the
// node contract's "Append", as far as ids that were stored once go.
func appendTo(stream string, question asked) (string, told) {
	last, n := revisionOf(stream), eventstore.Expected(len(question.ids)/numberSize)
	conflict := told{conflict: true, revision: last}
	switch expected := question.expected; {
	case expected == eventstore.Any, expected == eventstore.Exists && last >= 0:
		if at := index(stream, question.ids[:numberSize]); at >= 0 {
			return stream, retried(stream, at, question.ids, conflict)
		}
	case expected == eventstore.Exists, expected > last:
		return stream, conflict
	case expected < last:
		return stream, retried(stream, int(expected)+1, question.ids, conflict)
	}
	return stream + question.ids, told{revision: last + n}
}

// retried is the answer to an append of what a stream holds from a revision on.
func retried(stream string, at int, ids string, conflict told) told {
	if !strings.HasPrefix(stream[at*numberSize:], ids) {
		return conflict
	}
	return told{revision: eventstore.Expected(at + len(ids)/numberSize - 1)}
}

func revisionOf(stream string) eventstore.Expected {
	return eventstore.Expected(len(stream)/numberSize) - 1
}

// index returns the revision of an event, -1 if it is not there.
func index(stream, id string) int {
	for i := 0; i < len(stream); i += numberSize {
		if stream[i:i+numberSize] == id {
			return i / numberSize
		}
	}
	return -1
}
