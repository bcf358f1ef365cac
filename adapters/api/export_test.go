package api

import "time"

// SetStreamTimes sets how long a write to a reader of a stream may take, and the
// end of the stream. Tests on sockets set times that no busy machine exceeds.
func (s *Server) SetStreamTimes(write, last time.Duration) {
	s.streams.writeTime, s.streams.lastTime = write, last
}
