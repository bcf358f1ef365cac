package storage

import (
	"math"

	"hexarena/eventstore/node/record"
)

// Head is the end of a stream, with its metadata.
type Head struct {
	Last     int64 // revision, -1 for no event
	Position uint64
	Meta     record.Metadata
}

// Tombstoned reports whether the stream is deleted forever.
func (h Head) Tombstoned() bool { return h.Last == record.TombstoneRevision }

// Head returns the end of a stream up to the position limit.
func (s *Store) Head(stream string, limit uint64) (Head, error) {
	last, position, err := s.Last(stream, limit)
	if err != nil {
		return Head{}, err
	}
	meta, err := s.Meta(stream, limit)
	return Head{Last: last, Position: position, Meta: meta}, err
}

// Meta returns a stream's metadata up to the position limit. A scavenge may remove
// the metadata event between the two lookups. Then there is a later one, or the
// stream is tombstoned and its metadata does not matter.
func (s *Store) Meta(stream string, limit uint64) (record.Metadata, error) {
	if record.IsMetadataStream(stream) {
		return record.MetadataOf(stream, ""), nil
	}
	for range 2 {
		last, position, err := s.Last(record.MetadataPrefix+stream, limit)
		if err != nil || last < 0 {
			return record.Metadata{}, err
		}
		r, ok, err := s.event(record.MetadataPrefix+stream, uint64(last), position)
		if err != nil {
			return record.Metadata{}, err
		}
		if ok {
			return record.ParseMetadata(r.Data), nil
		}
	}
	return record.Metadata{Exists: true}, nil
}

// View is the visible part of a stream at one time.
type View struct {
	Head
	First  int64 // lower revisions are hidden
	Oldest int64 // events that were created earlier are hidden
}

// NewView returns the view of a stream at a time, in ticks.
func NewView(h Head, now int64) View {
	return View{Head: h, First: h.Meta.First(h.Last), Oldest: h.Meta.Oldest(now)}
}

// Hides reports whether an event of the stream is not visible.
func (v View) Hides(r *record.Record) bool {
	return int64(r.Revision) < v.First || r.Created < v.Oldest
}

// View returns the visible part of a stream up to the position limit. A metadata
// stream is tombstoned with its stream.
func (s *Store) View(stream string, limit uint64, now int64) (View, error) {
	h, err := s.Head(stream, limit)
	if err != nil {
		return View{}, err
	}
	if record.IsMetadataStream(stream) && !h.Tombstoned() {
		original, _, err := s.Last(record.OriginalOf(stream), limit)
		if err != nil {
			return View{}, err
		}
		if original == record.TombstoneRevision {
			h.Last = record.TombstoneRevision
		}
	}
	v := NewView(h, now)
	return v, s.skipExpired(stream, &v, limit)
}

// skipExpired raises First to the first event that is not too old. Creation times
// never decrease along the log, so it can search by halving.
func (s *Store) skipExpired(stream string, v *View, limit uint64) error {
	if v.Oldest == math.MinInt64 || v.Tombstoned() {
		return nil
	}
	low, high := max(v.First, 0), v.Last+1
	for low < high {
		middle := low + (high-low)/2
		r, ok, err := s.Find(stream, uint64(middle), limit)
		if err != nil {
			return err
		}
		if ok && r.Created >= v.Oldest {
			high = middle
		} else {
			low = middle + 1
		}
	}
	v.First = low
	return nil
}
