package node

import (
	"math"

	"github.com/google/uuid"
)

// decide answers a request, adding what it appends to the current group. An
// error means that the log cannot be read or written.
func (w *writer) decide(r *request) (outcome, error) {
	h, err := w.head(r.stream)
	if err != nil {
		return outcome{}, err
	}
	deleted, err := w.deleted(r, h)
	if err != nil || deleted {
		return outcome{verdict: streamDeleted}, err
	}
	switch r.act {
	case actDelete:
		return w.decideDelete(r, h)
	case actTombstone:
		return w.decideTombstone(r, h)
	default:
		return w.decideAppend(r, h)
	}
}

// deleted says whether a request meets a deleted stream: a tombstoned one, or
// a soft-deleted one that it expects to exist.
func (w *writer) deleted(r *request, h head) (bool, error) {
	if h.tombstoned() || r.expected == expectExists && h.meta.softDeleted() {
		return true, nil
	}
	if !isMetaStream(r.stream) {
		return false, nil
	}
	original, err := w.head(originalOf(r.stream))
	return original.tombstoned(), err
}

func (w *writer) decideAppend(r *request, h head) (outcome, error) {
	retry, fits, err := w.compare(r, h)
	switch {
	case err != nil:
		return outcome{}, err
	case retry != nil:
		return *retry, nil
	case !fits:
		return outcome{verdict: wrongVersion, current: h.last}, nil
	}
	return w.append(r, h)
}

// compare says whether an append fits its stream, or is a retry of one that
// was stored: then it is answered as that was.
func (w *writer) compare(r *request, h head) (retry *outcome, fits bool, err error) {
	switch {
	case r.expected == expectExists && h.last < 0 && !h.meta.exists:
		return nil, false, nil
	case r.expected == expectAny || r.expected == expectExists:
		return w.compareRecent(r)
	case r.expected >= h.last:
		return nil, r.expected == h.last, nil
	}
	retry, err = w.compareStored(r, h)
	return retry, r.expected == expectNoStream && h.meta.softDeleted(), err
}

// compareRecent decides by the first event's id: unknown, and everything is
// new; known, and all must be, in the order in which they are stored.
func (w *writer) compareRecent(r *request) (retry *outcome, fits bool, err error) {
	var last eventAt
	for i, e := range r.events {
		at, known := w.ids.get(eventKey{e.id, r.stream})
		if !known {
			return nil, i == 0, nil
		}
		if i > 0 && at.revision <= last.revision {
			return nil, false, nil
		}
		last = at
	}
	if len(r.events) == 0 {
		return nil, true, nil
	}
	return &outcome{current: int64(last.revision), position: last.position}, false, nil
}

// compareStored compares the ids with those that follow the expected revision.
func (w *writer) compareStored(r *request, h head) (retry *outcome, err error) {
	n := int64(len(r.events))
	if n == 0 || n > h.last-r.expected {
		return nil, nil
	}
	var last record
	for i, e := range r.events {
		var ok bool
		last, ok, err = w.store.find(r.stream, uint64(r.expected+1+int64(i)), math.MaxUint64)
		if err != nil || !ok || last.id != e.id {
			return nil, err
		}
	}
	out := outcome{current: int64(last.revision), position: last.position}
	if v := newView(h, ticks(w.now())); v.hides(&last) {
		out.position = 0
	}
	return &out, nil
}

// append stores a request's events, and undeletes what they bring back.
func (w *writer) append(r *request, h head) (outcome, error) {
	first, soft := h.last+1, h.meta.softDeleted()
	position, err := uint64(0), error(nil)
	if len(r.events) > 0 {
		position, err = w.add(r.stream, &h, r.events)
	}
	if err == nil && soft {
		err = w.undelete(r.stream, first)
	}
	if err == nil && isMetaStream(r.stream) && len(r.events) > 0 {
		err = w.described(originalOf(r.stream), r.events[len(r.events)-1].data)
	}
	return outcome{current: h.last, position: position}, err
}

// undelete hides, of a soft-deleted stream, all before first, and keeps the
// rest of its metadata.
func (w *writer) undelete(stream string, first int64) error {
	meta, err := w.head(metaPrefix + stream)
	if err != nil {
		return err
	}
	data := deletedMeta
	if stored, ok, err := w.store.find(metaPrefix+stream, uint64(meta.last), math.MaxUint64); err != nil {
		return err
	} else if ok {
		data = stored.data
	}
	_, err = w.writeMeta(stream, withTruncateBefore(data, first))
	return err
}

// described takes note of a stream's new metadata, which was just added. New
// metadata of a soft-deleted stream brings it back, without its old events.
func (w *writer) described(stream, data string) error {
	h, err := w.head(stream)
	if err != nil {
		return err
	}
	soft := h.meta.softDeleted()
	h.meta = metaOf(stream, data)
	w.heads.put(stream, h)
	if !soft || h.meta.softDeleted() {
		return nil
	}
	_, err = w.writeMeta(stream, withTruncateBefore(data, h.last+1))
	return err
}

// writeMeta appends to a stream's metadata on the node's own account.
func (w *writer) writeMeta(stream, data string) (position uint64, err error) {
	meta, err := w.head(metaPrefix + stream)
	if err != nil {
		return 0, err
	}
	position, err = w.add(metaPrefix+stream, &meta, []proposed{{id: uuid.New(), json: true, kind: typeMetadata, data: data}})
	if err != nil {
		return 0, err
	}
	h, err := w.head(stream)
	if err != nil {
		return 0, err
	}
	h.meta = metaOf(stream, data)
	w.heads.put(stream, h)
	return position, nil
}

func (w *writer) decideDelete(r *request, h head) (outcome, error) {
	if h.last < 0 || !fitsDelete(r, h) {
		return outcome{verdict: wrongVersion, current: h.last}, nil
	}
	position, err := w.writeMeta(r.stream, deletedMeta)
	return outcome{current: h.last, position: position}, err
}

func (w *writer) decideTombstone(r *request, h head) (outcome, error) {
	if !fitsDelete(r, h) {
		return outcome{verdict: wrongVersion, current: h.last}, nil
	}
	h.last = tombstoneRevision - 1
	position, err := w.add(r.stream, &h, []proposed{{id: uuid.New(), kind: typeStreamDeleted}})
	return outcome{current: h.last, position: position}, err
}

func fitsDelete(r *request, h head) bool {
	switch r.expected {
	case expectAny:
		return true
	case expectExists:
		return h.last >= 0 || h.meta.exists
	case expectNoStream:
		return h.last < 0 || h.meta.softDeleted()
	}
	return r.expected == h.last
}

// head is where a stream ends for the writer: with everything it has added.
// The current group holds nothing of a stream whose head is not remembered.
func (w *writer) head(stream string) (head, error) {
	if h, ok := w.heads.get(stream); ok {
		return h, nil
	}
	h, err := w.store.head(stream, math.MaxUint64)
	if err == nil {
		w.heads.put(stream, h)
	}
	return h, err
}
