package writer

import (
	"context"

	"hexarena/eventstore/node/lifecycle"
)

// The tiers limit the memory that the unanswered appends of all connections use
// together. Each tier admits a limited number of calls up to a certain size. While
// the admitted events are being written, they use the same amount of memory again.
// The node does not read from a call that is waiting for admission, so the client
// has to wait too.
var tiers = [...]struct{ calls, bytes int }{
	{2048, 16 << 10},
	{32, 2 << 20},
	{1, MaxMemory},
}

// MaxMemory is the memory that one append may use, in bytes.
const MaxMemory = 64 << 20

// Memory returns how much memory an append uses. The parameter bytes is the size of its
// strings.
func Memory(events, bytes int) int { return bytes + events*eventCost }

// eventCost is the memory that an event uses besides its strings, in bytes.
const eventCost = 128

// Admission limits the appends that are in progress. A call takes a slot before it
// receives its events. When its events exceed the slot's tier, it takes a slot of a
// higher tier, and keeps the lower one while it waits. A call in the highest tier
// waits only for its own client and the disk, so slots always become free. An
// Admission is safe for concurrent use.
type Admission struct {
	slots [len(tiers)]chan struct{}
	life  *lifecycle.Lifecycle
}

// NewAdmission returns the admission of a node. All connections of the node share it.
func NewAdmission(life *lifecycle.Lifecycle) *Admission {
	a := &Admission{life: life}
	for i := range a.slots {
		a.slots[i] = make(chan struct{}, tiers[i].calls)
	}
	return a
}

// Slot is the admission of one call. Only one goroutine at a time may use it. The
// node's own appends use the zero Slot.
type Slot struct {
	admission *Admission
	tier      int
}

// Enter waits for a slot of the lowest tier.
func (a *Admission) Enter(ctx context.Context) (Slot, error) {
	return Slot{admission: a}, a.wait(ctx, 0)
}

// Fit waits until the slot is in a tier that admits a call of this size. The highest tier
// admits every size, so callers must reject appends that exceed MaxMemory.
func (s *Slot) Fit(ctx context.Context, events, bytes int) error {
	for Memory(events, bytes) > tiers[s.tier].bytes && s.tier+1 < len(tiers) {
		if err := s.admission.wait(ctx, s.tier+1); err != nil {
			return err
		}
		<-s.admission.slots[s.tier]
		s.tier++
	}
	return nil
}

// Leave frees the slot. Call it only once.
func (s *Slot) Leave() {
	if s.admission != nil {
		<-s.admission.slots[s.tier]
	}
}

func (a *Admission) wait(ctx context.Context, tier int) error {
	select {
	case a.slots[tier] <- struct{}{}:
		return nil
	default:
	}
	select {
	case a.slots[tier] <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-a.life.Open().Done():
		return a.life.Ready()
	}
}
