package api

import "time"

// SetStreamTimes sets how long a write to a stream's reader may take, and how
// long the last write may take. Tests on sockets set times that are long enough
// even on a busy machine.
func (s *Server) SetStreamTimes(write, last time.Duration) {
	s.streams.writeTime, s.streams.lastTime = write, last
}
