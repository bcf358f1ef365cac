package persistent

import (
	"encoding/json"
	"hash/fnv"
	"slices"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/streams"
)

// strategy chooses the consumer of a message. The group's lock guards it.
type strategy interface {
	add(*consumer)
	remove(*consumer)

	// pick returns a consumer that can take a message with this pin. It returns nil if
	// no consumer can.
	pick(pin uint32) *consumer

	// pin returns the same number for all messages that should go to the same
	// consumer.
	pin(*streams.Reader, *record.Record) (uint32, error)

	// The method pinned() reports whether pick may find a consumer for a message even
	// if it found none for the previous message.
	pinned() bool
}

// These are the names of the strategies.
const (
	roundRobin          = "RoundRobin"
	dispatchToSingle    = "DispatchToSingle"
	pinnedByStream      = "Pinned"
	pinnedByCorrelation = "PinnedByCorrelation"
)

// newStrategy returns the strategy with the given name, or nil if the name is unknown.
func newStrategy(name string) strategy {
	switch name {
	case roundRobin:
		return &turns{fair: true}
	case dispatchToSingle:
		return &turns{}
	case pinnedByStream:
		return &buckets{of: sourceOf}
	case pinnedByCorrelation:
		return &buckets{of: correlationOf}
	}
	return nil
}

// The type turns is a strategy. If its field fair is set, it sends each message to the
// next consumer. Otherwise, it sends messages to one consumer until that consumer has
// no free capacity.
type turns struct {
	fair  bool
	queue []*consumer
}

func (t *turns) add(c *consumer)                                     { t.queue = append(t.queue, c) }
func (t *turns) pin(*streams.Reader, *record.Record) (uint32, error) { return 0, nil }
func (t *turns) pinned() bool                                        { return false }

func (t *turns) remove(c *consumer) {
	t.queue = slices.DeleteFunc(t.queue, func(other *consumer) bool { return other == c })
}

func (t *turns) pick(uint32) *consumer {
	for i, c := range t.queue {
		if c.free() == 0 {
			continue
		}
		if t.fair {
			i++
		}
		if i %= len(t.queue); i > 0 {
			t.queue = slices.Concat(t.queue[i:], t.queue[:i])
		}
		return c
	}
	return nil
}

// bucketCount is the number of buckets, as in EventStoreDB.
const bucketCount = 1024

// The type buckets is a strategy that sends all messages of a bucket to one consumer
// until that consumer leaves. A new consumer takes buckets from the consumers that have
// the most.
type buckets struct {
	of    func(*streams.Reader, *record.Record) (string, error)
	owner [bucketCount]*consumer
	count map[*consumer]int
}

func (b *buckets) pinned() bool { return true }

func (b *buckets) pin(s *streams.Reader, r *record.Record) (uint32, error) {
	name, err := b.of(s, r)
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return h.Sum32() % bucketCount, err
}

func (b *buckets) add(c *consumer) {
	if b.count == nil {
		b.count = map[*consumer]int{}
	}
	b.count[c] = 0
	share := bucketCount / len(b.count)
	for i, owner := range b.owner {
		if b.count[c] >= share {
			return
		}
		if owner == nil || b.count[owner] > share {
			b.give(i, c)
		}
	}
}

func (b *buckets) give(bucket int, to *consumer) {
	if owner := b.owner[bucket]; owner != nil {
		b.count[owner]--
	}
	b.owner[bucket] = to
	b.count[to]++
}

func (b *buckets) remove(c *consumer) {
	delete(b.count, c)
	for i, owner := range b.owner {
		if owner != c {
			continue
		}
		b.owner[i] = nil
		if least := b.least(); least != nil {
			b.give(i, least)
		}
	}
}

// The method least() returns the consumer with the fewest buckets.
func (b *buckets) least() (least *consumer) {
	for c, count := range b.count {
		if least == nil || count < b.count[least] {
			least = c
		}
	}
	return least
}

func (b *buckets) pick(pin uint32) *consumer {
	if c := b.owner[pin]; c != nil && c.free() > 0 {
		return c
	}
	return nil
}

// sourceOf returns an event's stream. For a link, it returns the stream of the link's
// target.
func sourceOf(_ *streams.Reader, r *record.Record) (string, error) {
	if r.Type == record.TypeLink {
		if stream, _, ok := record.ParseLink(r.Data); ok {
			return stream, nil
		}
	}
	return r.Stream, nil
}

// correlationOf returns the correlation id in an event's metadata, or the event's
// stream if the metadata does not contain one. For a link, it uses the target event.
func correlationOf(s *streams.Reader, r *record.Record) (string, error) {
	found, err := s.NewLinkTargets().Resolve(r)
	if err != nil {
		return "", err
	}
	var metadata struct {
		ID string `json:"$correlationId"`
	}
	if found.Event != nil && json.Unmarshal([]byte(found.Event.Metadata), &metadata) == nil && metadata.ID != "" {
		return metadata.ID, nil
	}
	return sourceOf(s, r)
}
