package node

import (
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

// lastLink returns the last revision of a stream of links, with the position of
// its record, up to the position within.
func (c *categories) lastLink(stream string, within uint64) (revision int64, position uint64, err error) {
	links := c.opened()
	if links == nil {
		return -1, 0, nil
	}
	return links.lastEntry(stream, within)
}

// forwards reads visible links from a revision up, as store.forwards reads
// events.
func (c *categories) forwards(stream string, v view, from, within uint64, limit int) (page, error) {
	return c.page(stream, v, max(from, uint64(max(v.first, 0))), uint64(max(v.last, 0)), within, limit, (*entries).first, (*entries).next)
}

// backwards reads visible links from a revision down.
func (c *categories) backwards(stream string, v view, from, within uint64, limit int) (page, error) {
	return c.page(stream, v, uint64(max(v.first, 0)), min(from, uint64(max(v.last, 0))), within, limit, (*entries).last, (*entries).prev)
}

// page reads links of some revisions, starting at one end. A link whose record
// was scavenged does not exist any more.
func (c *categories) page(stream string, v view, lowest, highest, within uint64, limit int, begin, next func(*entries) bool) (p page, err error) {
	links := c.opened()
	if links == nil || v.last < 0 || lowest > highest {
		return page{end: true}, nil
	}
	entries, err := links.entries(stream, lowest, highest, within)
	if err != nil {
		return page{}, err
	}
	defer entries.closeInto(&err)
	for ok := begin(entries); ok; ok = next(entries) {
		revision, position := entries.entry()
		if p.full(limit) {
			p.next = revision
			return p, nil
		}
		target, ok, err := c.store.at(position)
		if err != nil {
			return page{}, err
		}
		if !ok {
			continue
		}
		link, err := newLink(stream, revision, &target)
		if err != nil {
			return page{}, err
		}
		if !v.hides(&link) {
			p.add(link)
		}
	}
	p.end = true
	return p, nil
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
