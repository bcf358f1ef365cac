package outage

import (
	"context"
	"sync"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/proto"
)

// Held is an append that waits at the leader, so that a test can cause a fault exactly
// then. The leader has not stored it yet.
type Held struct {
	Arrived <-chan struct{} // closes when the append has arrived

	eventType string
	arrived   chan struct{}
	released  chan struct{}
	release   func()
}

// Release lets the append continue.
func (h *Held) Release() { h.release() }

// Hold makes the next append of an event of the given type wait at the leader. The append
// continues after Release, or when the state of this node changes. The node then answers
// according to its state. Only this call waits: if the client appends again, that call
// passes. Hold replaces an earlier Hold whose append has not arrived yet.
func (c *Cluster) Hold(eventType string) *Held {
	h := &Held{eventType: eventType, arrived: make(chan struct{}), released: make(chan struct{})}
	h.Arrived, h.release = h.arrived, sync.OnceFunc(func() { close(h.released) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = h
	return h
}

// hold waits if the cluster holds this append. The node must be the leader.
func (m *member) hold(ctx context.Context, request []frame) error {
	h, changed := m.take(request)
	if h == nil {
		return nil
	}
	close(h.arrived)
	select {
	case <-h.released:
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take returns the Held for an append, or nil, and a channel that closes when the state
// of the node changes.
func (m *member) take(request []frame) (*Held, <-chan struct{}) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	h := m.cluster.held
	if h == nil || m.state != Leader || !appends(request, h.eventType) {
		return nil, nil
	}
	m.cluster.held = nil
	return h, m.changed
}

// appends reports whether a request appends an event of a type.
func appends(request []frame, eventType string) bool {
	for _, f := range request[1:] { // an append begins with the name of the stream
		var r streams.AppendReq
		if proto.Unmarshal(f.data, &r) == nil && r.GetProposedMessage().GetMetadata()["type"] == eventType {
			return true
		}
	}
	return false
}
