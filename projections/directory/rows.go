package directory

import (
	"database/sql"
	_ "embed" // the schema
	"maps"
	"slices"
	"time"

	"hexarena/domain/owner"
	"hexarena/projections"
)

//go:embed schema.sql
var tables string

// The constant removed is the status in the row of a removed bot. Accounts do not
// contain removed bots, so package owner has no such status.
const removed owner.Status = "removed"

// The type changed contains the ids whose rows are out of date.
type changed struct{ owners, bots, keys map[string]bool }

// Flush implements projections.Model.
func (d *Directory) Flush(tx *projections.Tx) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, id := range slices.Sorted(maps.Keys(d.changed.owners)) {
		if err := d.writeOwner(tx, id); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.changed.bots)) {
		if err := d.writeBot(tx, id); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.changed.keys)) {
		k := d.keys[id]
		if err := tx.Exec("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)", id, k.OwnerID, k.PublicKey, k.Revoked, k.NoticeOwed); err != nil {
			return err
		}
	}
	clear(d.changed.owners)
	clear(d.changed.bots)
	clear(d.changed.keys)
	return nil
}

func (d *Directory) writeOwner(tx *projections.Tx, id string) error {
	var handle, deleted any
	if h, ok := d.handles[id]; ok {
		handle = h
	}
	if i := slices.Index(d.deleted, id); i >= 0 {
		deleted = i + 1
	}
	return tx.Exec("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", id, handle, d.accounts[id].Suspended, deleted)
}

// writeBot writes the row of a bot from the data in its owner's account. An account
// does not contain removed bots. So for a removed bot, writeBot uses the data in
// the directory.
func (d *Directory) writeBot(tx *projections.Tx, id string) error {
	shown := d.bots[id]
	b, ok := d.accounts[shown.OwnerID].Bot(id)
	if !ok {
		b.Status = removed
	}
	return tx.Exec("INSERT OR REPLACE INTO bots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		id, shown.OwnerID, shown.Name, shown.Mode, shown.URL, string(b.Status),
		shown.RegisteredAt.UnixMilli(), shown.StatusChanged.UnixMilli(), b.PausedBy, b.Suspended, b.Notified, shown.Trial, trialTime(shown))
}

// trialTime returns the time at which a bot's open trial was ordered, or 0.
func trialTime(b Bot) int64 {
	if b.Trial == "" {
		return 0
	}
	return b.TrialOrdered.UnixMilli()
}

// Load implements projections.Model.
func (d *Directory) Load(rows *sql.DB) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.empty()
	d.version++
	for _, part := range []struct {
		query string
		read  func(projections.Scan) error
	}{
		{"SELECT id, handle, suspended, deleted FROM owners ORDER BY deleted, id", d.readOwner},
		{"SELECT id, owner, name, mode, url, status, registered, changed, paused_by, suspended, notified, trial, trial_ordered FROM bots ORDER BY registered, id", d.readBot},
		{"SELECT id, owner, public_key, revoked, notice_owed FROM keys ORDER BY id", d.readKey},
	} {
		if err := projections.Each(rows, part.read, part.query); err != nil {
			return err
		}
	}
	clear(d.changed.keys) // the rows are now up to date
	return nil
}

func (d *Directory) readOwner(scan projections.Scan) error {
	var id string
	var handle *string
	var suspended bool
	var deleted *int
	if err := scan(&id, &handle, &suspended, &deleted); err != nil {
		return err
	}
	if handle != nil {
		d.handles[id] = *handle
	}
	if deleted != nil {
		d.deleted = append(d.deleted, id)
		return nil
	}
	d.accounts[id] = owner.Account{Suspended: suspended}
	return nil
}

func (d *Directory) readBot(scan projections.Scan) error {
	var b owner.Bot
	var ownerID string
	var registered, changed, ordered int64
	if err := scan(&b.ID, &ownerID, &b.Name, &b.Mode, &b.URL, &b.Status, &registered, &changed, &b.PausedBy, &b.Suspended, &b.Notified, &b.Trial.ID, &ordered); err != nil {
		return err
	}
	if b.Trial.ID != "" {
		b.Trial.OrderedAt = time.UnixMilli(ordered).UTC()
	}
	b.CreatedAt, b.StatusSince = time.UnixMilli(registered).UTC(), time.UnixMilli(changed).UTC()
	d.show(ownerID, b)
	if b.Status != removed {
		account := d.accounts[ownerID]
		account.Bots = append(account.Bots, b)
		d.accounts[ownerID] = account
	}
	return nil
}

func (d *Directory) readKey(scan projections.Scan) error {
	var k Key
	if err := scan(&k.ID, &k.OwnerID, &k.PublicKey, &k.Revoked, &k.NoticeOwed); err != nil {
		return err
	}
	d.setKey(k)
	return nil
}
