package node

import "math"

// start is where to begin; at is a revision or a position where it is neither
// of the ends. Beside a position, prepare matters to subscriptions alone.
type start struct {
	kind        startKind
	at, prepare uint64
}

type startKind int

const (
	fromStart startKind = iota
	fromEnd
	fromExactly
)

// exactStart takes the highest number for the end, as some clients write it.
func exactStart(at, prepare uint64) start {
	if at == math.MaxUint64 {
		return start{kind: fromEnd}
	}
	return start{kind: fromExactly, at: at, prepare: prepare}
}
