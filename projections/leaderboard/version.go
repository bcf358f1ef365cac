package leaderboard

// Version changes with every ranking: it counts the matches that their ladders
// have closed.
func (l *Leaderboard) Version() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return uint64(l.matches)
}
