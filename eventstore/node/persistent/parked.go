package persistent

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// parkedMetadata is the metadata of a parked message's link.
type parkedMetadata struct {
	Added  time.Time `json:"added"`
	Reason string    `json:"reason"`
	Number uint64    `json:"subscriptionEventNumber,omitempty"`
}

// park writes the messages in the list g.parking to the parked stream, and finishes
// them.
func (g *group) park() error {
	for {
		g.mu.Lock()
		list := g.parking[:min(len(g.parking), parkAtOnce)]
		mayWrite := len(list) > 0 && g.mayWrite(len(list))
		g.mu.Unlock()
		if !mayWrite {
			return nil
		}
		var events []writer.Proposed
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

// The method parked() returns the link that parks a message. ok is false if the message's
// event no longer exists.
func (g *group) parked(p parking) (e writer.Proposed, ok bool, err error) {
	found, ok, err := g.load(p.message)
	if err != nil || !ok {
		return writer.Proposed{}, false, err
	}
	metadata, err := json.Marshal(parkedMetadata{Added: g.Now(), Reason: p.reason, Number: found.Original().Revision})
	if err != nil {
		return writer.Proposed{}, false, err
	}
	var link string
	if found.Event == nil {
		link = found.Link.Data
	} else {
		link = record.LinkTo(found.Event)
	}
	return writer.Proposed{ID: uuid.New(), Type: record.TypeLink, Data: link, Metadata: string(metadata)}, true, nil
}

// shortened truncates a reason that is too long to store.
func shortened(text, owner string) string {
	limit := reasonBytes
	if owner != "" {
		limit = strangersReason
	}
	text = text[:min(len(text), limit)]
	return strings.ToValidUTF8(text, "")
}

// replay is the state of a replay of parked messages. The replay still has to read the
// parked messages from revision next to revision stop-1. The messages stay in the
// parked stream until consumers have answered all of them.
type replay struct {
	next, stop uint64
	pending    int
}

func (r *replay) active() bool { return r.next < r.stop || r.pending > 0 || r.stop > 0 }

// The method over() reports whether consumers have answered all replayed messages.
func (r *replay) over() bool { return r.stop > 0 && r.next >= r.stop && r.pending == 0 }

// parkedSpan returns the range of parked revisions: the first one, and the end, which
// is one after the last.
func (g *group) parkedSpan() (first, end uint64, err error) {
	v, err := g.Store.View(g.config.parkedStream(), g.Tail.End(), record.Ticks(g.Now()))
	if err != nil || v.Tombstoned() || v.Last < 0 || v.Meta.SoftDeleted() {
		return 0, 0, err
	}
	return uint64(max(v.First, 0)), uint64(v.Last + 1), nil
}

// startReplay begins a replay of the currently parked messages with a revision below
// stop.
func (g *group) startReplay(stop uint64) error {
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
	g.kick.Signal()
	return nil
}

// fillReplay reads the next messages to replay.
func (g *group) fillReplay() (bool, error) {
	g.mu.Lock()
	next, stop := g.replay.next, g.replay.stop
	room := g.config.buffer() - g.retry.Len() - len(g.parking)
	idle := len(g.consumers) == 0
	g.mu.Unlock()
	if next >= stop || room <= 0 || idle {
		return false, nil
	}
	within := g.Tail.End()
	v, err := g.Store.View(g.config.parkedStream(), within, record.Ticks(g.Now()))
	if err != nil {
		return false, err
	}
	v.Last = min(v.Last, int64(min(stop-1, math.MaxInt64)))
	p, err := g.Store.Page(g.config.parkedStream(), v, storage.Range{From: next, Within: within, Limit: room})
	if err != nil {
		return false, err
	}
	return true, g.addReplayed(p, stop)
}

func (g *group) addReplayed(p storage.Page, stop uint64) error {
	var messages []*message
	for i := range p.Records {
		r := &p.Records[i]
		m := &message{at: r.Revision, id: r.ID, revision: r.Revision, replayed: true}
		var err error
		if m.pin, err = g.strategy.pin(g.Reader, r); err != nil {
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
	if g.replay.next = p.Next; p.End {
		g.replay.next = stop
	}
	return nil
}

// endReplay truncates the parked stream once consumers have answered all replayed
// messages.
func (g *group) endReplay() error {
	g.mu.Lock()
	over, stop := g.replay.over(), g.replay.stop
	if over {
		g.replay = replay{}
	}
	g.mu.Unlock()
	if !over {
		return nil
	}
	meta, _, err := g.lastOf(record.MetadataPrefix + g.config.parkedStream())
	if err != nil {
		return err
	}
	return g.writeMetaOf(g.config.parkedStream(), record.WithTruncateBefore(meta.Data, int64(stop)))
}
