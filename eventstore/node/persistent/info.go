package persistent

import (
	"math"
	"slices"
	"time"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
)

// measure counts messages, in total and since the last call to its method look().
type measure struct {
	count  int64
	before int64
	since  time.Time

	// If the settings ask for statistics, the field taken holds the latest times
	// between sending and the answer: an ack or a nack.
	taken []time.Duration
	next  int
}

// keptTimes is the maximum number of response times in a consumer's statistics.
const keptTimes = 1000

func (m *measure) took(d time.Duration) {
	if len(m.taken) < keptTimes {
		m.taken = append(m.taken, d)
		return
	}
	m.taken[m.next] = d
	m.next = (m.next + 1) % keptTimes
}

// The method look() returns the number and the rate of messages since its last call.
func (m *measure) look() (count int64, perSecond int32) {
	now := time.Now()
	count = m.count - m.before
	if passed := now.Sub(m.since); passed > 0 {
		perSecond = int32(min(float64(count)/passed.Seconds(), math.MaxInt32))
	}
	m.before, m.since = m.count, now
	return count, perSecond
}

// info describes a group to clients.
func (g *group) info() (*api.SubscriptionInfo, error) {
	last, isKnown, err := g.lastKnown()
	if err != nil {
		return nil, err
	}
	first, end, err := g.parkedSpan()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.config
	info := &api.SubscriptionInfo{
		EventSource:                 c.Stream,
		GroupName:                   c.Group,
		Status:                      "Live",
		TotalItems:                  g.total.count,
		ResolveLinkTos:              c.ResolveLinks,
		StartFrom:                   c.StartPosition,
		MessageTimeoutMilliseconds:  c.MessageTimeout,
		ExtraStatistics:             c.ExtraStatistics,
		MaxRetryCount:               c.MaxRetryCount,
		LiveBufferSize:              c.LiveBufferSize,
		BufferSize:                  c.HistoryBufferSize,
		ReadBatchSize:               c.ReadBatchSize,
		CheckPointAfterMilliseconds: c.CheckpointAfter,
		MinCheckPointCount:          c.MinCheckpoint,
		MaxCheckPointCount:          c.MaxCheckpoint,
		ReadBufferCount:             int32(g.buffer.Len()),
		RetryBufferCount:            int32(g.retry.Len()),
		NamedConsumerStrategy:       c.Strategy,
		MaxSubscriberCount:          c.MaxSubscribers,
	}
	if isKnown {
		info.LastKnownEventPosition = atText(last, c.all())
		if g.next <= last {
			info.Status = "Behind"
		}
	}
	if g.checkpoint.stored {
		info.LastCheckpointedEventPosition = atText(g.checkpoint.at, c.all())
	}
	if first = max(first, min(g.replay.stop, end)); end > first { // messages that are being replayed do not count as parked
		info.ParkedMessageCount = int64(end - first)
	}
	info.CountSinceLastMeasurement, info.AveragePerSecond = g.total.look()
	for consumer := range g.consumers {
		info.Connections = append(info.Connections, consumer.info())
		info.TotalInFlightMessages += int32(len(consumer.inFlight))
	}
	info.OutstandingMessagesCount = info.TotalInFlightMessages
	return info, nil
}

// lastKnown returns the revision or position of the source's last event. ok is false if
// the source is empty or tombstoned.
func (g *group) lastKnown() (at uint64, ok bool, err error) {
	end := g.Tail.End()
	if g.config.all() {
		return end, end > 0, nil
	}
	v, err := g.View(g.config.Stream, end)
	return uint64(max(v.Last, 0)), err == nil && v.Last >= 0 && !v.Tombstoned(), err
}

// info describes a consumer to clients. The caller holds the group's lock.
func (c *consumer) info() *api.SubscriptionInfo_ConnectionInfo {
	info := &api.SubscriptionInfo_ConnectionInfo{
		From:             c.from,
		Username:         "anonymous",
		TotalItems:       c.total.count,
		AvailableSlots:   int32(c.free()),
		InFlightMessages: int32(len(c.inFlight)),
		ConnectionName:   c.name,
	}
	info.CountSinceLastMeasurement, info.AverageItemsPerSecond = c.total.look()
	info.ObservedMeasurements = c.total.observed()
	return info
}

// observed returns statistics of the response times in milliseconds, such as the
// mean, the minimum and percentiles. As on EventStoreDB, no value is 0: a time below a
// millisecond counts as one.
func (m *measure) observed() (all []*api.SubscriptionInfo_Measurement) {
	if len(m.taken) == 0 {
		return nil
	}
	add := func(key string, d time.Duration) {
		all = append(all, &api.SubscriptionInfo_Measurement{Key: key, Value: max(d.Milliseconds(), 1)})
	}
	sorted := slices.Sorted(slices.Values(m.taken))
	sum := time.Duration(0)
	for _, d := range sorted {
		sum += d
	}
	add("Mean", sum/time.Duration(len(sorted)))
	for _, part := range []struct {
		key string
		of  float64
	}{
		{"Highest", 1}, {"Median", 0.5}, {"Fastest", 0},
		{"Quintile 1", 0}, {"Quintile 2", 0.2}, {"Quintile 3", 0.4}, {"Quintile 4", 0.6}, {"Quintile 5", 0.8},
		{"90%", 0.9}, {"95%", 0.95}, {"99%", 0.99}, {"99.5%", 0.995}, {"99.9%", 0.999},
	} {
		add(part.key, sorted[int(part.of*float64(len(sorted)-1))])
	}
	return all
}
