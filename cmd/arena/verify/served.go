package verify

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/adapters/rest"
	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/projections/signedlog"
)

// maxBatch is the maximum number of events that the arena returns in one response.
const maxBatch = 500

// ladderEvent is an event of a ladder's stream.
type ladderEvent struct {
	revision uint64
	at       time.Time
	name     string
	data     []byte // exactly as stored
	leaf     []byte // the hash of the leaf that the event adds to the results; nil if it adds no leaf, or if there is no tree
}

// fetch requests events. The parameter from is the revision of the first one. The arena
// may return fewer events than limit.
func (t *tree) fetch(ctx context.Context, from uint64, limit int) ([]ladderEvent, *audit.Difference, error) {
	var body rest.LadderEvents
	path := fmt.Sprintf("/ladder/%s/events?from=%d&limit=%d", t.mode, from, limit)
	found, err := t.getJSON(ctx, path, &body)
	if err == nil && !found {
		err = errNoTree
	}
	if err != nil {
		return nil, nil, err
	}
	if len(body.Events) == 0 {
		return nil, treeDifference(fmt.Sprintf("no event at revision %d", from), fmt.Sprintf("an event for each of the %d entries of the tree", t.head.Size)), nil
	}
	list := make([]ladderEvent, 0, len(body.Events))
	for i, e := range body.Events {
		want := from + uint64(i)
		if uint64(e.Revision) != want {
			return nil, treeDifference(fmt.Sprintf("an event at revision %d", e.Revision), fmt.Sprintf("one at revision %d", want)), nil
		}
		at, err := time.Parse(time.RFC3339, e.At)
		if err != nil {
			return nil, nil, fmt.Errorf("ladder-%s@%d: the time of the event: %w", t.mode, want, err)
		}
		list = append(list, ladderEvent{revision: want, at: at, name: e.Type, data: []byte(e.Data)})
	}
	return list, nil, nil
}

// The method served() yields the events that the arena serves, up to the size that the
// caller accepts.
func (t *tree) served(ctx context.Context) iter.Seq2[ladderEvent, error] {
	return func(yield func(ladderEvent, error) bool) {
		for from := uint64(0); from < t.size(); {
			list, d, err := t.fetch(ctx, from, maxBatch)
			if d != nil {
				err = &treeError{from, d}
			}
			if err != nil {
				yield(ladderEvent{}, err)
				return
			}
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
			from += uint64(len(list))
		}
	}
}

// The method matches() requires that raw is the tree's entry for the event. It returns
// the hash of the leaf that the event adds to the results, or nil if it adds none.
func (e ladderEvent) matches(raw []byte) (leaf []byte, d *audit.Difference) {
	var parsed struct{ Leaf *string } // set if the event adds a leaf to the tree of results
	if err := json.Unmarshal(raw, &parsed); err == nil && parsed.Leaf != nil {
		hash, err := hex.DecodeString(*parsed.Leaf)
		if err != nil || len(hash) != tlog.HashSize {
			return nil, treeDifference(fmt.Sprintf("entry %d with the leaf %q", e.revision, *parsed.Leaf), "the hash of a leaf")
		}
		leaf = hash
	}
	if want := signedlog.Entry(e.revision, e.name, e.data, leaf); string(want) != string(raw) {
		return nil, treeDifference(fmt.Sprintf("entry %d: %s", e.revision, shortenText(raw)), fmt.Sprintf("%s, which follows from the event that the arena serves", want))
	}
	return leaf, e.leafFits(leaf)
}

// The method why() returns the reason in a MatchVoided event, or an empty string if the
// data is malformed. Malformed data is rejected later, when the ladder is folded.
func (e ladderEvent) why() string {
	decoded, err := ladder.Decode(e.name, e.data)
	if v, ok := decoded.(ladder.MatchVoided); err == nil && ok {
		return v.Why
	}
	return ""
}

// leafFits requires a leaf for each rated match, and no leaf for a seating. A voided
// match has a leaf if it had started. If its wall clock ran out, it must have
// started. If its round did not appear, it cannot have started.
func (e ladderEvent) leafFits(leaf []byte) *audit.Difference {
	switch e.name {
	case ladder.MatchVoided{}.EventType():
		switch why := e.why(); {
		case why == ladder.WhyBeacon && leaf != nil:
			return treeDifference(fmt.Sprintf("entry %d: a match that was voided because of the beacon, with a leaf", e.revision), "no leaf, because such a match never started")
		case why == ladder.WhyWallClock && leaf == nil:
			return treeDifference(fmt.Sprintf("entry %d: a match whose wall clock ran out, without a leaf", e.revision), "the leaf of the match's record, because such a match had started")
		}
	case ladder.RatingsChanged{}.EventType():
		if leaf == nil {
			return treeDifference(fmt.Sprintf("entry %d: a rated match without a leaf", e.revision), "the leaf of the match's record")
		}
	case ladder.TablesSeated{}.EventType():
		if leaf != nil {
			return treeDifference(fmt.Sprintf("entry %d: a seating with a leaf", e.revision), "no leaf")
		}
	}
	return nil
}

// The method checked() yields events with their leaves, up to the size that the caller
// accepts. Each event must match the tree's entry at the same index. The error may be a
// *treeError.
func (t *tree) checked(ctx context.Context, events iter.Seq2[ladderEvent, error]) iter.Seq2[ladderEvent, error] {
	return func(yield func(ladderEvent, error) bool) {
		next, stop := iter.Pull2(t.entries(ctx))
		defer stop()
		done := uint64(0)
		for e, err := range events {
			if done == t.size() {
				return
			}
			if err == nil {
				e.leaf, err = e.against(next)
			}
			if !yield(e, err) || err != nil {
				return
			}
			done++
		}
		if done < t.size() {
			yield(ladderEvent{}, &treeError{done, treeDifference(fmt.Sprintf("%d events", done), fmt.Sprintf("an event for each of the %d entries of the tree", t.size()))})
		}
	}
}

// The method against() compares an event with the next entry of the tree.
func (e ladderEvent) against(next func() ([]byte, error, bool)) (leaf []byte, err error) {
	raw, err, _ := next()
	if err != nil {
		return nil, err
	}
	leaf, d := e.matches(raw)
	if d != nil {
		err = &treeError{e.revision, d}
	}
	return leaf, err
}

// treeError is the error for a difference in a tree.
type treeError struct {
	revision uint64
	*audit.Difference
}

// The method entries() yields the raw entries of the tree.
func (t *tree) entries(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		client, err := torchwood.NewClient(t)
		if err != nil {
			yield(nil, err)
			return
		}
		t.failed = nil
		for _, raw := range client.AllEntries(ctx, treeOf(t.head), 0) {
			if !yield(raw, nil) {
				return
			}
		}
		d, err := t.blame(client.Err())
		if d != nil {
			err = &treeError{t.head.Size, d}
		}
		if err == nil {
			err = fmt.Errorf("the arena's tree ended before its %d entries", t.head.Size)
		}
		yield(nil, err)
	}
}

// seating returns the tables in the TablesSeated event at a revision, by match. The
// event must be in the tree. If there is no such event, the map is empty.
func (t *tree) seating(ctx context.Context, revision uint64) (map[string]audit.Seating, *audit.Difference, error) {
	if t.tables.byMatch != nil && t.tables.revision == revision {
		return t.tables.byMatch, nil, nil
	}
	none := map[string]audit.Seating{}
	if revision >= t.size() {
		if d, err := t.advance(ctx); d != nil || err != nil || revision >= t.head.Size {
			return none, d, err
		}
	}
	if revision >= t.size() {
		return none, &audit.Difference{
			Check: checkWitnesses, Log: fmt.Sprintf("a seating at revision %d", revision),
			Follows: fmt.Sprintf("a seating that the witnesses of %s have seen: they cosigned %s", t.policy.file, describeTree(t.witnessed)),
		}, nil
	}
	e, d, err := t.event(ctx, revision)
	if d != nil || err != nil || e.name != (ladder.TablesSeated{}).EventType() {
		return none, d, err
	}
	hashes, err := t.hashes(ctx, t.head).ReadHashes([]int64{tlog.StoredHashIndex(0, int64(revision))})
	if d, err := t.blame(err); d != nil || err != nil {
		return nil, d, err
	}
	if want := tlog.RecordHash(signedlog.Entry(revision, e.name, e.data, nil)); hashes[0] != want {
		return nil, treeDifference(fmt.Sprintf("entry %d with the hash %s", revision, hashes[0]), fmt.Sprintf("%s, which follows from the event that the arena serves", want)), nil
	}
	tables, err := audit.ParseSeatings(revision, e.data)
	if err != nil {
		return nil, nil, fmt.Errorf("ladder-%s@%d: %w", t.mode, revision, err)
	}
	t.tables = seatings{revision, tables}
	return tables, nil, nil
}

// event returns the event at a revision. If the latest batch contains the event, no
// call is necessary.
func (t *tree) event(ctx context.Context, revision uint64) (e ladderEvent, d *audit.Difference, err error) {
	if len(t.page) == 0 || revision < t.page[0].revision || revision > t.page[len(t.page)-1].revision {
		if t.page, d, err = t.fetch(ctx, revision, t.batch); d != nil || err != nil {
			return e, d, err
		}
	}
	return t.page[revision-t.page[0].revision], nil, nil
}
