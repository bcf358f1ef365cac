package wire

import "math"

// Start is where to begin; at is a revision or a position where it is neither
// of the ends. Beside a position, prepare matters to subscriptions alone.
type Start struct {
	Kind        startKind
	At, Prepare uint64
}

type startKind int

const (
	FromStart startKind = iota
	FromEnd
	FromExactly
)

// ExactStart takes the highest number for the end, as some clients write it.
func ExactStart(at, prepare uint64) Start {
	if at == math.MaxUint64 {
		return Start{Kind: FromEnd}
	}
	return Start{Kind: FromExactly, At: at, Prepare: prepare}
}
