package lease

// Generation returns the number of this claim, counted over the whole log from 1.
func (l *Lease) Generation() uint64 { return l.generation }
