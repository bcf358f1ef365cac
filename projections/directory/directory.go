// Package directory is the read model that finds accounts by their keys and bots.
// It also finds a bot's name, URL and status, and an owner's handle. Every request
// and every tick uses the directory, so all its data is in memory. After a restart,
// the directory restores this data from the rows. The endpoints that owners use to
// manage their accounts read projections/accounts instead.
package directory

import (
	"slices"
	"sync"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
)

// Bot is a registered or removed bot.
type Bot struct {
	ID           string
	OwnerID      string
	Name         string
	Mode         string
	URL          string
	Active       bool // whether the bot may be seated: neither the bot nor its owner is paused or suspended
	Removed      bool
	RegisteredAt time.Time

	StatusChanged time.Time // when Active last changed
	NoticeOwed    bool      // whether the arena paused the bot for misses, but has not recorded an email to the owner yet

	Trial        string    // id of the ordered trial that has not ended yet, or empty
	TrialOrdered time.Time // when the trial was ordered
}

// Key is a registered API key. It may be revoked, or its account may be deleted.
type Key struct {
	ID        string
	OwnerID   string
	PublicKey []byte // 32 bytes

	Revoked    bool
	NoticeOwed bool // whether the key moved to another account, but no email to the owner has been recorded yet
}

// Directory is the model. A projections.Runner passes events to it.
type Directory struct {
	changed changed

	mu      sync.RWMutex // guards the fields below
	bots    map[string]Bot
	keys    map[string]Key
	handles map[string]string // owner id → handle

	accounts map[string]owner.Account // by owner id; only bots and suspensions are folded
	owed     map[string]bool          // ids of bots with NoticeOwed
	owedKeys map[string]bool          // ids of keys with NoticeOwed
	inTrial  map[string]bool          // ids of bots with a Trial
	byPublic map[string][]string      // by public key: the ids of its keys that are not revoked
	deleted  []string                 // owner ids, in the order of their deletion
	version  uint64
}

// New returns an empty directory.
func New() *Directory {
	d := &Directory{}
	d.empty()
	return d
}

// The method empty() clears the directory. The caller must hold mu if other goroutines
// may read.
func (d *Directory) empty() {
	d.changed = changed{owners: map[string]bool{}, bots: map[string]bool{}, keys: map[string]bool{}}
	d.bots, d.keys, d.handles = map[string]Bot{}, map[string]Key{}, map[string]string{}
	d.accounts, d.owed, d.deleted = map[string]owner.Account{}, map[string]bool{}, nil
	d.owedKeys, d.byPublic, d.inTrial = map[string]bool{}, map[string][]string{}, map[string]bool{}
}

// Name implements projections.Model.
func (d *Directory) Name() string { return "directory" }

// Schema implements projections.Model.
func (d *Directory) Schema() projections.Schema {
	return projections.Schema{Version: 3, Tables: tables}
}

// Filter implements projections.Model. It selects all account events, because a
// caller may wait for the position of any of them.
func (d *Directory) Filter() eventstore.Filter {
	return eventstore.Filter{StreamPrefixes: []string{owner.AccountPrefix}}
}

// Apply implements projections.Model.
func (d *Directory) Apply(_ *projections.Tx, r eventstore.Recorded) error {
	id, ok := owner.ParseAccountStream(string(r.Stream))
	if !ok {
		return nil
	}
	e, err := owner.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	m, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fold(id, e, m.At)
	return nil
}

func (d *Directory) fold(ownerID string, e owner.Event, at time.Time) {
	d.version++
	switch e := e.(type) {
	case owner.HandleChosen:
		d.handles[ownerID] = e.Handle
		d.changed.owners[ownerID] = true
	case owner.APIKeyRegistered:
		d.setKey(Key{ID: e.KeyID, OwnerID: ownerID, PublicKey: e.PublicKey})
	case owner.APIKeyRevoked:
		d.revokeKey(e)
	case owner.BotRemoved:
		d.foldBots(ownerID, e, at)
		d.remove(e.BotID)
	case owner.Notified:
		d.foldBots(ownerID, e, at)
		d.keyNotified(e.KeyID)
	case owner.BotRegistered, owner.BotRenamed, owner.BotURLChanged, owner.BotPaused, owner.BotUnpaused,
		owner.Suspended, owner.Restored, owner.TrialOrdered, owner.TrialEnded:
		d.foldBots(ownerID, e, at)
	case owner.Deleted:
		d.forget(ownerID)
	default:
		d.version-- // the event did not change the directory
	}
}

// foldBots lets domain/owner fold the event, and updates the account's bots.
func (d *Directory) foldBots(ownerID string, e owner.Event, at time.Time) {
	account := owner.Evolve(d.accounts[ownerID], e, at)
	d.accounts[ownerID] = account
	d.changed.owners[ownerID] = true
	for _, b := range account.Bots {
		d.show(ownerID, b)
		d.changed.bots[b.ID] = true
	}
}

// show updates a bot in the directory.
func (d *Directory) show(ownerID string, b owner.Bot) {
	shown := Bot{
		ID: b.ID, OwnerID: ownerID, Name: b.Name, Mode: b.Mode, URL: b.URL,
		Active: b.Status == owner.Active, Removed: b.Status == removed,
		RegisteredAt: b.CreatedAt, StatusChanged: b.StatusSince, NoticeOwed: b.NoticeOwed(),
	}
	if b.Trial.Open() {
		shown.Trial, shown.TrialOrdered = b.Trial.ID, b.Trial.OrderedAt
	}
	d.bots[b.ID] = shown
	mark(d.owed, b.ID, b.NoticeOwed())
	mark(d.inTrial, b.ID, b.Trial.Open())
}

// mark adds an id to a set, or removes it.
func mark(set map[string]bool, id string, in bool) {
	if in {
		set[id] = true
		return
	}
	delete(set, id)
}

func (d *Directory) remove(id string) {
	delete(d.owed, id)
	delete(d.inTrial, id)
	if b, ok := d.bots[id]; ok {
		b.Active, b.NoticeOwed, b.Removed, b.Trial, b.TrialOrdered = false, false, true, "", time.Time{}
		d.bots[id] = b
		d.changed.bots[id] = true
	}
}

// forget removes the bots and the handle of a deleted account, and the owed emails.
// It does not remove the keys. A request that is signed with such a key still finds
// the account, but the account no longer has any keys.
func (d *Directory) forget(ownerID string) {
	for id := range d.owedKeys {
		if d.keys[id].OwnerID == ownerID {
			d.keyNotified(id)
		}
	}
	for _, b := range d.accounts[ownerID].Bots {
		d.remove(b.ID)
	}
	delete(d.accounts, ownerID)
	delete(d.handles, ownerID)
	d.deleted = append(d.deleted, ownerID)
	d.changed.owners[ownerID] = true
}

// Bot returns a bot. It also returns removed bots, because their matches remain
// visible.
func (d *Directory) Bot(id string) (Bot, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	b, ok := d.bots[id]
	return b, ok
}

// Active returns the bots of a mode that may be seated, in no particular order.
func (d *Directory) Active(mode string) []Bot {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var list []Bot
	for _, b := range d.bots {
		if b.Active && b.Mode == mode {
			list = append(list, b)
		}
	}
	return list
}

// Handle returns an owner's public handle, or "" if the owner has not chosen
// one.
func (d *Directory) Handle(ownerID string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.handles[ownerID]
}

// Version returns a number that increases whenever the result of another method
// may have changed.
func (d *Directory) Version() uint64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.version
}

// NoticesOwed returns the bots and the keys whose NoticeOwed is set, in no
// particular order.
func (d *Directory) NoticesOwed() (bots []Bot, keys []Key) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for id := range d.owed {
		bots = append(bots, d.bots[id])
	}
	for id := range d.owedKeys {
		keys = append(keys, d.keys[id])
	}
	return bots, keys
}

// Trials returns the bots with a Trial, in no particular order.
func (d *Directory) Trials() (bots []Bot) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for id := range d.inTrial {
		bots = append(bots, d.bots[id])
	}
	return bots
}

// Deleted returns the ids of the deleted accounts, in the order of their deletion.
func (d *Directory) Deleted() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.deleted)
}
