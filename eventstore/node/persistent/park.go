package persistent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/writer"
)

// parkedMetadata is the metadata of a parked message's link.
type parkedMetadata struct {
	Added  time.Time `json:"added"`
	Reason string    `json:"reason"`
	Number uint64    `json:"subscriptionEventNumber,omitempty"`
}

// park writes the messages in parking to the parked stream and finishes them.
func (g *group) park() error {
	for {
		g.mu.Lock()
		list := g.parking[:min(len(g.parking), parkAtOnce)]
		g.mu.Unlock()
		if len(list) == 0 {
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

// parked returns the link to a message; ok is false if its event does not exist any
// more.
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

// shortened returns the beginning of a long text.
func shortened(text string) string {
	if len(text) > reasonBytes {
		text = text[:reasonBytes]
	}
	return strings.ToValidUTF8(text, "")
}
