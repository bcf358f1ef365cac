package persistent

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/lifecycle"
)

// connect adds a consumer.
func (g *group) connect(c *consumer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := int(g.config.MaxSubscribers)
	switch {
	case g.dropped:
		return refuseMissing(g.config.Stream, g.config.Group)
	case g.connected.Load() >= groupConsumers:
		return status.Errorf(codes.ResourceExhausted, "%d subscribers of persistent subscriptions are connected already", groupConsumers)
	case limit > 0 && len(g.consumers) >= limit:
		return refuseSubscriber(g.config.Stream, g.config.Group)
	}
	if !g.running {
		if !g.Life.Enter() {
			return lifecycle.ErrClosed
		}
		g.running, g.resting = true, make(chan struct{})
		go g.run(g.resting)
	}
	c.extra = g.config.ExtraStatistics
	g.consumers[c] = struct{}{}
	g.connected.Add(1)
	g.strategy.add(c)
	g.wakeUp()
	return nil
}

// leave removes a consumer. Its unanswered messages are retried.
func (g *group) leave(c *consumer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release(c)
	g.wakeUp()
}

func (g *group) release(c *consumer) {
	if _, ok := g.consumers[c]; !ok {
		return
	}
	delete(g.consumers, c)
	g.connected.Add(-1)
	g.strategy.remove(c)
	for _, m := range c.unanswered() {
		g.recall(m)
		g.retryOrPark(m)
	}
}

// drop ends the group and waits for its goroutine. It saves a last checkpoint unless
// forget is set.
func (g *group) drop(forget bool) {
	g.mu.Lock()
	g.dropped, g.forget = true, forget
	for c := range g.consumers {
		c.end(refuseDropped(g.config.Stream, g.config.Group))
		g.release(c)
	}
	resting := g.resting
	g.mu.Unlock()
	g.end()
	g.wakeUp()
	if resting != nil {
		<-resting
	}
}
