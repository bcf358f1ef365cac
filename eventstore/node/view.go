package node

import "math"

// head is where a stream ends, and what its metadata hides.
type head struct {
	last     int64 // revision, -1 for no event
	position uint64
	meta     streamMeta
}

func (h head) tombstoned() bool { return h.last == tombstoneRevision }

// head is where a stream ends within limit.
func (s *store) head(stream string, limit uint64) (head, error) {
	last, position, err := s.last(stream, limit)
	if err != nil {
		return head{}, err
	}
	meta, err := s.meta(stream, limit)
	return head{last: last, position: position, meta: meta}, err
}

// meta is what a stream's metadata said within limit. Of what is scavenged
// while it is looked for, there is a later one; or the stream is tombstoned,
// and its metadata does not matter.
func (s *store) meta(stream string, limit uint64) (streamMeta, error) {
	if isMetaStream(stream) {
		return metaOfMetaStreams, nil
	}
	for range 2 {
		last, position, err := s.last(metaPrefix+stream, limit)
		if err != nil || last < 0 {
			return streamMeta{}, err
		}
		r, ok, err := s.event(metaPrefix+stream, uint64(last), position)
		if err != nil {
			return streamMeta{}, err
		}
		if ok {
			return parseMeta(r.data), nil
		}
	}
	return streamMeta{exists: true}, nil
}

func metaOf(stream, data string) streamMeta {
	if isMetaStream(stream) {
		return metaOfMetaStreams
	}
	return parseMeta(data)
}

// view is what can be seen of a stream at one moment.
type view struct {
	head
	first  int64 // lower revisions are hidden
	oldest int64 // what was created earlier is hidden
}

func newView(h head, now int64) view {
	return view{head: h, first: h.meta.first(h.last), oldest: h.meta.oldest(now)}
}

func (v view) hides(r *record) bool {
	return int64(r.revision) < v.first || r.created < v.oldest
}

// view is what can be seen of a stream within limit.
func (s *store) view(stream string, limit uint64, now int64) (view, error) {
	h, err := s.head(stream, limit)
	if err != nil {
		return view{}, err
	}
	if isMetaStream(stream) && !h.tombstoned() {
		original, _, err := s.last(originalOf(stream), limit)
		if err != nil {
			return view{}, err
		}
		if original == tombstoneRevision {
			h.last = tombstoneRevision
		}
	}
	v := newView(h, now)
	return v, s.skipExpired(stream, &v, limit)
}

// skipExpired raises first to the first event that is not too old. Records are
// never created earlier than the one before, so the search may halve.
func (s *store) skipExpired(stream string, v *view, limit uint64) error {
	if v.oldest == math.MinInt64 || v.tombstoned() {
		return nil
	}
	low, high := max(v.first, 0), v.last+1
	for low < high {
		middle := low + (high-low)/2
		r, ok, err := s.find(stream, uint64(middle), limit)
		if err != nil {
			return err
		}
		if ok && r.created >= v.oldest {
			high = middle
		} else {
			low = middle + 1
		}
	}
	v.first = low
	return nil
}
