package api

import "time"

// SetStreamTimes sets how long readers of streams may take to take a write, and
// the end of the stream. Tests on sockets set times that no loaded machine
// exceeds.
func (s *Server) SetStreamTimes(write, last time.Duration) {
	s.streams.writeTime, s.streams.lastTime = write, last
}
