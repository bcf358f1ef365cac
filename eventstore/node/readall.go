package node

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

// checkPosition refuses a position inside the log where no record is, nor may
// have been.
func (r *reader) checkPosition() error {
	if r.from.kind != fromExactly || r.from.at == 0 || r.from.at > r.within {
		return nil
	}
	_, ok, err := r.store.at(r.from.at)
	if err == nil && !ok {
		ok, err = r.store.wasScavenged(r.from.at)
	}
	if err == nil && !ok {
		err = invalid("no event is at position %d", r.from.at)
	}
	return err
}

func (r *reader) allUp() error {
	from := r.begin()
	for {
		p, err := r.store.logForwards(from, r.within, r.batch())
		if err != nil {
			return err
		}
		if err := r.sendSelected(p); err != nil || p.end || r.count == 0 {
			return err
		}
		from = p.next
	}
}

func (r *reader) allDown() error {
	below := min(r.begin(), r.within+1)
	for {
		p, err := r.store.logBackwards(below, r.batch())
		if err != nil {
			return err
		}
		if err := r.sendSelected(p); err != nil || p.end || r.count == 0 {
			return err
		}
		below = p.next
	}
}

// batch is how many records to look at at once: all of them may be selected,
// but with a filter few may be.
func (r *reader) batch() int {
	if r.filter != nil {
		return pageRecords
	}
	return r.left()
}

func (r *reader) sendSelected(p page) error {
	selected := p.records[:0]
	for i := range p.records {
		if r.selects(&p.records[i]) && uint64(len(selected)) < r.count {
			selected = append(selected, p.records[i])
		}
	}
	p.records = selected
	return r.sendPage(p)
}

// selects says whether a record belongs to this reading of $all.
func (r *reader) selects(found *record) bool {
	return !hiddenFromAll(found.stream) && (r.filter == nil || r.filter.matches(found))
}
