package storage

import (
	"fmt"
	"math"

	"hexarena/eventstore/node/record"
)

// Bounds of a page. No iterator stays open while a page is sent.
const (
	PageRecords = 512
	pageBytes   = 512 << 10
)

// Page is a run of records, and the start of the next page.
type Page struct {
	Records []record.Record
	bytes   int
	Next    uint64 // revision or position to continue from
	End     bool   // there is no next page
}

// Add appends a record.
func (p *Page) Add(r record.Record) {
	p.Records = append(p.Records, r)
	p.bytes += len(r.Data) + len(r.Metadata)
}

// Full reports whether the page holds limit records, or as much as a page may.
func (p *Page) Full(limit int) bool {
	return len(p.Records) >= min(limit, PageRecords) || p.bytes >= pageBytes
}

// Forwards reads at most limit visible events of a stream from a revision up, to
// the position within. Revisions have no gaps; only a scavenged beginning may be
// missing.
func (s *Store) Forwards(stream string, v View, from, within uint64, limit int) (p Page, err error) {
	from = max(from, uint64(max(v.First, 0)))
	if from > uint64(v.Last) || v.Last < 0 {
		return Page{End: true}, nil
	}
	entries, err := s.Entries(stream, from, uint64(v.Last), within)
	if err != nil {
		return Page{}, err
	}
	defer entries.CloseInto(&err)
	next := from
	for ok := entries.First(); ok; ok = entries.Next() {
		revision, position := entries.Entry()
		if p.Full(limit) {
			p.Next = revision
			return p, nil
		}
		if revision != next {
			if err := s.skipped(stream, next, revision); err != nil {
				return Page{}, err
			}
		}
		next = revision + 1
		if err := s.see(&p, stream, v, revision, position); err != nil {
			return Page{}, err
		}
	}
	p.End = true
	return p, nil
}

// Backwards reads at most limit visible events of a stream from a revision down.
func (s *Store) Backwards(stream string, v View, from, within uint64, limit int) (p Page, err error) {
	if v.Last < 0 {
		return Page{End: true}, nil
	}
	lowest, next, seen := uint64(max(v.First, 0)), min(from, uint64(v.Last)), false
	entries, err := s.Entries(stream, lowest, next, within)
	if err != nil {
		return Page{}, err
	}
	defer entries.CloseInto(&err)
	for ok := entries.Last(); ok; ok = entries.Prev() {
		revision, position := entries.Entry()
		if p.Full(limit) {
			p.Next = revision
			return p, nil
		}
		if revision != next {
			return Page{}, s.skipped(stream, next, math.MaxUint64)
		}
		if err := s.see(&p, stream, v, revision, position); err != nil {
			return Page{}, err
		}
		next, seen = next-1, true
	}
	p.End = true
	if lowestSeen := next + 1; seen && lowestSeen > lowest { // the rest must have been scavenged
		err = s.skipped(stream, next, lowestSeen)
	}
	return p, err
}

// see adds an event to a page if it is visible.
func (s *Store) see(p *Page, stream string, v View, revision, position uint64) error {
	r, ok, err := s.event(stream, revision, position)
	if err == nil && ok && !v.Hides(&r) {
		p.Add(r)
	}
	return err
}

// LogForwards reads at most limit records from a position up, both bounds
// inclusive.
func (s *Store) LogForwards(from, within uint64, limit int) (p Page, err error) {
	if from > within {
		return Page{End: true, Next: from}, nil
	}
	it, err := s.log(from, within)
	if err != nil {
		return Page{}, fmt.Errorf("read the log: %w", err)
	}
	defer func() {
		if failed := it.Close(); err == nil {
			err = failed
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		if p.Full(limit) {
			p.Next = positionOfKey(it.Key())
			return p, nil
		}
		r, err := recordUnder(it)
		if err != nil {
			return Page{}, err
		}
		p.Add(r)
	}
	p.End = true
	return p, nil
}

// LogBackwards reads at most limit records below a position, exclusive.
func (s *Store) LogBackwards(below uint64, limit int) (p Page, err error) {
	if below == 0 {
		return Page{End: true}, nil
	}
	it, err := s.log(0, below-1)
	if err != nil {
		return Page{}, fmt.Errorf("read the log: %w", err)
	}
	defer func() {
		if failed := it.Close(); err == nil {
			err = failed
		}
	}()
	for ok := it.Last(); ok; ok = it.Prev() {
		if p.Full(limit) {
			return p, nil
		}
		r, err := recordUnder(it)
		if err != nil {
			return Page{}, err
		}
		p.Add(r)
		p.Next = r.Position
	}
	p.End = true
	return p, nil
}
