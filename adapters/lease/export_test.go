package lease

// Generation returns the number of this claim. All claims in the log are numbered from
// 1.
func (l *Lease) Generation() uint64 { return l.generation }
