package writer

import (
	"math"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// decide returns the outcome of a request and adds the request's records to the
// current group. An error means that the log cannot be read or written to.
func (w *Writer) decide(r *Request) (Outcome, error) {
	h, err := w.head(r.Stream)
	if err != nil {
		return Outcome{}, err
	}
	deleted, err := w.deleted(r, h)
	if err != nil || deleted {
		return Outcome{Verdict: StreamDeleted}, err
	}
	switch r.Act {
	case Delete:
		return w.decideDelete(r, h)
	case Tombstone:
		return w.decideTombstone(r, h)
	default:
		return w.decideAppend(r, h)
	}
}

// The method deleted() reports whether the request's stream is tombstoned, or is
// soft-deleted while the request expects it to exist.
func (w *Writer) deleted(r *Request, h storage.Head) (bool, error) {
	if h.Tombstoned() || r.Expected == StreamExists && h.Meta.SoftDeleted() {
		return true, nil
	}
	if !record.IsMetadataStream(r.Stream) {
		return false, nil
	}
	original, err := w.head(record.OriginalOf(r.Stream))
	return original.Tombstoned(), err
}

func (w *Writer) decideAppend(r *Request, h storage.Head) (Outcome, error) {
	retry, fits, err := w.compare(r, h)
	switch {
	case err != nil:
		return Outcome{}, err
	case retry != nil:
		return *retry, nil
	case !fits:
		return Outcome{Verdict: WrongVersion, Current: h.Last}, nil
	}
	return w.append(r, h)
}

// compare reports whether an append expects the current end of its stream. If the
// append is a retry, compare returns the outcome of the stored append instead.
func (w *Writer) compare(r *Request, h storage.Head) (retry *Outcome, fits bool, err error) {
	switch {
	case r.Expected == StreamExists && h.Last < 0 && !h.Meta.Exists:
		return nil, false, nil
	case r.Expected == Any || r.Expected == StreamExists:
		return w.compareRecent(r)
	case r.Expected >= h.Last:
		return nil, r.Expected == h.Last, nil
	}
	retry, err = w.compareStored(r, h)
	return retry, r.Expected == NoStream && h.Meta.SoftDeleted(), err
}

// compareRecent looks up the ids of an append among the remembered ids. If the
// first id is unknown, the append is new. If the first id is known, all other ids
// must be known too, in any order. The outcome is that of the last id.
func (w *Writer) compareRecent(r *Request) (retry *Outcome, fits bool, err error) {
	var last eventAt
	for i, e := range r.Events {
		at, known := w.ids.Get(eventKey{e.ID, r.Stream})
		if !known {
			return nil, i == 0, nil
		}
		last = at
	}
	if len(r.Events) == 0 {
		return nil, true, nil
	}
	return &Outcome{Current: int64(last.revision), Position: last.position}, false, nil
}

// compareStored compares an append's ids with the ids stored after the expected
// revision.
func (w *Writer) compareStored(r *Request, h storage.Head) (retry *Outcome, err error) {
	n := int64(len(r.Events))
	if n == 0 || n > h.Last-r.Expected {
		return nil, nil
	}
	var last record.Record
	for i, e := range r.Events {
		var ok bool
		last, ok, err = w.Store.Find(r.Stream, uint64(r.Expected+1+int64(i)), math.MaxUint64)
		if err != nil || !ok || last.ID != e.ID {
			return nil, err
		}
	}
	out := Outcome{Current: int64(last.Revision), Position: last.Position}
	if v := storage.NewView(h, record.Ticks(w.Now())); v.Hides(&last) {
		out.Position = 0
	}
	return &out, nil
}

// append adds a request's events to the current group. An append to a soft-deleted
// stream undeletes it.
func (w *Writer) append(r *Request, h storage.Head) (Outcome, error) {
	first, soft := h.Last+1, h.Meta.SoftDeleted()
	position := uint64(0)
	if len(r.Events) > 0 {
		position = w.add(r.Stream, &h, r.Events)
	}
	var err error
	if soft {
		err = w.undelete(r.Stream, first)
	}
	if err == nil && record.IsMetadataStream(r.Stream) && len(r.Events) > 0 {
		err = w.described(record.OriginalOf(r.Stream), r.Events[len(r.Events)-1].Data)
	}
	return Outcome{Current: h.Last, Position: position}, err
}

// undelete makes a soft-deleted stream visible again. Events below the revision first
// stay hidden. The stream's other metadata does not change.
func (w *Writer) undelete(stream string, first int64) error {
	meta, err := w.head(record.MetadataPrefix + stream)
	if err != nil {
		return err
	}
	data := record.DeletedMetadata
	if stored, ok, err := w.Store.Find(record.MetadataPrefix+stream, uint64(meta.Last), math.MaxUint64); err != nil {
		return err
	} else if ok {
		data = stored.Data
	}
	_, err = w.writeMeta(stream, record.WithTruncateBefore(data, first))
	return err
}

// The method described() updates a stream's remembered head after the stream received new
// metadata. New metadata undeletes a soft-deleted stream, but the stream's old events
// stay hidden.
func (w *Writer) described(stream, data string) error {
	h, err := w.head(stream)
	if err != nil {
		return err
	}
	soft := h.Meta.SoftDeleted()
	h.Meta = record.MetadataOf(stream, data)
	w.heads.Put(stream, h)
	if !soft || h.Meta.SoftDeleted() {
		return nil
	}
	_, err = w.writeMeta(stream, record.WithTruncateBefore(data, h.Last+1))
	return err
}

// writeMeta appends a metadata event that the node writes itself.
func (w *Writer) writeMeta(stream, data string) (position uint64, err error) {
	meta, err := w.head(record.MetadataPrefix + stream)
	if err != nil {
		return 0, err
	}
	position = w.add(record.MetadataPrefix+stream, &meta, []Proposed{{ID: uuid.New(), JSON: true, Type: record.TypeMetadata, Data: data}})
	h, err := w.head(stream)
	if err != nil {
		return 0, err
	}
	h.Meta = record.MetadataOf(stream, data)
	w.heads.Put(stream, h)
	return position, nil
}

func (w *Writer) decideDelete(r *Request, h storage.Head) (Outcome, error) {
	if h.Last < 0 || !fitsDelete(r, h) {
		return Outcome{Verdict: WrongVersion, Current: h.Last}, nil
	}
	position, err := w.writeMeta(r.Stream, record.DeletedMetadata)
	return Outcome{Current: h.Last, Position: position}, err
}

func (w *Writer) decideTombstone(r *Request, h storage.Head) (Outcome, error) {
	if !fitsDelete(r, h) {
		return Outcome{Verdict: WrongVersion, Current: h.Last}, nil
	}
	h.Last = record.TombstoneRevision - 1
	position := w.add(r.Stream, &h, []Proposed{{ID: uuid.New(), Type: record.TypeStreamDeleted}})
	return Outcome{Current: h.Last, Position: position}, nil
}

func fitsDelete(r *Request, h storage.Head) bool {
	switch r.Expected {
	case Any:
		return true
	case StreamExists:
		return h.Last >= 0 || h.Meta.Exists
	case NoStream:
		return h.Last < 0 || h.Meta.SoftDeleted()
	}
	return r.Expected == h.Last
}

// head returns the end of a stream, including all events that the writer has added. The
// writer always remembers the heads of the streams in the current group, because it
// added them last.
func (w *Writer) head(stream string) (storage.Head, error) {
	if h, ok := w.heads.Get(stream); ok {
		return h, nil
	}
	h, err := w.Store.Head(stream, math.MaxUint64)
	if err == nil {
		w.heads.Put(stream, h)
	}
	return h, err
}
