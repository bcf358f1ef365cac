package persistent

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/writer"
)

// These constants describe the checkpoints and parked messages that a group writes
// to the log.
const (
	typeCheckpoint = "$SubscriptionCheckpoint"

	parkAtOnce  = 256
	reasonBytes = 4096 // a longer reason for parking is truncated

	checkpointMeta = `{"$maxCount":5}`
)

// loadCheckpoint returns the revision or position in the stored checkpoint.
func (g *group) loadCheckpoint() (at uint64, ok bool, err error) {
	r, ok, err := g.lastOf(g.config.checkpointStream())
	if err != nil || !ok {
		return 0, false, err
	}
	var text string
	if err := json.Unmarshal([]byte(r.Data), &text); err == nil {
		at, err = parseAt(text, g.config.all())
		if err == nil {
			return at, true, nil
		}
	}
	g.Logger.Warn("ignoring a malformed checkpoint; the group starts from its configured start", "group", g.config.key(), "data", r.Data)
	return 0, false, nil
}

// The method done() returns the event before the first unfinished message, or the last
// event if all messages are finished. It also returns how many events the group has
// considered up to that event.
func (g *group) done() (mark, uint64) {
	if front := g.unfinished.Front(); front != nil {
		m := front.Value.(*message)
		return m.before, m.sequence - 1
	}
	return g.last, g.considered
}

// checkpointDue reports whether the group must save a checkpoint, and how long the
// group waits first. If the number of new events has reached the upper bound, the group
// does not wait. If it has reached only the lower bound, the group waits for the
// checkpoint time, unless all consumers have left.
func (g *group) checkpointDue() (wait time.Duration, due bool) {
	at, considered := g.done()
	n := considered - g.checkpoint.considered
	least, most := uint64(max(g.config.MinCheckpoint, 1)), uint64(max(g.config.MaxCheckpoint, 1))
	switch {
	case g.forget || !at.known || n == 0 || g.checkpoint.stored && at.at <= g.checkpoint.at:
		return 0, false
	case n >= most, n >= least && len(g.consumers) == 0:
		return 0, true
	case n < least || g.config.CheckpointAfter == 0:
		return 0, false
	}
	after := time.Duration(g.config.CheckpointAfter) * time.Millisecond
	return max(0, time.Until(g.checkpoint.when.Add(after))), true
}

// saveCheckpoint writes a checkpoint if one is due now.
func (g *group) saveCheckpoint() error {
	g.mu.Lock()
	wait, due := g.checkpointDue()
	at, considered := g.done()
	first := !g.checkpoint.stored
	mayWrite := due && wait == 0 && g.mayWrite(1)
	g.mu.Unlock()
	if !mayWrite {
		return nil
	}
	if first {
		if err := g.writeMetaOf(g.config.checkpointStream(), checkpointMeta); err != nil {
			return err
		}
	}
	data := strconv.Quote(atText(at.at, g.config.all()))
	if _, err := g.write(g.config.checkpointStream(), writer.Proposed{ID: uuid.New(), JSON: true, Type: typeCheckpoint, Data: data}); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checkpoint = checkpoint{stored: true, at: at.at, considered: considered, when: time.Now()}
	return nil
}

// load reads a message's event in the form that consumers receive. ok is false if the
// event no longer exists.
func (g *group) load(m *message) (found record.Resolved, ok bool, err error) {
	var r record.Record
	within := g.Tail.End()
	switch {
	case m.replayed:
		r, ok, err = g.Store.Find(g.config.parkedStream(), m.at, within)
	case g.config.all():
		r, ok, err = g.Store.At(m.at)
	default:
		r, ok, err = g.Find(g.config.Stream, m.at, within)
	}
	switch {
	case err != nil || !ok:
		return record.Resolved{}, false, err
	case m.replayed || g.config.ResolveLinks:
		found, err = g.NewLinkTargets().Resolve(&r)
		return found, err == nil, err
	}
	return record.Resolved{Event: &r}, true, nil
}
