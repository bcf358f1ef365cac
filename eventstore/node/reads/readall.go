package reads

import (
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
)

// readAll answers a read of the whole log.
func (r *reader) readAll() error {
	if err := r.checkPosition(); err != nil {
		return err
	}
	if r.backwards {
		return r.allDown()
	}
	return r.allUp()
}

// checkPosition rejects a position inside the log at which no record begins, unless
// a scavenge left a gap there.
func (r *reader) checkPosition() error {
	if r.from.Kind != wire.FromExactly || r.from.At == 0 || r.from.At > r.within {
		return nil
	}
	_, ok, err := r.Store.At(r.from.At)
	if err == nil && !ok {
		ok, err = r.Store.WasScavenged(r.from.At)
	}
	if err == nil && !ok {
		err = wire.Invalid("no event is at position %d", r.from.At)
	}
	return err
}

func (r *reader) allUp() error {
	from := r.begin()
	for {
		p, err := r.Store.LogForwards(from, r.within, r.batch())
		if err != nil {
			return err
		}
		if err := r.sendSelected(p); err != nil || p.End || r.count == 0 {
			return err
		}
		from = p.Next
	}
}

func (r *reader) allDown() error {
	below := min(r.begin(), r.within+1)
	for {
		p, err := r.Store.LogBackwards(below, r.batch())
		if err != nil {
			return err
		}
		if err := r.sendSelected(p); err != nil || p.End || r.count == 0 {
			return err
		}
		below = p.Next
	}
}

// batch returns the number of records to read at once. A filter may select few of
// them.
func (r *reader) batch() int {
	if r.filter != nil {
		return storage.PageRecords
	}
	return r.left()
}

func (r *reader) sendSelected(p storage.Page) error {
	selected := p.Records[:0]
	for i := range p.Records {
		if r.selects(&p.Records[i]) && uint64(len(selected)) < r.count {
			selected = append(selected, p.Records[i])
		}
	}
	p.Records = selected
	return r.sendPage(p)
}

// selects reports whether a record is part of this read of $all.
func (r *reader) selects(found *record.Record) bool {
	return !streams.HiddenFromAll(found.Stream) && r.filter.Matches(found)
}
