package storage

import (
	"math"

	"hexarena/eventstore/node/record"
)

// Head is the end of a stream and the stream's metadata.
type Head struct {
	Last     int64 // revision; -1 if there is no event
	Position uint64
	Meta     record.Metadata
}

// Tombstoned reports whether the stream is deleted forever.
func (h Head) Tombstoned() bool { return h.Last == record.TombstoneRevision }

// Head returns the end and the metadata of a stream. It ignores events beyond the
// position limit.
func (s *Store) Head(stream string, limit uint64) (Head, error) {
	last, position, err := s.Last(stream, limit)
	if err != nil {
		return Head{}, err
	}
	meta, err := s.Meta(stream, limit)
	return Head{Last: last, Position: position, Meta: meta}, err
}

// Meta returns a stream's last metadata up to the position limit. A scavenge may remove
// the metadata event between the two lookups. In that case, either a later metadata
// event exists, which the second attempt finds, or the stream is tombstoned and its
// metadata does not matter.
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

// View is the visible part of a stream at a point in time.
type View struct {
	Head
	First  int64 // lower revisions are hidden
	Oldest int64 // hides events that were created before this time
}

// Range selects a page of a stream: at most Limit events, forwards or backwards from
// the revision From. It leaves out events whose position is greater than Within. In a
// read of the log, From is a position.
type Range struct {
	From, Within uint64
	Limit        int
	Backwards    bool
}

// The method bounds returns the lowest and the highest revision that a page may
// contain.
func (r Range) bounds(v View) (low, high uint64) {
	low, high = uint64(max(v.First, 0)), uint64(max(v.Last, 0))
	if r.Backwards {
		return low, min(r.From, high)
	}
	return max(r.From, low), high
}

// These are the limits of a page. No iterator stays open while the node sends a page.
const (
	PageRecords = 512
	pageBytes   = 512 << 10
)

// Page is a series of records and the start of the next page.
type Page struct {
	Records []record.Record
	bytes   int
	Next    uint64 // revision or position to continue from
	End     bool   // there is no next page
}

func (p *Page) add(r record.Record) {
	p.Records = append(p.Records, r)
	p.bytes += len(r.Data) + len(r.Metadata)
}

// The method full() reports whether the page has limit records or has reached the
// maximum size of a page.
func (p *Page) full(limit int) bool {
	return len(p.Records) >= min(limit, PageRecords) || p.bytes >= pageBytes
}

// Page reads a page of a stream. A gap between revisions is an error, but the beginning
// of the stream may be missing if it was scavenged.
func (s *Store) Page(stream string, v View, r Range) (Page, error) {
	low, high := r.bounds(v)
	next, step := low, uint64(1)
	if r.Backwards {
		next, step = high, ^uint64(0) // -1
	}
	p, err := s.ReadPage(stream, v, r, func(revision, position uint64) (record.Record, bool, error) {
		if revision != next {
			found := revision
			if r.Backwards { // lower revisions still exist, so a scavenge did not leave this gap
				found = math.MaxUint64
			}
			if err := s.skipped(stream, next, found); err != nil {
				return record.Record{}, false, err
			}
		}
		next = revision + step
		return s.event(stream, revision, position)
	})
	lowestSeen := next + 1
	if err == nil && r.Backwards && p.End && next != high && lowestSeen > low { // a scavenge must have removed the remaining revisions
		err = s.skipped(stream, next, lowestSeen)
	}
	return p, err
}

// NewView returns the view of a stream at the given time, in ticks.
func NewView(h Head, now int64) View {
	return View{Head: h, First: h.Meta.First(h.Last), Oldest: h.Meta.Oldest(now)}
}

// Hides reports whether the view hides an event of the stream.
func (v View) Hides(r *record.Record) bool {
	return int64(r.Revision) < v.First || r.Created < v.Oldest
}

// View returns the visible part of a stream up to the position limit. A metadata stream
// counts as tombstoned if the stream that it describes is tombstoned.
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

// skipExpired raises First to the revision of the first event that is not too old.
// Creation times never decrease along the log, so skipExpired uses a binary search.
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
