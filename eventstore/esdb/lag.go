package esdb

import (
	"sync"
	"time"

	"hexarena/eventstore"
)

// lag is how long a subscriber has been behind, by this process's monotonic
// clock: since it was last live, or, while it is, since the oldest message came
// in that it has not taken yet.
type lag struct {
	filter string

	mu      sync.Mutex
	link    int       // the connection, counted; of one that is gone nothing counts any more
	live    bool      // caught up, over the connection that stands
	behind  time.Time // while not live: since when
	waiting int       // messages that came in and were not taken
	oldest  time.Time // while any waits: when the oldest of them came, or before
}

// follow shows a subscription until it is left.
func (m *metrics) follow(filter eventstore.Filter) (s *lag, leave func()) {
	s = &lag{filter: filter.String(), behind: time.Now()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscriptions[s] = struct{}{}
	return s, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.subscriptions, s)
	}
}

// lags returns, by filter, how many subscriptions are open and the longest lag.
func (m *metrics) lags() (open map[string]int, behind map[string]time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	open, behind = make(map[string]int), make(map[string]time.Duration)
	for s := range m.subscriptions {
		open[s.filter]++
		behind[s.filter] = max(behind[s.filter], s.lag())
	}
	return open, behind
}

func (s *lag) lag() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.live:
		return time.Since(s.behind)
	case s.waiting > 0:
		return time.Since(s.oldest)
	}
	return 0
}

// connection returns the number of the connection that stands.
func (s *lag) connection() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// came notes a message that came in over a connection.
func (s *lag) came(link int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if link != s.link {
		return now
	}
	if s.waiting == 0 {
		s.oldest = now
	}
	s.waiting++
	return now
}

// took notes that a message of the connection that stands, which came in at a
// time, was taken. Those that still wait came later.
func (s *lag) took(came time.Time, caughtUp bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	s.oldest = came
	s.live = s.live || caughtUp
}

// dropped notes that the subscription has lost its connection, and what waited.
func (s *lag) dropped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		s.live, s.behind = false, time.Now()
		if s.waiting > 0 {
			s.behind = s.oldest
		}
	}
	s.waiting = 0
	s.link++
}
