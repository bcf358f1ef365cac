package node

import "context"

// What appends that are not yet answered may hold of memory, over all
// connections: so many calls of so much each, and once more for what of it is
// being written. A call that waits for its turn is not read from, so that the
// wait reaches back to its client.
var tiers = [...]struct{ calls, bytes int }{
	{2048, 16 << 10},
	{32, 2 << 20},
	{1, 64 << 20}, // what maxAppend allows at most, in events of next to nothing
}

// eventCost is what an event takes beside its texts.
const eventCost = 128

// room admits appends. A call takes a seat before its events are received, and
// a larger one when it outgrows that. Who waits for a larger seat keeps the
// one that it has, and who has the largest waits for its own client and the
// disk alone: so seats do come free. Safe for concurrent use.
type room struct {
	seats           [len(tiers)]chan struct{}
	broken, closing <-chan struct{} // there is nothing left to wait for
}

func newRoom(broken, closing <-chan struct{}) *room {
	r := &room{broken: broken, closing: closing}
	for i := range r.seats {
		r.seats[i] = make(chan struct{}, tiers[i].calls)
	}
	return r
}

// seat is what one call has of the room. It belongs to one goroutine at a time.
type seat struct {
	room *room
	tier int
}

// enter waits for a seat of the smallest kind.
func (r *room) enter(ctx context.Context) (*seat, error) {
	if err := r.wait(ctx, 0); err != nil {
		return nil, err
	}
	return &seat{room: r}, nil
}

// fit makes the seat one for a call of so many events and bytes.
func (s *seat) fit(ctx context.Context, events, bytes int) error {
	for bytes+events*eventCost > tiers[s.tier].bytes && s.tier+1 < len(tiers) {
		if err := s.room.wait(ctx, s.tier+1); err != nil {
			return err
		}
		<-s.room.seats[s.tier]
		s.tier++
	}
	return nil
}

// leave gives the seat up, once; a nil seat is none.
func (s *seat) leave() {
	if s != nil {
		<-s.room.seats[s.tier]
	}
}

func (r *room) wait(ctx context.Context, tier int) error {
	select {
	case r.seats[tier] <- struct{}{}:
		return nil
	default:
	}
	select {
	case r.seats[tier] <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.broken:
		return errFailed
	case <-r.closing:
		return errClosed
	}
}
