package lease

// Generation returns the number of this claim. Claims are numbered from 1 over
// the whole log.
func (l *Lease) Generation() uint64 { return l.generation }
