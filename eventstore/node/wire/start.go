package wire

import "math"

// Start is the start of a read or a subscription. At is a revision or a position,
// for FromExactly. Prepare is the prepare position of a start in $all; only
// subscriptions use it.
type Start struct {
	Kind        startKind
	At, Prepare uint64
}

type startKind int

// The kinds of starts.
const (
	FromStart startKind = iota
	FromEnd
	FromExactly
)

// ExactStart returns the start at a number. Some clients write the end as the
// highest number.
func ExactStart(at, prepare uint64) Start {
	if at == math.MaxUint64 {
		return Start{Kind: FromEnd}
	}
	return Start{Kind: FromExactly, At: at, Prepare: prepare}
}
