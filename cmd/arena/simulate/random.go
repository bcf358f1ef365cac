package simulate

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// Random returns a source for crypto/rand. The numbers depend on the time, and at the
// same moment on the order of the calls. So it does not matter how many numbers others
// have drawn before, for example the goroutines of a process that was killed.
func (w *World) Random() io.Reader { return &random{world: w} }

type random struct {
	world *World

	mu   sync.Mutex // guards the fields below
	last time.Duration
	nth  uint64 // call at the time last
}

// Read implements io.Reader.
func (r *random) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.world.Age()
	if now != r.last {
		r.last, r.nth = now, 0
	}
	r.nth++
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], r.world.seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(now))
	binary.LittleEndian.PutUint64(key[16:], r.nth)
	return rand.NewChaCha8(key).Read(p)
}
