package node

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What a group writes to the log: checkpoints, parked messages, and how far
// those were replayed.
const (
	typeCheckpoint = "$SubscriptionCheckpoint"

	parkAtOnce  = 256
	reasonBytes = 4096 // of a client's reason for parking, what is kept

	checkpointMeta = `{"$maxCount":5}`
)

// write appends on the group's own account. It is false for a stream that is
// tombstoned.
func (n *Node) write(stream string, events ...proposed) (bool, error) {
	out, err := n.writer.submit(context.Background(), &request{act: actAppend, stream: stream, expected: expectAny, events: events})
	if err == nil && out.verdict != stored {
		n.logger.Warn("a stream of a persistent subscription takes no events", "stream", stream)
	}
	return out.verdict == stored, err
}

// writeMetaOf replaces a stream's metadata.
func (n *Node) writeMetaOf(stream, data string) error {
	_, err := n.write(metaPrefix+stream, proposed{id: uuid.New(), json: true, kind: typeMetadata, data: data})
	return err
}

// lastOf is a stream's last event that can be seen, if there is one.
func (n *Node) lastOf(stream string) (record, bool, error) {
	within := n.tail.end()
	v, err := n.store.view(stream, within, ticks(n.now()))
	if err != nil || v.tombstoned() || v.last < v.first || v.last < 0 {
		return record{}, false, err
	}
	return n.store.find(stream, uint64(v.last), within)
}

// loadCheckpoint is the place up to which the group is done with everything.
func (g *persistentGroup) loadCheckpoint() (at uint64, ok bool, err error) {
	r, ok, err := g.lastOf(g.config.checkpointStream())
	if err != nil || !ok {
		return 0, false, err
	}
	var text string
	if err := json.Unmarshal([]byte(r.data), &text); err == nil {
		at, err = parseAt(text, g.config.all())
		if err == nil {
			return at, true, nil
		}
	}
	g.logger.Warn("a checkpoint cannot be read, and counts as none", "group", g.config.key(), "data", r.data)
	return 0, false, nil
}

// done is how far everything is done with.
func (g *persistentGroup) done() (mark, uint64) {
	if front := g.unfinished.Front(); front != nil {
		m := front.Value.(*message)
		return m.before, m.sequence - 1
	}
	return g.last, g.considered
}

// checkpointDue says whether a checkpoint is to be written, and in how long:
// when enough was done and long enough ago, at once when much was done or the
// consumers have gone.
func (g *persistentGroup) checkpointDue() (wait time.Duration, due bool) {
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

// saveCheckpoint writes a checkpoint if it is time.
func (g *persistentGroup) saveCheckpoint() error {
	g.mu.Lock()
	wait, due := g.checkpointDue()
	at, considered := g.done()
	first := !g.checkpoint.stored
	g.mu.Unlock()
	if !due || wait > 0 {
		return nil
	}
	if first {
		if err := g.writeMetaOf(g.config.checkpointStream(), checkpointMeta); err != nil {
			return err
		}
	}
	data := strconv.Quote(atText(at.at, g.config.all()))
	if _, err := g.write(g.config.checkpointStream(), proposed{id: uuid.New(), json: true, kind: typeCheckpoint, data: data}); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checkpoint = checkpoint{stored: true, at: at.at, considered: considered, when: time.Now()}
	return nil
}

// parkedMetadata is what a parked message's link says of it.
type parkedMetadata struct {
	Added  time.Time `json:"added"`
	Reason string    `json:"reason"`
	Number uint64    `json:"subscriptionEventNumber,omitempty"`
}

// park writes what is to be parked. It is done with then.
func (g *persistentGroup) park() error {
	for {
		g.mu.Lock()
		list := g.parking[:min(len(g.parking), parkAtOnce)]
		g.mu.Unlock()
		if len(list) == 0 {
			return nil
		}
		var events []proposed
		for _, p := range list {
			e, ok, err := g.parked(p)
			if err != nil {
				return err
			}
			if ok {
				events = append(events, e)
			}
		}
		if len(events) > 0 {
			if _, err := g.write(g.config.parkedStream(), events...); err != nil {
				return err
			}
		}
		g.mu.Lock()
		for _, p := range list {
			g.finish(p.message)
		}
		g.parking = append([]parking(nil), g.parking[len(list):]...)
		g.mu.Unlock()
	}
}

// parked is the link to a message; ok is false if the message is gone.
func (g *persistentGroup) parked(p parking) (e proposed, ok bool, err error) {
	found, ok, err := g.load(p.message)
	if err != nil || !ok {
		return proposed{}, false, err
	}
	metadata, err := json.Marshal(parkedMetadata{Added: g.now(), Reason: p.reason, Number: found.original().revision})
	if err != nil {
		return proposed{}, false, err
	}
	link := ""
	if found.event == nil {
		link = found.link.data
	} else {
		link = linkTo(found.event)
	}
	return proposed{id: uuid.New(), kind: typeLink, data: link, metadata: string(metadata)}, true, nil
}

func linkTo(r *record) string { return strconv.FormatUint(r.revision, 10) + "@" + r.stream }

// shortened is the beginning of a long text.
func shortened(text string) string {
	if len(text) > reasonBytes {
		text = text[:reasonBytes]
	}
	return strings.ToValidUTF8(text, "")
}

// load reads a message's event, as its consumers are to get it; ok is false if
// it is not there any more.
func (g *persistentGroup) load(m *message) (found resolved, ok bool, err error) {
	var r record
	within := g.tail.end()
	switch {
	case m.replayed:
		r, ok, err = g.store.find(g.config.parkedStream(), m.at, within)
	case g.config.all():
		r, ok, err = g.store.at(m.at)
	default:
		r, ok, err = g.find(g.config.Stream, m.at, within)
	}
	switch {
	case err != nil || !ok:
		return resolved{}, false, err
	case m.replayed || g.config.ResolveLinks:
		found, err = g.follows(&r)
		return found, err == nil, err
	}
	return resolved{event: &r}, true, nil
}

// replay is the parked messages that are being sent again: their revisions
// from next on, below stop. They stay parked until all have been answered.
type replay struct {
	next, stop uint64
	pending    int
}

func (r *replay) active() bool { return r.next < r.stop || r.pending > 0 || r.stop > 0 }

// over says that all of them were answered.
func (r *replay) over() bool { return r.stop > 0 && r.next >= r.stop && r.pending == 0 }

// parkedSpan are the revisions that are parked: from first on, below end.
func (g *persistentGroup) parkedSpan() (first, end uint64, err error) {
	v, err := g.store.view(g.config.parkedStream(), g.tail.end(), ticks(g.now()))
	if err != nil || v.tombstoned() || v.last < 0 || v.meta.softDeleted() {
		return 0, 0, err
	}
	return uint64(max(v.first, 0)), uint64(v.last + 1), nil
}

// startReplay has the messages that are parked now sent again, those with a
// revision below stop.
func (g *persistentGroup) startReplay(stop uint64) error {
	first, end, err := g.parkedSpan()
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	end = min(end, stop)
	if !g.replay.active() {
		g.replay.next = first
	}
	if end > g.replay.next && end > g.replay.stop {
		g.replay.stop = end
	}
	g.stir()
	return nil
}

// fillReplay reads some of what is replayed.
func (g *persistentGroup) fillReplay() (bool, error) {
	g.mu.Lock()
	next, stop := g.replay.next, g.replay.stop
	room := min(int(g.config.HistoryBufferSize), groupBuffer) - g.retry.Len()
	idle := len(g.consumers) == 0
	g.mu.Unlock()
	if next >= stop || room <= 0 || idle {
		return false, nil
	}
	within := g.tail.end()
	v, err := g.store.view(g.config.parkedStream(), within, ticks(g.now()))
	if err != nil {
		return false, err
	}
	v.last = min(v.last, int64(min(stop-1, math.MaxInt64)))
	p, err := g.store.forwards(g.config.parkedStream(), v, next, within, min(room, pageRecords))
	if err != nil {
		return false, err
	}
	return true, g.addReplayed(p, stop)
}

func (g *persistentGroup) addReplayed(p page, stop uint64) error {
	var messages []*message
	for i := range p.records {
		r := &p.records[i]
		m := &message{at: r.revision, id: r.id, revision: r.revision, replayed: true}
		var err error
		if m.pin, err = g.strategy.pin(g.Node, r); err != nil {
			return err
		}
		messages = append(messages, m)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range messages {
		g.retry.PushBack(m)
	}
	g.replay.pending += len(messages)
	if g.replay.next = p.next; p.end {
		g.replay.next = stop
	}
	return nil
}

// endReplay truncates what was replayed, once all of it was answered.
func (g *persistentGroup) endReplay() error {
	g.mu.Lock()
	over, stop := g.replay.over(), g.replay.stop
	if over {
		g.replay = replay{}
	}
	g.mu.Unlock()
	if !over {
		return nil
	}
	meta, _, err := g.lastOf(metaPrefix + g.config.parkedStream())
	if err != nil {
		return err
	}
	return g.writeMetaOf(g.config.parkedStream(), withTruncateBefore(meta.data, int64(stop)))
}
