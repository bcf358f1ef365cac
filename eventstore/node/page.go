package node

import (
	"fmt"
	"math"
)

// Bounds of what is read at once: nothing of the store is held open while a
// page is sent.
const (
	pageRecords = 512
	pageBytes   = 512 << 10
)

// page is a run of records, and where the next one begins.
type page struct {
	records []record
	bytes   int
	next    uint64 // revision or position to go on from
	end     bool   // there is nothing further
}

func (p *page) add(r record) {
	p.records = append(p.records, r)
	p.bytes += len(r.data) + len(r.metadata)
}

func (p *page) full(limit int) bool {
	return len(p.records) >= min(limit, pageRecords) || p.bytes >= pageBytes
}

// forwards reads at most limit visible events of a stream from a revision up.
// Revisions have no gap but where they begin, if that was scavenged.
func (s *store) forwards(stream string, v view, from, within uint64, limit int) (p page, err error) {
	from = max(from, uint64(max(v.first, 0)))
	if from > uint64(v.last) || v.last < 0 {
		return page{end: true}, nil
	}
	entries, err := s.entries(stream, from, uint64(v.last), within)
	if err != nil {
		return page{}, err
	}
	defer entries.closeInto(&err)
	next := from
	for ok := entries.first(); ok; ok = entries.next() {
		revision, position := entries.entry()
		if p.full(limit) {
			p.next = revision
			return p, nil
		}
		if revision != next {
			if err := s.skipped(stream, next, revision); err != nil {
				return page{}, err
			}
		}
		next = revision + 1
		if err := s.see(&p, stream, v, revision, position); err != nil {
			return page{}, err
		}
	}
	p.end = true
	return p, nil
}

// backwards reads at most limit visible events of a stream from a revision
// down.
func (s *store) backwards(stream string, v view, from, within uint64, limit int) (p page, err error) {
	if v.last < 0 {
		return page{end: true}, nil
	}
	lowest, next, seen := uint64(max(v.first, 0)), min(from, uint64(v.last)), false
	entries, err := s.entries(stream, lowest, next, within)
	if err != nil {
		return page{}, err
	}
	defer entries.closeInto(&err)
	for ok := entries.last(); ok; ok = entries.prev() {
		revision, position := entries.entry()
		if p.full(limit) {
			p.next = revision
			return p, nil
		}
		if revision != next {
			return page{}, s.skipped(stream, next, math.MaxUint64)
		}
		if err := s.see(&p, stream, v, revision, position); err != nil {
			return page{}, err
		}
		next, seen = next-1, true
	}
	p.end = true
	if lowestSeen := next + 1; seen && lowestSeen > lowest { // what is below must have been scavenged
		err = s.skipped(stream, next, lowestSeen)
	}
	return p, err
}

func (s *store) see(p *page, stream string, v view, revision, position uint64) error {
	r, ok, err := s.event(stream, revision, position)
	if err == nil && ok && !v.hides(&r) {
		p.add(r)
	}
	return err
}

// logForwards reads at most limit records from a position up, both bounds
// inclusive.
func (s *store) logForwards(from, within uint64, limit int) (p page, err error) {
	if from > within {
		return page{end: true, next: from}, nil
	}
	it, err := s.log(from, within)
	if err != nil {
		return page{}, fmt.Errorf("read the log: %w", err)
	}
	defer func() {
		if failed := it.Close(); err == nil {
			err = failed
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		if p.full(limit) {
			p.next = positionOfKey(it.Key())
			return p, nil
		}
		r, err := recordUnder(it)
		if err != nil {
			return page{}, err
		}
		p.add(r)
	}
	p.end = true
	return p, nil
}

// logBackwards reads at most limit records below a position, exclusive.
func (s *store) logBackwards(below uint64, limit int) (p page, err error) {
	if below == 0 {
		return page{end: true}, nil
	}
	it, err := s.log(0, below-1)
	if err != nil {
		return page{}, fmt.Errorf("read the log: %w", err)
	}
	defer func() {
		if failed := it.Close(); err == nil {
			err = failed
		}
	}()
	for ok := it.Last(); ok; ok = it.Prev() {
		if p.full(limit) {
			return p, nil
		}
		r, err := recordUnder(it)
		if err != nil {
			return page{}, err
		}
		p.add(r)
		p.next = r.position
	}
	p.end = true
	return p, nil
}
