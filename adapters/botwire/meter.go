package botwire

import "time"

// These constants limit the data on a socket (docs/protocol.md, "Size and floods").
const (
	byteBurst = 1 << 20  // bytes
	byteRate  = 64 << 10 // bytes per second
	pingRate  = 100      // pings per second; also the largest burst
)

// bucket is a token bucket: it starts full and refills at a steady rate. It is not
// safe for concurrent use.
type bucket struct {
	size, rate, tokens float64
	at                 time.Time
}

func newBucket(size, rate float64, now time.Time) bucket {
	return bucket{size: size, rate: rate, tokens: size, at: now}
}

// take removes n tokens, and reports whether the bucket held enough tokens. now must
// not go backwards between calls.
func (b *bucket) take(n int, now time.Time) bool {
	b.tokens = min(b.size, b.tokens+b.rate*now.Sub(b.at).Seconds())
	b.at = now
	b.tokens -= float64(n)
	return b.tokens >= 0
}

// meter tracks the remaining budget of a socket.
type meter struct {
	bytes, pings bucket
}

func newMeter(now time.Time) meter {
	return meter{
		bytes: newBucket(byteBurst, byteRate, now),
		pings: newBucket(pingRate, pingRate, now),
	}
}

// take subtracts the cost of one read, and reports whether the socket is within
// its budget.
func (m *meter) take(t toll, now time.Time) bool {
	withinBytes := m.bytes.take(max(t.cost, readCost), now)
	return m.pings.take(t.pings, now) && withinBytes
}
