package categories

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// The names of link streams begin with one of these two prefixes.
const (
	categoryPrefix = "$ce-"
	typePrefix     = "$et-"
	typeDeleted    = "$deleted" // the event type for both kinds of deletes
)

// IsDerived reports whether a stream is a link stream.
func IsDerived(stream string) bool {
	return strings.HasPrefix(stream, categoryPrefix) || strings.HasPrefix(stream, typePrefix)
}

// linkedIn returns the names of the link streams that contain a link to a record. An
// empty name means no stream. linkedIn treats a soft delete as an event of the deleted
// stream.
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

// Last finds a stream's last link to a record at or before a position (the parameter
// within). It returns the link's revision and the record's position. The revision is -1
// if there is no such link.
func (c *Categories) Last(stream string, within uint64) (revision int64, position uint64, err error) {
	links, ok := c.opened()
	if !ok {
		return -1, 0, nil
	}
	return links.LastEntry(stream, within)
}

// Page reads a page of links. It leaves out links to scavenged records.
func (c *Categories) Page(stream string, v storage.View, r storage.Range) (storage.Page, error) {
	links, ok := c.opened()
	if !ok {
		return storage.Page{End: true}, nil
	}
	return links.ReadPage(stream, v, r, func(revision, position uint64) (link record.Record, ok bool, err error) {
		target, ok, err := c.Store.At(position)
		if err == nil && ok {
			link, err = newLink(stream, revision, &target)
		}
		return link, ok, err
	})
}

// linkMetadata describes the target of a link.
type linkMetadata struct {
	Commit  uint64    `json:"$c"`
	Prepare uint64    `json:"$p"`
	Stream  string    `json:"$o"`
	Cause   uuid.UUID `json:"$causedBy"`
}

// newLink returns a link to a record. The link has the record's position and an id that
// is derived from the record's id, so newLink returns the same link every time. If the
// record is a link itself, the new link points to the same target.
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
