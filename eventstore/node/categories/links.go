package categories

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// The streams of links.
const (
	categoryPrefix = "$ce-"
	typePrefix     = "$et-"
	typeDeleted    = "$deleted" // stands for both kinds of deletes
)

// IsDerived reports whether a stream is one of links.
func IsDerived(stream string) bool {
	return strings.HasPrefix(stream, categoryPrefix) || strings.HasPrefix(stream, typePrefix)
}

// linkedIn returns the streams of links that link to a record; a name may be empty.
// A soft delete counts as an event of the stream that it deletes.
func linkedIn(r *record.Record) (in [2]string) {
	stream, kind := r.Stream, r.Type
	if record.IsMetadataStream(stream) {
		if !record.ParseMetadata(r.Data).SoftDeleted() {
			return in
		}
		stream, kind = record.OriginalOf(stream), typeDeleted
	} else if kind == record.TypeStreamDeleted {
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

// Last returns the last revision of a stream of links, with the position of
// its record, up to the position within.
func (c *Categories) Last(stream string, within uint64) (revision int64, position uint64, err error) {
	links := c.opened()
	if links == nil {
		return -1, 0, nil
	}
	return links.LastEntry(stream, within)
}

// Forwards reads visible links from a revision up, as store.forwards reads
// events.
func (c *Categories) Forwards(stream string, v storage.View, from, within uint64, limit int) (storage.Page, error) {
	return c.page(stream, v, max(from, uint64(max(v.First, 0))), uint64(max(v.Last, 0)), within, limit, (*storage.Entries).First, (*storage.Entries).Next)
}

// Backwards reads visible links from a revision down.
func (c *Categories) Backwards(stream string, v storage.View, from, within uint64, limit int) (storage.Page, error) {
	return c.page(stream, v, uint64(max(v.First, 0)), min(from, uint64(max(v.Last, 0))), within, limit, (*storage.Entries).Last, (*storage.Entries).Prev)
}

// page reads links of some revisions, starting at one end. A link whose record
// was scavenged does not exist any more.
func (c *Categories) page(stream string, v storage.View, lowest, highest, within uint64, limit int, begin, next func(*storage.Entries) bool) (p storage.Page, err error) {
	links := c.opened()
	if links == nil || v.Last < 0 || lowest > highest {
		return storage.Page{End: true}, nil
	}
	entries, err := links.Entries(stream, lowest, highest, within)
	if err != nil {
		return storage.Page{}, err
	}
	defer entries.CloseInto(&err)
	for ok := begin(entries); ok; ok = next(entries) {
		revision, position := entries.Entry()
		if p.Full(limit) {
			p.Next = revision
			return p, nil
		}
		target, ok, err := c.Store.At(position)
		if err != nil {
			return storage.Page{}, err
		}
		if !ok {
			continue
		}
		link, err := newLink(stream, revision, &target)
		if err != nil {
			return storage.Page{}, err
		}
		if !v.Hides(&link) {
			p.Add(link)
		}
	}
	p.End = true
	return p, nil
}

// linkMetadata describes the target of a link.
type linkMetadata struct {
	Commit  uint64    `json:"$c"`
	Prepare uint64    `json:"$p"`
	Stream  string    `json:"$o"`
	Cause   uuid.UUID `json:"$causedBy"`
}

// newLink returns a link to a record. The link has the record's position and a
// derived id, so it is the same each time. A link to a link has that link's target.
func newLink(stream string, revision uint64, target *record.Record) (record.Record, error) {
	data := record.LinkTo(target)
	if target.Type == record.TypeLink {
		data = target.Data
	}
	metadata, err := json.Marshal(linkMetadata{target.Position, target.Position, target.Stream, target.ID})
	return record.Record{
		Position: target.Position,
		Revision: revision,
		Created:  target.Created,
		ID:       uuid.NewSHA1(target.ID, []byte(stream)),
		Stream:   stream,
		Type:     record.TypeLink,
		Data:     data,
		Metadata: string(metadata),
	}, err
}
