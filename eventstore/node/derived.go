package node

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
)

// The streams of links.
const (
	categoryPrefix = "$ce-"
	typePrefix     = "$et-"
	typeDeleted    = "$deleted" // of what deletes, for which there are several
)

// isDerived says whether a stream is one of links.
func isDerived(stream string) bool {
	return strings.HasPrefix(stream, categoryPrefix) || strings.HasPrefix(stream, typePrefix)
}

// linkedIn are the streams of links that have one to a record; some may be
// empty. A soft delete counts to the stream that it deletes.
func linkedIn(r *record) (in [2]string) {
	stream, kind := r.stream, r.kind
	if isMetaStream(stream) {
		if !parseMeta(r.data).softDeleted() {
			return in
		}
		stream, kind = originalOf(stream), typeDeleted
	} else if kind == typeStreamDeleted {
		kind = typeDeleted
	}
	if stream == "" || stream[0] == '$' {
		return in
	}
	if category, _, ok := strings.Cut(stream, "-"); ok && category != "" {
		in[0] = categoryPrefix + category
	}
	in[1] = typePrefix + kind
	return in
}

// What follows reads streams of either kind: those that are stored, and those
// of links, of which only an index is.

// await waits until a stream of links is complete up to a position; others
// always are.
func (n *Node) await(ctx context.Context, stream string, within uint64) error {
	if !isDerived(stream) {
		return nil
	}
	return n.categories.await(ctx, within)
}

// view is what can be seen of a stream now, within a position.
func (n *Node) view(stream string, within uint64) (view, error) {
	now := ticks(n.now())
	if !isDerived(stream) {
		return n.store.view(stream, within, now)
	}
	h := head{last: -1}
	var err error
	if index := n.categories.opened(); index != nil {
		if h.last, h.position, err = index.lastEntry(stream, within); err != nil {
			return view{}, err
		}
	}
	h.meta, err = n.store.meta(stream, within)
	return newView(h, now), err
}

// find reads the event at a revision of a stream, if it is there.
func (n *Node) find(stream string, revision, within uint64) (record, bool, error) {
	if !isDerived(stream) {
		return n.store.find(stream, revision, within)
	}
	v, err := n.view(stream, within)
	if err != nil || int64(revision) > v.last {
		return record{}, false, err
	}
	p, err := n.linksUp(stream, view{head: v.head, oldest: v.oldest}, revision, within, 1)
	if err != nil || len(p.records) == 0 || p.records[0].revision != revision {
		return record{}, false, err
	}
	return p.records[0], true, nil
}

func (n *Node) eventsUp(stream string, v view, from, within uint64, limit int) (page, error) {
	if isDerived(stream) {
		return n.linksUp(stream, v, from, within, limit)
	}
	return n.store.forwards(stream, v, from, within, limit)
}

func (n *Node) eventsDown(stream string, v view, from, within uint64, limit int) (page, error) {
	if isDerived(stream) {
		return n.linksDown(stream, v, from, within, limit)
	}
	return n.store.backwards(stream, v, from, within, limit)
}

func (n *Node) watch(stream string) (w *watcher, stop func()) {
	if isDerived(stream) {
		return n.categories.watch()
	}
	return n.tail.watch(stream)
}

// linksUp reads links as eventsUp does others.
func (n *Node) linksUp(stream string, v view, from, within uint64, limit int) (page, error) {
	return n.linkPage(stream, v, max(from, uint64(max(v.first, 0))), uint64(max(v.last, 0)), within, limit, (*entries).first, (*entries).next)
}

func (n *Node) linksDown(stream string, v view, from, within uint64, limit int) (page, error) {
	return n.linkPage(stream, v, uint64(max(v.first, 0)), min(from, uint64(max(v.last, 0))), within, limit, (*entries).last, (*entries).prev)
}

// linkPage reads the links of some revisions from one end on. Where the record was
// scavenged there is no link any more.
func (n *Node) linkPage(stream string, v view, lowest, highest, within uint64, limit int, begin, on func(*entries) bool) (p page, err error) {
	index := n.categories.opened()
	if index == nil || v.last < 0 || lowest > highest {
		return page{end: true}, nil
	}
	entries, err := index.index(stream, lowest, highest, within)
	if err != nil {
		return page{}, err
	}
	defer entries.closeInto(&err)
	for ok := begin(entries); ok; ok = on(entries) {
		revision, position := entries.entry()
		if p.full(limit) {
			p.next = revision
			return p, nil
		}
		if err := n.link(&p, stream, v, revision, position); err != nil {
			return page{}, err
		}
	}
	p.end = true
	return p, nil
}

// link adds the link to a record to a page.
func (n *Node) link(p *page, stream string, v view, revision, position uint64) error {
	target, ok, err := n.store.at(position)
	if err != nil || !ok {
		return err
	}
	l, err := newLink(stream, revision, &target)
	if err == nil && !v.hides(&l) {
		p.add(l)
	}
	return err
}

// linkMetadata is what a link says of its target.
type linkMetadata struct {
	Commit  uint64    `json:"$c"`
	Prepare uint64    `json:"$p"`
	Stream  string    `json:"$o"`
	Cause   uuid.UUID `json:"$causedBy"`
}

// newLink is a link to a record. It stands where the record does, and is the
// same whenever it is made. A link to a link leads where that does.
func newLink(stream string, revision uint64, target *record) (record, error) {
	data := linkTo(target)
	if target.kind == typeLink {
		data = target.data
	}
	metadata, err := json.Marshal(linkMetadata{target.position, target.position, target.stream, target.id})
	return record{
		position: target.position,
		revision: revision,
		created:  target.created,
		id:       uuid.NewSHA1(target.id, []byte(stream)),
		stream:   stream,
		kind:     typeLink,
		data:     data,
		metadata: string(metadata),
	}, err
}
