package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// After a run, the export does not name any account that was deleted before the run.
// The type owners leaves such owners out of the rows of new matches. The method
// leaveOut of the type state replaces older files that name an owner who has deleted
// the account since then.
//
// Together, the two steps cover every deletion. A run first determines the end of the
// log, and then asks which accounts are deleted. So if the last match of a file ended
// at some position, the file leaves out every account that was deleted before that
// position. The next run has to handle only the deletions after the position in the
// state. There is one exception: if an earlier version of this program wrote the
// folder, the next run handles all deletions.

// The type owners finds out which owners have deleted their accounts. It is safe for
// concurrent use.
type owners struct {
	log eventstore.Log

	mu      sync.Mutex
	deleted map[string]bool // by id
}

// leaveOut removes the ids of owners who have deleted their accounts from the rows of a
// match.
func (o *owners) leaveOut(ctx context.Context, r *rows) (err error) {
	for i := range r.seats {
		if r.seats[i].OwnerID, err = o.visible(ctx, r.seats[i].OwnerID); err != nil {
			return err
		}
	}
	return nil
}

// The method visible() returns id, or the empty string if the owner has deleted the
// account.
func (o *owners) visible(ctx context.Context, id string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	deleted, known := o.deleted[id]
	if !known {
		for r, err := range o.log.Read(ctx, eventstore.StreamID(owner.AccountStream(id)), eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
			if err != nil {
				return "", err
			}
			deleted = r.Type == owner.Deleted{}.EventType() // no event follows it
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		o.deleted[id] = deleted
	}
	if deleted {
		return "", nil
	}
	return id, nil
}

// leaveOutDeleted replaces the complete files that name owners who have deleted their
// accounts.
func (s *state) leaveOutDeleted(ctx context.Context, log eventstore.Log) error {
	if s.Last == nil {
		return nil // there are no complete files
	}
	if s.Schema == schema {
		return s.leaveOutDeletedAfter(ctx, log, s.Position)
	}
	if err := s.leaveOutDeletedAfter(ctx, log, 0); err != nil {
		return err
	}
	s.Schema = schema
	return s.save()
}

func (s *state) leaveOutDeletedAfter(ctx context.Context, log eventstore.Log, p eventstore.Position) error {
	gone, err := deletedAfter(ctx, log, p)
	if err != nil || len(gone) == 0 {
		return err
	}
	files, err := filepath.Glob(filepath.Join(s.options.Dir, seatsTable.name, "*."+s.options.Format))
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := errors.Join(ctx.Err(), s.leaveOut(gone, path)); err != nil {
			return fmt.Errorf("leave deleted owners out of %s: %w", path, err)
		}
	}
	return nil
}

// deletedAfter returns the owners whose accounts were deleted after a position.
func deletedAfter(ctx context.Context, log eventstore.Log, p eventstore.Position) (map[string]bool, error) {
	gone := map[string]bool{}
	for m, err := range log.Subscribe(ctx, p, eventstore.Filter{Types: []string{owner.Deleted{}.EventType()}}) {
		switch {
		case err != nil:
			return nil, err
		case m.CaughtUp:
			return gone, nil
		case m.Event == nil:
			continue
		}
		if id, ok := owner.ParseAccountStream(string(m.Event.Stream)); ok {
			gone[id] = true
		}
	}
	return nil, context.Cause(ctx)
}

// leaveOut replaces a file of the table seats if the file names one of the owners in
// the map gone. The new file is the same as a new export of its matches.
func (s *state) leaveOut(gone map[string]bool, path string) error {
	old, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // it was only read
	for row, err := range readSeats(s.options.Format, old) {
		if err != nil {
			return err
		}
		if gone[row.OwnerID] {
			return s.replace(gone, old)
		}
	}
	return nil
}

// replace rewrites a file under the same name and leaves out the owners in the map gone.
// Like a run, it writes one match at a time.
func (s *state) replace(gone map[string]bool, old *os.File) (err error) {
	if _, err := old.Seek(0, io.SeekStart); err != nil {
		return err
	}
	replacement, err := s.create(seatsTable, filepath.Base(old.Name()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, replacement.discard()) }()
	match := &rows{}
	for row, err := range readSeats(s.options.Format, old) {
		if err != nil {
			return err
		}
		if gone[row.OwnerID] {
			row.OwnerID = ""
		}
		if len(match.seats) > 0 && match.seats[0].MatchID != row.MatchID {
			if err := replacement.sheet.add(match); err != nil {
				return err
			}
			match = &rows{}
		}
		match.seats = append(match.seats, row)
	}
	if err := replacement.sheet.add(match); err != nil {
		return err
	}
	if err := replacement.sync(); err != nil {
		return err
	}
	return replacement.publish()
}
